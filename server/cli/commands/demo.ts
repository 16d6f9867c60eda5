/** `fathom demo` */
import { setTimeout as sleep } from 'node:timers/promises';
import { DEMO_SEED } from '../../../compute/demo/market.js';
import { carryOn, fillDemo } from '../../../storage/demo/fill.js';
import { collectFlat } from '../../../storage/demo/flat.js';
import { type DemoMarker, readMarker } from '../../../storage/demo/marker.js';
import type { DemoRequest, DemoTotals } from '../../../storage/demo/request.js';
import { InputError, UsageError } from '../../../storage/errors.js';
import type { UseStore } from '../../../storage/ingest/ingest.js';
import { renewDemoKey } from '../demo-key.js';
import { readFlags, dataDirectory, instant, wholeNumber } from '../flags.js';
import { count, printJson, printLine, Progress, tell } from '../output.js';
import { stopSignal, storeThrough, withPool } from '../runtime.js';

const DEMO_USAGE = 'fathom demo [--data DIR] [--seed N] [--until TIME] [--live] [--json]';
export const command = { usage: DEMO_USAGE, run: demo };

const MAX_SEED = 0x7fff_ffff;
/** The live collector looks at its clock this often. */
const COLLECT_EVERY_MS = 5000;

/** @throws UsageError | InputError */
export async function demo(words: readonly string[]): Promise<void> {
  const { flags, rest } = readFlags(words, {
    data: 'text',
    seed: 'text',
    until: 'text',
    live: 'switch',
    json: 'switch',
  });
  if (rest.length > 0) throw new UsageError(`demo: unexpected ${rest[0]}`);
  const directory = dataDirectory(flags.data);
  const seed =
    flags.seed === undefined ? DEMO_SEED : wholeNumber(flags.seed, '--seed', 0, MAX_SEED);
  const untilS = flags.until === undefined ? nowS() : Math.floor(instant(flags.until, '--until'));
  await withPool(async (pool) => {
    const request = { directory, pool, useStore: storeThrough(directory, pool) };
    if (flags.live) return keepAlive(request, seed, untilS);
    const marker = (await interruptedFill(directory, flags)) ?? { seed, untilS, filled: false };
    const totals = await fillEmpty(request, marker);
    const issued = await request.useStore(renewDemoKey);
    tell(totalsText(totals));
    const { seed: ownSeed, untilS: until } = marker;
    if (flags.json) printJson({ seed: ownSeed, until, ...jsonTotals(totals), key: issued.key });
    else printLine(issued.key);
  });
}

/** The marker of a fill that was cut off, to be gone on with unless another market is asked for. */
async function interruptedFill(
  directory: string,
  { seed, until }: { seed?: string; until?: string },
): Promise<DemoMarker | null> {
  const marker = await readMarker(directory);
  if (marker === null || marker.filled || until !== undefined) return null;
  return seed === undefined || Number(seed) === marker.seed ? marker : null;
}

/** Fills an empty directory, or goes on with the fill that the directory's marker names. */
async function fillEmpty(request: DemoRequest, marker: DemoMarker): Promise<DemoTotals> {
  const begun = await readMarker(request.directory);
  const goesOn = begun?.seed === marker.seed && begun.untilS === marker.untilS && !begun.filled;
  if (!goesOn) await refuseUnlessEmpty(request.useStore, request.directory);
  return fillWithProgress(request, marker);
}

async function refuseUnlessEmpty(useStore: UseStore, directory: string): Promise<void> {
  const { tokens } = await useStore((store) => store.summary());
  if (tokens > 0) {
    throw new InputError(
      `${directory} is not empty: the demo market goes into an empty data directory alone`,
    );
  }
}

/**
 * Fills an empty directory (or one whose fill was interrupted), then carries the market on until a
 * signal comes. A directory with anybody's own data is left alone.
 */
async function keepAlive(request: DemoRequest, seed: number, untilS: number): Promise<void> {
  const ending = new AbortController();
  void stopSignal().then(() => ending.abort());
  const live: DemoRequest = { ...request, signal: ending.signal };
  const { directory, useStore } = request;
  let marker = await readMarker(directory);
  if (marker === null) {
    await refuseUnlessEmpty(useStore, directory);
    marker = { seed, untilS, filled: false };
  }
  // What came first is looked at first: the present, then the rest of the past.
  await carryOnUnlessFresh(live, marker.seed, marker.filled);
  if (!marker.filled) await fillWithProgress(live, marker);
  marker = { ...marker, filled: true };
  while (!ending.signal.aborted) {
    const t = nowS();
    await carryOn(live, marker.seed, t);
    marker = await collectFlat(live, marker, t);
    await sleep(COLLECT_EVERY_MS, undefined, { signal: ending.signal }).catch(() => undefined);
  }
}

/** Closes the gap to now where the history stands already; a fill brings the present by itself. */
async function carryOnUnlessFresh(request: DemoRequest, seed: number, filled: boolean) {
  if (filled) await carryOn(request, seed, nowS());
}

async function fillWithProgress(
  request: DemoRequest,
  marker: { seed: number; untilS: number; filled: boolean },
): Promise<DemoTotals> {
  const progress = new Progress();
  const onProgress: DemoRequest['onProgress'] = (done, of, { cells }) =>
    progress.bar(done / of, `${done} of ${of} pieces of history, ${count(cells)} cells`);
  try {
    return await fillDemo({ ...request, onProgress }, marker);
  } finally {
    progress.end();
  }
}

function totalsText({ rows, snapshots, cells }: DemoTotals): string {
  return `${count(rows)} rows, ${count(snapshots)} snapshots, ${count(cells)} cells`;
}

function jsonTotals({ rows, snapshots, cells }: DemoTotals): object {
  return { rows, snapshots, cells };
}

function nowS(): number {
  return Math.floor(Date.now() / 1000);
}
