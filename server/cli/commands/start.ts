/** `npm start`: the server with the living demo market beside it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { demoTokens, DEMO_SEED } from '../../../compute/demo/market.js';
import { withStore } from '../../../storage/access.js';
import { readMarker } from '../../../storage/demo/marker.js';
import { rewriteSegments } from '../../../compute/segment/task.js';
import { BASE_PATH } from '../../app.js';
import { printLine, tell } from '../output.js';
import { renewDemoKey } from '../demo-key.js';
import { serveOptions, startService, stopSignal } from './serve.js';

export const START_USAGE = 'fathom start [flags of serve]: serve, with the demo market kept alive';

/** How long the collector may take to end when the server stops. */
const COLLECTOR_STOP_MS = 5000;

/** Runs until SIGTERM or SIGINT. */
export async function start(words: readonly string[]): Promise<void> {
  const options = serveOptions(words);
  const service = await startService(options);
  const stopped = stopSignal();
  const collector = await startCollector(options.directory);
  const { key } = await withStore(
    options.directory,
    { rewrite: (input) => Promise.resolve(rewriteSegments(input)) },
    renewDemoKey,
  );
  const [{ address }] = demoTokens(DEMO_SEED);
  printLine(`URL  ${service.url}`);
  printLine(`Key  ${key}`);
  printLine(
    `Try  curl --compressed -H 'x-api-key: ${key}' '${service.url}${BASE_PATH}/replay/${address}?group=all'`,
  );
  await stopped;
  await stopCollector(collector);
  await service.close();
}

/** The collector is a process of its own: it comes to the store as any collector does. */
async function startCollector(directory: string): Promise<ChildProcess | null> {
  const summary = await withStore(
    directory,
    { rewrite: (input) => Promise.resolve(rewriteSegments(input)) },
    (store) => store.summary(),
  );
  if (summary.tokens > 0 && (await readMarker(directory)) === null) {
    tell('The data directory holds data of its own: the demo market stays out of it.');
    return null;
  }
  const main = fileURLToPath(new URL('../main.js', import.meta.url));
  return spawn(process.execPath, [main, 'demo', '--live', '--data', directory], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

async function stopCollector(collector: ChildProcess | null): Promise<void> {
  if (collector === null || collector.exitCode !== null) return;
  const ended = new Promise<void>((resolve) => collector.once('exit', () => resolve()));
  collector.kill('SIGTERM');
  const timer = setTimeout(() => collector.kill('SIGKILL'), COLLECTOR_STOP_MS);
  await ended;
  clearTimeout(timer);
}
