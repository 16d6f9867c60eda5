/** `fathom demo` */
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEMO_SEED } from '../../../compute/demo/tokens.js';
import type { ComputePool } from '../../../compute/pool.js';
import {
  carryOn,
  collectFlat,
  fillDemo,
  readMarker,
  type DemoMarker,
  type DemoRequest,
  type DemoTotals,
} from '../../../storage/demo/fill.js';
import { InputError } from '../../../storage/errors.js';
import { wallS } from '../../../storage/wall-clock.js';
import type { IssuedKey, StoreOperations } from '../../../storage/contract.js';
import { defineCommand } from '../command.js';
import {
  dataDirectory,
  type Flags,
  type FlagValues,
  instant,
  JSON_OUTPUT,
  wholeNumber,
  STORE_FLAGS,
} from '../flags.js';
import { count, printJson, printLine, Progress, tell } from '../output.js';
import { stopSignal, storeThrough, withPool } from '../runtime.js';

/** Threads of a live market, and of a server beside it: each holds some tens of MB, whatever the machine has cores. */
export const DEMO_THREADS = Math.min(2, availableParallelism());
const MAX_SEED = 0x7fff_ffff;
/** How often the live market is extended. */
const COLLECT_EVERY_MS = 5000;
/** Name of the demo's key, which every start replaces. */
const DEMO_KEY_NAME = 'demo';

const FLAGS = {
  ...STORE_FLAGS,
  seed: {
    kind: 'text',
    placeholder: 'N',
    meaning: `another market, 0 to ${MAX_SEED}; the addresses stay the same`,
    default: String(DEMO_SEED),
    read: (text: string, from: string) => wholeNumber(text, from, 0, MAX_SEED),
  },
  until: {
    kind: 'text',
    placeholder: 'TIME',
    meaning: 'end of the history; seed and end fix everything',
    default: 'now',
    read: instant,
  },
  live: {
    kind: 'switch',
    meaning:
      'carries the market on until a signal comes; on a directory that holds the demo already it goes on with that one',
  },
  json: JSON_OUTPUT,
} as const satisfies Flags;

export const command = defineCommand({
  about:
    'Fills an empty data directory with a simulated market and prints a key of tier enterprise. Takes about half a minute on two cores.',
  words: {},
  flags: FLAGS,
  examples: [
    'fathom demo --data demo',
    'fathom demo --data demo --until 2026-11-20T00:00:00Z --seed 7 --json',
  ],
  run: demo,
});

/** @throws InputError */
async function demo(flags: FlagValues<typeof FLAGS>): Promise<void> {
  const directory = dataDirectory(flags.data);
  const wanted: DemoMarker = {
    seed: flags.seed ?? DEMO_SEED,
    untilS: Math.floor(flags.until ?? wallS()),
    filled: false,
  };
  /** Whether to resume an interrupted fill, which flags for another market prevent. */
  const isWanted = ({ seed, untilS, filled }: DemoMarker) =>
    !filled &&
    (flags.until === undefined || untilS === wanted.untilS) &&
    (seed === wanted.seed || (flags.seed === undefined && flags.until === undefined));
  const live = await withPool(
    async (pool) => {
      const request = requestOf(directory, pool, flags['accept-damaged-log']);
      const begun = await readMarker(directory);
      const resumed = begun !== null && (flags.live || isWanted(begun)) ? begun : null;
      if (resumed === null) await refuseUnlessEmpty(request);
      const marker = resumed ?? wanted;
      if (flags.live) return fillWithin(request, marker);
      const { rows, snapshots, cells } = await fillWithProgress(request, marker);
      const { key } = await request.useStore(renewDemoKey);
      tell(`${count(rows)} rows, ${count(snapshots)} snapshots, ${count(cells)} cells`);
      const { seed, untilS: until } = marker;
      if (flags.json) printJson({ seed, until, rows, snapshots, cells, key });
      else printLine(key);
      return null;
    },
    flags.live ? DEMO_THREADS : undefined,
  );
  // One thread is enough from here on, and those of the fill have given their memory back.
  if (live === null || live.signal.aborted) return;
  await withPool((pool) => keepAlive(requestOf(directory, pool), live), 1);
}

function requestOf(directory: string, pool: ComputePool, acceptDamagedLog = false): DemoRequest {
  return { directory, pool, useStore: storeThrough(directory, pool, acceptDamagedLog) };
}

/** Creates a demo key and revokes earlier ones. */
export async function renewDemoKey(store: StoreOperations): Promise<IssuedKey> {
  for (const { id, name, revokedAtS } of await store.listKeys()) {
    if (name === DEMO_KEY_NAME && revokedAtS === null) await store.revokeKey(id);
  }
  return store.createKey({
    tier: 'enterprise',
    name: DEMO_KEY_NAME,
    requestsPerMinute: null,
    monthlyQuota: null,
  });
}

async function refuseUnlessEmpty({ directory, useStore }: DemoRequest): Promise<void> {
  const { tokens } = await useStore((store) => store.summary());
  if (tokens > 0) {
    throw new InputError(
      `${directory} is not empty: the demo market goes into an empty data directory alone`,
    );
  }
}

/** A market that is filled, and the signal that ends it. */
interface LiveMarket {
  marker: DemoMarker;
  signal: AbortSignal;
}

/** Completes an interrupted fill, unless a signal comes. */
async function fillWithin(request: DemoRequest, marker: DemoMarker): Promise<LiveMarket> {
  const ending = new AbortController();
  void stopSignal().then(() => ending.abort());
  const { signal } = ending;
  if (!marker.filled) await fillWithProgress({ ...request, signal }, marker);
  return { marker: { ...marker, filled: true }, signal };
}

/** Extends the market until the signal comes. */
async function keepAlive(request: DemoRequest, { marker, signal }: LiveMarket): Promise<void> {
  const live: DemoRequest = { ...request, signal };
  let collected = marker;
  while (!signal.aborted) {
    const t = wallS();
    await carryOn(live, marker.seed, t);
    collected = await collectFlat(live, collected, t);
    await sleep(COLLECT_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function fillWithProgress(request: DemoRequest, marker: DemoMarker): Promise<DemoTotals> {
  const progress = new Progress();
  const onProgress: DemoRequest['onProgress'] = (done, of, { cells }) =>
    progress.bar(done / of, `${done} of ${of} pieces of history, ${count(cells)} cells`);
  try {
    return await fillDemo({ ...request, onProgress }, marker);
  } finally {
    progress.end();
  }
}
