/** `npm start`: the server, with the live demo market in a second process. */
import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { demoTokens, DEMO_SEED } from '../../../demo/tokens.js';
import { readMarker } from '../../../demo/fill.js';
import { renewDemoKey } from '../../../demo/live.js';
import { DOCS_PATH } from '../../api/docs.js';
import { BASE_PATH } from '../../api/endpoint.js';
import { refuseForeignFiles } from '../../../storage/data-directory.js';
import { defineCommand } from '../command.js';
import { printLine, printNote } from '../output.js';
import { onStore } from '../runtime.js';
import { serveOptions, type ServeOptions } from '../serve-options.js';
import { SERVE_ENVIRONMENT } from '../settings.js';
import { DEMO_THREADS } from './demo.js';
import { FLAGS, serveUntilSignal } from './serve.js';

export const command = defineCommand({
  about:
    'What npm start runs: serve, and a second process that fills an empty directory with the demo market and keeps it up to date. Prints the address of the documentation, lines to paste into another terminal (FATHOM_URL, a new FATHOM_KEY, TOKEN, and a command to try), and last the address of the explorer with that key. The key of the previous start stops working. Logs only warnings unless a setting says otherwise, which keeps the printed lines visible.',
  flags: FLAGS,
  environment: SERVE_ENVIRONMENT,
  examples: ['fathom start', 'fathom start --port 8081 --data demo-data'],
  run: (flags) => start(serveOptions(flags, { maxThreads: DEMO_THREADS, logLevel: 'warn' })),
});

/**
 * Saves memory, because people who try Fathom out have other programs open: young heaps of 4 MiB, not 16, and two
 * malloc arenas.
 */
const COLLECTOR_FLAGS = ['--max-semi-space-size=4'];
const COLLECTOR_ENVIRONMENT = { MALLOC_ARENA_MAX: '2' };
/** Variables of the server, which has already warned of those that are unknown. */
const SERVER_VARIABLE = /^FATHOM_(?!DEBUG$)/i;
/** The collector is killed if it takes longer than this to stop. */
const COLLECTOR_STOP_MS = 5000;
const FILLING =
  'Note The history fills in over the next seconds: first two hours, then the rest of the last day, then the week before';
/** How long to wait for the first snapshots before printing the command to try. */
const FIRST_DATA_MS = 120_000;
const FIRST_DATA_POLL_MS = 100;

async function start(options: ServeOptions): Promise<void> {
  await refuseForeignFiles(options.directory);
  await serveUntilSignal(options, async (service, _, stopped) => {
    const filled = (await readMarker(options.directory))?.filled ?? false;
    const collector = await startCollector(options.directory);
    const { key } = await onStore({ data: options.directory }, renewDemoKey);
    // The printed command should have data to show.
    await firstData(options.directory, collector, stopped);
    const filling = collector !== null && !filled;
    for (const line of greeting(service.url, key, named(options.directory), filling))
      printLine(line);
    await stopped;
    await stopCollector(collector);
  });
}

/**
 * The lines that `npm start` prints: after an empty one, those to paste into another terminal.
 * @param directory of the data, as a reader would name it
 * @param filling whether the history is still being filled in
 */
export function greeting(url: string, key: string, directory: string, filling: boolean): string[] {
  const [{ address }] = demoTokens(DEMO_SEED);
  return [
    `Docs ${url}${DOCS_PATH}`,
    `Stop Ctrl-C. To start over with a new market, then: rm -r ${shellWord(directory)}`,
    ...(filling ? [FILLING] : []),
    '',
    '# For the commands of the documents, paste this into another terminal:',
    `export FATHOM_URL=${url}`,
    `export FATHOM_KEY=${key}`,
    `export TOKEN=${address}`,
    `curl -H "x-api-key: $FATHOM_KEY" "$FATHOM_URL${BASE_PATH}/slippage/$TOKEN?side=sell&usd=500000"`,
    '',
    // Browsers do not send the fragment; the page removes the key from the address bar and keeps it for other tabs.
    `Open ${url}/#key=${key}&remember`,
  ];
}

/** A text as one word of a shell's command. */
const shellWord = (text: string): string =>
  /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** A directory from here, if it is below. */
function named(directory: string): string {
  const relative = path.relative('', directory);
  return relative === '' || relative.startsWith('..') ? directory : relative;
}

/** Starts the collector as a separate process, which reaches the store like any other collector. */
async function startCollector(directory: string): Promise<ChildProcess | null> {
  const summary = await onStore({ data: directory }, (store) => store.summary());
  if (summary.tokens > 0 && (await readMarker(directory)) === null) {
    printNote('The data directory has other data, so the demo market is not added.');
    return null;
  }
  const main = fileURLToPath(new URL('../main.js', import.meta.url));
  const words = ['demo', '--live', '--data', directory];
  const inherited = Object.entries(process.env).filter(([name]) => !SERVER_VARIABLE.test(name));
  return spawn(process.execPath, [...COLLECTOR_FLAGS, main, ...words], {
    // By the channel, the collector notices when this process is killed.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...Object.fromEntries(inherited), ...COLLECTOR_ENVIRONMENT },
  });
}

/** Waits until the store holds a snapshot, for at most FIRST_DATA_MS, or until nothing fills it any more. */
async function firstData(
  directory: string,
  collector: ChildProcess | null,
  stopped: Promise<unknown>,
): Promise<void> {
  const deadlineMs = performance.now() + FIRST_DATA_MS;
  let isStopped = false;
  void stopped.then(() => (isStopped = true));
  while (performance.now() < deadlineMs && isRunning(collector) && !isStopped) {
    const { cells } = await onStore({ data: directory }, (store) => store.summary());
    if (cells > 0) return;
    await sleep(FIRST_DATA_POLL_MS);
  }
}

/** A signal leaves no exit code. */
const isRunning = (child: ChildProcess | null): child is ChildProcess =>
  child !== null && child.exitCode === null && child.signalCode === null;

async function stopCollector(collector: ChildProcess | null): Promise<void> {
  if (!isRunning(collector)) return;
  const ended = new Promise<void>((resolve) => collector.once('exit', () => resolve()));
  collector.kill('SIGTERM');
  const timer = setTimeout(() => collector.kill('SIGKILL'), COLLECTOR_STOP_MS);
  await ended;
  clearTimeout(timer);
}
