/** A service under random requests: every reply is described by the API, and no resources remain in use. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { download } from '../../server/download/download.js';
import type { ReplayFormat } from '../../server/download/formats.js';
import { checkedPage, PageFault, type RemotePage } from '../../server/download/page.js';
import { partPaths } from '../../server/download/part-file.js';
import { ReplayError } from '../../server/download/request.js';
import { ENDPOINTS } from '../../server/endpoints.js';
import type { Dataset } from '../../storage/ingest/datasets.js';
import { serveHere, type Service, withStoreOf } from '../support/cli.js';
import { checkedFetch, type Json } from '../support/conformance.js';
import { HOUR } from '../support/flat.js';
import { ingest, lines, MINT, Scratch } from '../support/ingest.js';
import { LIMIT_MS, mutatedBytes, mutatedJson, runs } from './random.js';
import { type Ask, askOf, bytesOf } from './requests.js';
import { ROWS, T } from './rows.js';
import { becomes } from '../support/waiting.js';
import { ENGINES } from '../support/engines.js';

const UNLIMITED = { requests: 'unlimited' };
const RATES = { general: UNLIMITED, 'whale-get': UNLIMITED, 'whale-post': UNLIMITED };
const PLANS = JSON.stringify({
  premium: { monthly_quota: 'unlimited', rates: RATES },
  enterprise: { monthly_quota: 'unlimited', rates: RATES },
});

const scratch = Scratch.held();
const keys: string[] = [];
const start = (...words: string[]) =>
  serveHere(
    scratch.data,
    ['--as-of', String(HOUR + 3700), '--stale-after', '365d', '--cors-origin=*', ...words],
    { FATHOM_PLANS: PLANS },
  );

beforeAll(async () => {
  for (const dataset of Object.keys(ROWS) as Dataset[]) {
    await ingest(scratch.data, dataset, [scratch.file('.ndjson', lines(ROWS[dataset]))]);
  }
  await withStoreOf(scratch.data, async (store) => {
    for (const tier of ['enterprise', 'premium'] as const) {
      keys.push((await store.createKey({ tier })).key);
    }
  });
});

const isBusy = (status: number, retryAfter: unknown) => status === 503 && Number(retryAfter) > 0;

/** The samples of running requests. */
async function underWay(url: string): Promise<string[]> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return text.match(/^fathom_(http_in_flight|reply_bytes_in_flight) .*$/gm) ?? [];
}

/** Sends the bytes and nothing more. @returns the statuses of the replies until the server hangs up */
function statusesOf(url: string, bytes: Uint8Array): Promise<number[]> {
  const { port } = new URL(url);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), '127.0.0.1', () => socket.end(bytes));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (!['ECONNRESET', 'EPIPE'].includes(error.code ?? '')) reject(error);
    });
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString('latin1');
      resolve(Array.from(text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm), ([, status]) => Number(status)));
    });
  });
}

