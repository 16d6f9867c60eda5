/** `fathom demo` */
import { setTimeout as sleep } from 'node:timers/promises';
import { DEMO_SEED } from '../../../compute/demo/tokens.js';
import {
  carryOn,
  collectFlat,
  fillDemo,
  readMarker,
  type DemoMarker,
  type DemoRequest,
  type DemoTotals,
} from '../../../storage/demo/fill.js';
import { InputError, UsageError } from '../../../storage/errors.js';

import type { IssuedKey, StoreOperations } from '../../../storage/contract.js';
import { dataDirectory, instant, readFlags, wholeNumber } from '../flags.js';
import { count, printJson, printLine, Progress, tell } from '../output.js';
import { stopSignal, storeThrough, withPool } from '../runtime.js';

const DEMO_USAGE = 'fathom demo [--data DIR] [--seed N] [--until TIME] [--live] [--json]';
export const command = { usage: DEMO_USAGE, run: demo };

const MAX_SEED = 0x7fff_ffff;
/** How often the live market is extended. */
const COLLECT_EVERY_MS = 5000;
/** Name of the demo's key, which every start replaces. */
const DEMO_KEY_NAME = 'demo';

/** @throws UsageError | InputError */
async function demo(words: readonly string[]): Promise<void> {
  const { flags, rest } = readFlags(words, {
    data: 'text',
    seed: 'text',
    until: 'text',
    live: 'switch',
    json: 'switch',
  });
  if (rest.length > 0) throw new UsageError(`demo: unexpected ${rest[0]}`);
  const directory = dataDirectory(flags.data);
  const wanted: DemoMarker = {
    seed: flags.seed === undefined ? DEMO_SEED : wholeNumber(flags.seed, '--seed', 0, MAX_SEED),
    untilS: flags.until === undefined ? nowS() : Math.floor(instant(flags.until, '--until')),
    filled: false,
  };
  /** Whether to resume an interrupted fill, which flags for another market prevent. */
  const isWanted = ({ seed, untilS, filled }: DemoMarker) =>
    !filled &&
    (flags.until === undefined || untilS === wanted.untilS) &&
    (seed === wanted.seed || (flags.seed === undefined && flags.until === undefined));
  await withPool(async (pool) => {
    const request: DemoRequest = { directory, pool, useStore: storeThrough(directory, pool) };
    const begun = await readMarker(directory);
    const resumed = begun !== null && (flags.live || isWanted(begun)) ? begun : null;
    if (resumed === null) await refuseUnlessEmpty(request);
    const marker = resumed ?? wanted;
    if (flags.live) return keepAlive(request, marker);
    const { rows, snapshots, cells } = await fillWithProgress(request, marker);
    const { key } = await request.useStore(renewDemoKey);
    tell(`${count(rows)} rows, ${count(snapshots)} snapshots, ${count(cells)} cells`);
    const { seed, untilS: until } = marker;
    if (flags.json) printJson({ seed, until, rows, snapshots, cells, key });
    else printLine(key);
  });
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

/** Completes an interrupted fill, then extends the market until a signal comes. */
async function keepAlive(request: DemoRequest, marker: DemoMarker): Promise<void> {
  const ending = new AbortController();
  void stopSignal().then(() => ending.abort());
  const { signal } = ending;
  const live: DemoRequest = { ...request, signal };
  if (!marker.filled) await fillWithProgress(live, marker);
  let collected = { ...marker, filled: true };
  while (!signal.aborted) {
    const t = nowS();
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

function nowS(): number {
  return Math.floor(Date.now() / 1000);
}
