/** `fathom demo` */
import { availableParallelism } from 'node:os';
import type { ComputePool } from '../../../compute/pool.js';
import {
  type DemoMarker,
  type DemoRequest,
  type DemoTotals,
  fillDemo,
} from '../../../demo/fill.js';
import { chosenMarket, keepAlive, renewDemoKey } from '../../../demo/live.js';
import { DEMO_SEED } from '../../../demo/tokens.js';
import { defineCommand } from '../command.js';
import {
  type Flags,
  type FlagValues,
  instant,
  JSON_OUTPUT,
  wholeNumber,
  STORE_FLAGS,
} from '../flags.js';
import { counted, printJson, printLine, ProgressLine, printNote } from '../output.js';
import { dataDirectory, storeThrough, withPool } from '../runtime.js';
import { stopSignal } from '../signals.js';

/** Threads of a live market, and of a server beside it: each takes some tens of MB, so more cores do not mean more threads. */
export const DEMO_THREADS = Math.min(2, availableParallelism());
const MAX_SEED = 0x7fff_ffff;

const FLAGS = {
  ...STORE_FLAGS,
  seed: {
    placeholder: 'N',
    meaning: `another market, 0 to ${MAX_SEED}; the addresses stay the same`,
    default: String(DEMO_SEED),
    read: (text: string, from: string) => wholeNumber(text, from, 0, MAX_SEED),
  },
  until: {
    placeholder: 'TIME',
    meaning: 'end of the history; seed and end determine all data',
    default: 'now',
    read: instant,
  },
  live: {
    meaning:
      'extends the market until a signal comes; continues a demo that the directory already holds',
  },
  json: JSON_OUTPUT,
} as const satisfies Flags;

export const command = defineCommand({
  about:
    'Fills an empty data directory with a simulated market and prints a key of tier enterprise. Takes about a minute on two cores.',
  flags: FLAGS,
  examples: [
    'fathom demo --data demo-data',
    'fathom demo --data demo-data --until 2026-11-20T00:00:00Z --seed 7 --json',
  ],
  run: demo,
});

async function demo(flags: FlagValues<typeof FLAGS>): Promise<void> {
  const directory = dataDirectory(flags.data);
  const { live } = flags;
  const wanted = { seed: flags.seed ?? null, untilS: flags.until ?? null, live };
  const begun = await withPool(
    async (pool) => {
      const request = requestOf(directory, pool);
      const marker = await chosenMarket(request, wanted);
      if (live) return fillWithin(request, marker);
      const { rows, snapshots, cells } = await fillWithProgress(request, marker);
      const { key } = await request.useStore(renewDemoKey);
      printNote(
        `${counted(rows, 'row')}, ${counted(snapshots, 'snapshot')}, ${counted(cells, 'cell')}`,
      );
      const { seed, untilS: until } = marker;
      if (flags.json) printJson({ seed, until, rows, snapshots, cells, key });
      else printLine(key);
      return null;
    },
    live ? { threads: DEMO_THREADS } : {},
  );
  // From here on one thread is enough; the end of the fill's pool has freed its memory.
  if (begun === null || begun.signal.aborted) return;
  const { marker, signal } = begun;
  await withPool((pool) => keepAlive({ ...requestOf(directory, pool), signal }, marker), {
    threads: 1,
  });
}

function requestOf(directory: string, pool: ComputePool): DemoRequest {
  return { directory, pool, useStore: storeThrough(directory, pool) };
}

/**
 * Completes an interrupted fill, unless a signal comes or the `start` that began this process ends.
 * @returns the market, and the signal that ends it
 */
async function fillWithin(request: DemoRequest, marker: DemoMarker) {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  void stopSignal().then(end);
  if (process.connected === false) end();
  else process.once('disconnect', end).channel?.unref();
  const { signal } = ending;
  if (!marker.filled) await fillWithProgress({ ...request, signal, isLive: true }, marker);
  return { marker: { ...marker, filled: true }, signal };
}

async function fillWithProgress(request: DemoRequest, marker: DemoMarker): Promise<DemoTotals> {
  const progress = new ProgressLine();
  const onProgress: DemoRequest['onProgress'] = (done, of, { cells }) =>
    progress.bar(done / of, `${done} of ${of} pieces of history, ${counted(cells, 'cell')}`);
  try {
    return await fillDemo({ ...request, onProgress }, marker);
  } finally {
    progress.end();
  }
}
