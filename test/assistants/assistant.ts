/** An assistant: the SDK's client of `fathom mcp`, on its standard input and output. */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Json } from '../support/conformance.js';
import { atEnd } from '../support/folders.js';
import { cleanEnvironment, MAIN } from '../support/processes.js';

export interface Answered {
  text: string;
  data: Json;
  isError: boolean;
}

export interface Assistant {
  client: Client;
  /** What the process has written to stderr so far. */
  logged(): string;
  ask(tool: string, given?: Record<string, unknown>): Promise<Answered>;
}

/** Starts `fathom mcp` as an assistant does. */
export async function assistant(
  words: readonly string[],
  env: Record<string, string> = {},
): Promise<Assistant> {
  const environment = Object.entries(cleanEnvironment(env)).filter(
    ([, value]) => value !== undefined,
  );
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, 'mcp', ...words],
    env: Object.fromEntries(environment) as Record<string, string>,
    stderr: 'pipe',
  });
  let log = '';
  transport.stderr?.on('data', (bytes: Buffer) => (log += bytes.toString()));
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  atEnd(() => client.close());
  return { client, logged: () => log, ask: (tool, given) => ask(client, tool, given) };
}

export async function ask(
  client: Client,
  tool: string,
  given: Record<string, unknown> = {},
): Promise<Answered> {
  const result = await client.callTool({ name: tool, arguments: given }, { timeout: 300_000 });
  const [first] = result.content;
  return {
    text: first.type === 'text' ? first.text : '',
    data: result.structuredContent ?? {},
    isError: result.isError === true,
  };
}
