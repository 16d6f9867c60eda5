/** `fathom mcp --http`: several assistants at one address, and what it refuses. */
import { request } from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { beforeAll, expect, it } from 'vitest';
import { serveOnHttp } from '../../server/assistants/http.js';
import { MAX_RPC_BYTES } from '../../server/assistants/stdio.js';
import { fathomProcess } from '../support/cli.js';
import { atEnd } from '../support/folders.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { Script } from '../support/processes.js';
import { heldService, KEY, MINT, steadyStore } from '../support/service.js';
import { ask } from './assistant.js';

const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(40, 3));
const { server } = await heldService({ depth });
const faults: unknown[] = [];
let url: string;

async function serving(key: string | null, allowedHosts: readonly string[] = []): Promise<string> {
  const options = { host: '127.0.0.1', port: 0, allowedHosts };
  const listening = await serveOnHttp({ url: server.url, key }, options, (error) =>
    faults.push(error),
  );
  atEnd(() => listening.close());
  return listening.url;
}

async function connected(at: string, headers: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(at), { requestInit: { headers } }),
  );
  atEnd(() => client.close());
  return client;
}

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' },
  },
});

/** A POST, or another method, with headers that fetch() does not let through. */
function post(
  at: string,
  body: string,
  headers: Record<string, string> = {},
  method = 'POST',
): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(at, {
      method,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
    });
    sent.once('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

beforeAll(async () => {
  url = await serving(KEY);
});

it('serves two assistants at once', async () => {
  const clients = [await connected(url), await connected(url)];
  const given = { token: MINT, side: 'sell' };
  const [one, other] = await Promise.all(clients.map((client) => ask(client, 'slippage', given)));
  expect(one.data.orders.length).toBe(3);
  expect(other).toEqual(one);
  expect((await clients[1].listTools()).tools.length).toBe(9);
});

it('takes an assistant’s own key from its header', async () => {
  const keyless = await serving(null);
  const none = await ask(await connected(keyless), 'find_tokens');
  expect(none.text).toContain('There is no API key');
  const own = await ask(await connected(keyless, { 'x-api-key': KEY }), 'find_tokens');
  expect([own.isError, own.data.tokens.length]).toEqual([false, 1]);
  const wrong = await ask(await connected(url, { 'x-api-key': 'fathom_wrong' }), 'find_tokens');
  expect(wrong.text).toContain('does not accept the key');
});

it('refuses pages of browsers, and names that only lead here', async () => {
  const named = await serving(KEY, ['fathom.example']);
  expect(await post(url, INITIALIZE)).toBe(200);
  expect(await post(url, INITIALIZE, { origin: 'http://localhost:3000' })).toBe(200);
  expect(await post(url, INITIALIZE, { origin: 'https://evil.example' })).toBe(403);
  expect(await post(url, INITIALIZE, { origin: 'null' })).toBe(403);
  expect(await post(url, INITIALIZE, { host: 'evil.example' })).toBe(403);
  expect(await post(url, INITIALIZE, { host: 'fathom.example' })).toBe(403);
  expect(await post(named, INITIALIZE, { host: 'fathom.example' })).toBe(200);
  expect(await post(named, INITIALIZE, { origin: 'https://fathom.example' })).toBe(200);
});

it('refuses what is not the protocol', async () => {
  const elsewhere = url.replace('/mcp', '/');
  expect(await post(elsewhere, INITIALIZE)).toBe(404);
  expect(await post(url, INITIALIZE, { 'content-type': 'text/plain' })).toBe(415);
  expect(await post(url, '{')).toBe(400);
  expect((await fetch(url)).status).toBe(405);
  expect(await post(url, '', {}, 'TRACE')).toBe(405);
  expect(await post(url, INITIALIZE, {}, 'GET')).toBe(400);
  expect(await post(url, JSON.stringify({ text: 'x'.repeat(MAX_RPC_BYTES) }))).toBe(413);
  // Afterwards it still answers.
  expect(await post(url, INITIALIZE)).toBe(200);
  expect(faults).toEqual([]);
});

it('fathom mcp --http says where it listens, and that a port is taken', async () => {
  const script = Script.fathom(['mcp', '--http', '0', '--url', server.url], { FATHOM_KEY: KEY });
  const [, at] = await script.line(/serves assistants at (http:\S+)/);
  const found = await ask(await connected(at), 'find_tokens');
  expect(found.data.tokens.length).toBe(1);
  const { status, stderr } = await fathomProcess(['mcp', '--http', new URL(at).port]);
  expect([status, stderr]).toEqual([
    1,
    `fathom: port ${new URL(at).port} on 127.0.0.1 is in use\n`,
  ]);
  expect(await script.stop()).toBe(0);
});