describe.each(ENGINES)('by the engine %s', (engine) => {
  let service: Service;
  beforeAll(async () => {
    service = await start('--http-engine', engine);
  });
  afterAll(async () => {
    // The scrape itself is one request.
    const idle = ['fathom_http_in_flight 1', 'fathom_reply_bytes_in_flight 0'];
    await becomes(() => underWay(service.url), idle);
    expect(service.logged()).not.toMatch(/level="?error/);
    await service.stop();
  });

  describe.each(Object.values(ENDPOINTS))('$operationId', (endpoint) => {
    it('answers any request as described by the API', { timeout: LIMIT_MS }, async () => {
      const statuses: number[] = [];
      await fc.assert(
        fc.asyncProperty(askOf(endpoint, keys), async ({ method, path, headers, body }) => {
          const answer = await checkedFetch(service.url + path, {
            method,
            headers,
            body: ['GET', 'HEAD', 'OPTIONS'].includes(method)
              ? null
              : (body as Uint8Array<ArrayBuffer> | null),
          });
          await answer.arrayBuffer();
          const { status } = answer;
          expect(
            status < 500 || isBusy(status, answer.headers.get('retry-after')),
            `${status}`,
          ).toBe(true);
          statuses.push(status);
        }),
        runs(12),
      );
      const share = statuses.filter((status) => status === 200).length / statuses.length;
      expect(share, 'too few requests are good').toBeGreaterThan(0.1);
    });
  });

  describe('bytes that are nearly requests', () => {
    it('are answered or hung up on, never with a failure', { timeout: LIMIT_MS }, async () => {
      const good = fc
        .constantFrom(...Object.values(ENDPOINTS))
        .chain((endpoint) => fc.tuple(askOf(endpoint, keys), fc.boolean()))
        .map(([ask, chunked]: [Ask, boolean]) => bytesOf(ask, chunked));
      const pipelined = fc
        .array(good, { minLength: 1, maxLength: 4 })
        .map((asks) => Buffer.concat(asks));
      const messages = fc.array(pipelined.chain(mutatedBytes), { minLength: 1, maxLength: 16 });
      const seen = new Set<number>();
      await fc.assert(
        fc.asyncProperty(messages, async (sent) => {
          const answers = (
            await Promise.all(sent.map((bytes) => statusesOf(service.url, bytes)))
          ).flat();
          for (const status of answers) seen.add(status);
          // 505: not HTTP/1.1.
          expect(answers.filter((status) => status >= 500 && ![503, 505].includes(status))).toEqual(
            [],
          );
          expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
        }),
        runs(15),
      );
      expect([...seen]).toEqual(expect.arrayContaining([200, 400]));
    });
  });
});

describe('fathom replay', () => {
  const formats: ReplayFormat[] = ['json', 'ndjson', 'csv', 'arrow', 'parquet'];
  const out = scratch.place('out');
  const request = { url: 'http://test', address: MINT, parameters: {} };
  const options = { request, out, force: true, restart: true, onProgress: () => undefined };
  const coverage = () => Promise.resolve('');
  let pages: Json[];
  beforeAll(async () => {
    const service = await start();
    pages = await Promise.all(
      ['market', 'venue', 'type', 'all'].map(async (group) => {
        const path = `/replay/${MINT}?from=${T - 60}&to=${T + 600}&group=${group}`;
        return (await (await service.get(path, keys[0])).json()) as Json;
      }),
    );
    await service.stop();
    expect(pages[0].snapshots).toHaveLength(2);
  });

  it(
    'writes any page that it accepts, and refuses others in words',
    { timeout: LIMIT_MS },
    async () => {
      const page = fc.nat({ max: pages.length - 1 }).chain((i) =>
        fc.oneof(
          mutatedJson(pages[i]).map((document) => JSON.stringify(document)),
          mutatedBytes(Buffer.from(JSON.stringify(pages[i]))).map(String),
        ),
      );
      let written = 0;
      await fc.assert(
        fc.asyncProperty(page, fc.constantFrom(...formats), async (text, format) => {
          try {
            // A server that always gives the same reply.
            const forEver = async function* () {
              for (;;) yield await Promise.resolve().then(() => checkedPage(JSON.parse(text)));
            };
            await download({ ...options, format, pages: forEver, coverage });
            written++;
          } catch (error) {
            // The client refuses replies that are not JSON.
            const refused = [PageFault, ReplayError, SyntaxError];
            if (!refused.some((kind) => error instanceof kind)) throw error;
          }
        }),
        runs(50),
      );
      expect(written).toBeGreaterThan(0);
    },
  );

  it('continues with its leftovers, or refuses them in words', { timeout: LIMIT_MS }, async () => {
    const paths = partPaths(out);
    const [page] = pages.map((document) => checkedPage(document));
    const first = { ...page, next_from: T + 300 };
    const stopsAfter = (one: RemotePage) =>
      async function* () {
        yield await Promise.resolve(one);
        throw new ReplayError('stopped');
      };
    await expect(
      download({ ...options, format: 'csv', pages: stopsAfter(first), coverage }),
    ).rejects.toThrow('stopped');
    const [state, part] = [paths.state, paths.part].map((file) => readFileSync(file));
    const document = JSON.parse(state.toString()) as Json;
    const states = fc.oneof(
      mutatedJson(document).map((changed) => Buffer.from(JSON.stringify(changed) ?? '')),
      mutatedBytes(state),
    );
    const rest = { ...page, window: { ...page.window, from: T + 300 }, snapshots: [] };
    const again = { ...options, restart: false, format: 'csv' as const };
    await fc.assert(
      fc.asyncProperty(states, async (damaged) => {
        scratch.overwrite(paths.state, damaged);
        scratch.overwrite(paths.part, part);
        try {
          await download({ ...again, pages: stopsAfter(rest), coverage });
        } catch (error) {
          if (!(error instanceof ReplayError)) throw error;
        }
      }),
      runs(30),
    );
  });
});
