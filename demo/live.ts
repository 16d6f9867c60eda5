/** The simulated market of a data directory: chooses it, extends it, and creates its key. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { IssuedKey } from '../storage/contract.js';
import type { StoreOperations } from '../storage/operations.js';
import { refuseForeignFiles } from '../storage/data-directory.js';
import { InputError } from '../storage/errors.js';
import { wallS } from '../storage/wall-clock.js';
import {
  extendDepth,
  collectFlat,
  type DemoMarker,
  type DemoRequest,
  EXTEND_EVERY_MS,
  readMarker,
} from './fill.js';
import { DEMO_SEED } from './tokens.js';

/** Name of the demo's key, which every start replaces. */
const DEMO_KEY_NAME = 'demo';

/** The requested market. */
interface WantedMarket {
  /** Null: any. */
  seed: number | null;
  /** The end of the history, in epoch seconds; null: any. */
  untilS: number | null;
  /** Whether to extend it. */
  live: boolean;
}

/**
 * The market that the directory holds, or should hold. Resumes an interrupted fill, unless another
 * market is requested; a live market continues any.
 *
 * @throws InputError if the directory has other data, or other files and no store
 */
export async function chosenMarket(
  request: DemoRequest,
  { seed, untilS, live }: WantedMarket,
): Promise<DemoMarker> {
  const wanted: DemoMarker = {
    seed: seed ?? DEMO_SEED,
    untilS: Math.floor(untilS ?? wallS()),
    filled: false,
  };
  const isWanted = (begun: DemoMarker) =>
    !begun.filled &&
    (untilS === null || begun.untilS === wanted.untilS) &&
    (begun.seed === wanted.seed || (seed === null && untilS === null));
  const begun = await readMarker(request.directory);
  if (begun !== null && (live || isWanted(begun))) return begun;
  await refuseUnlessEmpty(request);
  return wanted;
}

async function refuseUnlessEmpty({ directory, useStore }: DemoRequest): Promise<void> {
  await refuseForeignFiles(directory);
  const { tokens } = await useStore((store) => store.summary());
  if (tokens > 0) {
    throw new InputError(
      `${directory} is not empty: the demo market needs an empty data directory`,
    );
  }
}

/** Extends the market until the signal is aborted. */
export async function keepAlive(
  request: DemoRequest & { signal: AbortSignal },
  marker: DemoMarker,
): Promise<void> {
  const { signal } = request;
  let collected = marker;
  while (!signal.aborted) {
    const t = wallS();
    await extendDepth(request, marker.seed, t);
    collected = await collectFlat(request, collected, t);
    await sleep(EXTEND_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
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
