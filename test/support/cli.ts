/** The `fathom` command and its server: within this process, or as separate processes. */
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { vi } from 'vitest';
import { runCommand } from '../../server/cli/commands.js';
import { sharePool } from '../../server/cli/runtime.js';
import { startService } from '../../server/service.js';
import { atEnd, temporaryDirectory } from './folders.js';
import { settingsOf } from './settings.js';
import { loggerInto } from './logger.js';
import { sharedPool } from './pool.js';
import { rewriteSegments } from '../../compute/segment/rewrite.js';
import { Store } from '../../storage/store.js';
import { cleanEnvironment, type Ended, MAIN, run, type RunOptions, start } from './processes.js';
import { PATIENCE_MS } from './waiting.js';

/** A digest of a file, or of every file's name and bytes below a directory. */
export function digestOf(place: string): string {
  const digest = createHash('sha256');
  const below = statSync(place).isFile() ? [''] : readdirSync(place, { recursive: true });
  for (const name of below.map(String).sort()) {
    const file = path.join(place, name);
    digest.update(`${name}\n`);
    if (statSync(file).isFile()) digest.update(readFileSync(file));
  }
  return digest.digest('hex');
}

/** Runs the built command as a process, to its end. */
export const fathomProcess = (words: readonly string[], options?: RunOptions): Promise<Ended> =>
  run(process.execPath, [MAIN, ...words], options);

let running: Promise<unknown> = Promise.resolve();

/** Runs a command within this process, after earlier ones, and captures its output. */
export function fathom(words: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const ended = running.then(() => runHere(words, env));
  running = ended.catch(() => undefined);
  return ended;
}

async function runHere(words: readonly string[], env: Record<string, string>): Promise<Ended> {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const stdout = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const printed = (spy: typeof stderr) => spy.mock.calls.map(([chunk]) => String(chunk)).join('');
  const before = process.env;
  process.env = cleanEnvironment(env);
  // Starting a thread takes longer than most commands.
  sharePool(() => sharedPool(2));
  try {
    const status = await runCommand(words);
    return { status, stdout: printed(stdout), stderr: printed(stderr) };
  } finally {
    process.env = before;
    stderr.mockRestore();
    stdout.mockRestore();
  }
}

/** What `fathom serve` starts. */
export interface Service {
  url: string;
  /** What it has logged so far. */
  logged(): string;
  /** GET of a path below /api/v1. */
  get(pathAndQuery: string, key: string): Promise<Response>;
  stop(): Promise<unknown>;
}

/** `fathom serve` as a process. */
export interface Server extends Service {
  port: number;
  pid: number;
  /** Sends a signal (SIGTERM) and waits for the end; a second call gives the first one's result. */
  stop(signal?: NodeJS.Signals): Promise<{ status: number | null; signal: string | null }>;
}

/** Starts `fathom serve` and waits for the line with its URL. By default the port is any free one. */
export async function serve(
  directory: string | null,
  words: readonly string[] = ['--port', '0'],
  options: RunOptions = {},
): Promise<Server> {
  const data = directory === null ? [] : ['--data', directory];
  const child = start(process.execPath, [MAIN, 'serve', ...data, ...words], options);
  let log = '';
  let stdout = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  const ended = new Promise<{ status: number | null; signal: string | null }>((resolve) =>
    child.once('close', (status, signal) => resolve({ status, signal })),
  );
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`serve did not listen; it said: ${log}`));
    }, PATIENCE_MS);
    void ended.then(() => reject(new Error(`serve ended; it said: ${log}${stdout}`)));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      const found = /"url":"([^"]+)"/.exec(log);
      if (found === null) return;
      clearTimeout(timer);
      resolve(found[1]);
    });
  });
  const server: Server = {
    url,
    port: Number(new URL(url).port),
    pid: child.pid as number,
    logged: () => log,
    get: (pathAndQuery, key) =>
      fetch(`${url}/api/v1${pathAndQuery}`, { headers: { 'x-api-key': key } }),
    stop(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return ended;
    },
  };
  atEnd(() => server.stop());
  return server;
}

/** Starts what `fathom serve` starts, within this process, on any free port. */
export async function serveHere(
  directory: string,
  words: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Service> {
  const before = process.env;
  process.env = cleanEnvironment(env);
  const options = settingsOf(['--data', directory, '--port', '0', '--threads', '1', ...words]);
  process.env = before;
  const logged: string[] = [];
  const logger = loggerInto(logged);
  const running = await startService(options, logger);
  const { url } = running;
  let ended: Promise<void> | null = null;
  const service: Service = {
    url,
    get: (pathAndQuery, key) =>
      fetch(`${url}/api/v1${pathAndQuery}`, { headers: { 'x-api-key': key } }),
    logged: () => logged.join('\n'),
    stop: () => (ended ??= running.close()),
  };
  atEnd(() => service.stop());
  return service;
}

/** Opens a directory's store in this process for a moment. */
export async function withStoreOf<T>(
  directory: string,
  body: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await Store.open(directory, {
    rewrite: (input) => Promise.resolve(rewriteSegments(input)),
  });
  try {
    return await body(store);
  } finally {
    await store.close();
  }
}

/** A copy of a running server's directory: what would remain if the server were killed now. */
export function asIfKilled(directory: string): string {
  const copy = path.join(temporaryDirectory(), 'data');
  const isSocket = (place: string): boolean => statSync(place).isSocket();
  cpSync(directory, copy, { recursive: true, filter: (place) => !isSocket(place) });
  return copy;
}

/** A new enterprise key of a directory without a server. */
export async function newKey(directory: string, requestsPerMinute = Infinity): Promise<string> {
  const request = { name: null, requestsPerMinute, monthlyQuota: Infinity };
  const { key } = await withStoreOf(directory, (store) =>
    store.createKey({ tier: 'enterprise', ...request }),
  );
  return key;
}

/** The bytes with which replay answers each query, from a directory without a server. */
export async function replayBytes(
  directory: string,
  queries: readonly string[],
  asOf: number,
): Promise<string[]> {
  const key = await newKey(directory);
  const server = await serveHere(directory, ['--as-of', String(asOf)]);
  const answers = await replayedBy(server, key, queries);
  await server.stop();
  return answers;
}

/** Status and body with which a server answers each query for replay. */
export async function replayedBy(
  server: Service,
  key: string,
  queries: readonly string[],
): Promise<string[]> {
  const answers: string[] = [];
  for (const query of queries) {
    const response = await server.get(`/replay/${query}`, key);
    answers.push(`${response.status} ${await response.text()}`);
  }
  return answers;
}
