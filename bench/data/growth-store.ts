/** The growth bench's stores, and the pages that it requests from them. */
import { hash, keyOf } from '../../demo/hash.js';
import { BENCH_SEED, EVERY_S, START_S, benchAddress } from './pages.js';
import { databaseBytes, openStore, unlimitedKey } from '../store.js';
import type { Store } from '../../storage/store.js';

/** A closed store, and the size of the pages requested from it. */
export interface GrowthStore {
  name: string;
  directory: string;
  /** A key without limits. */
  key: string;
  tokens: number;
  cells: number;
  segments: number;
  /** Snapshots per token, one every `everyS` from START_S on. */
  snapshots: number;
  /** Seconds between snapshots; default EVERY_S. */
  everyS?: number;
  /** Snapshots per page. */
  pageSnapshots: number;
  fileBytes: number;
  fillS: number;
}

export type StoreShape = Omit<GrowthStore, 'key' | 'cells' | 'segments' | 'fileBytes' | 'fillS'>;

/** Lets `fill` fill a store, and closes it: later reads come from its file. */
export async function makeGrowthStore(
  shape: StoreShape,
  fill: (store: Store) => Promise<void>,
): Promise<GrowthStore> {
  const began = performance.now();
  const store = await openStore(shape.directory);
  let key: string;
  try {
    await fill(store);
    key = await unlimitedKey(store);
  } finally {
    await store.close();
  }
  const counted = await openStore(shape.directory);
  const { cells, segments } = await counted.summary().finally(() => counted.close());
  const fillS = (performance.now() - began) / 1000;
  const fileBytes = await databaseBytes(shape.directory);
  return { ...shape, key, cells, segments, fileBytes, fillS };
}

/** The server's clock: the time of the snapshot after the last. */
export function asOfS({
  snapshots,
  everyS = EVERY_S,
}: Pick<GrowthStore, 'snapshots' | 'everyS'>): number {
  return START_S + (snapshots + 1) * everyS;
}

/** Page number `n`: a token and a window drawn from the seed, in a view that no cache holds. */
export function pagePath(store: StoreShape, n: number): string {
  const draw = hash(keyOf(BENCH_SEED, 'growth pages'), n);
  const token = draw % store.tokens;
  const first = hash(draw, 1) % (store.snapshots - store.pageSnapshots + 1);
  const from = START_S + first * EVERY_S;
  const to = from + store.pageSnapshots * EVERY_S;
  return `/api/v1/replay/${benchAddress(token)}?group=venue&from=${from}&to=${to}`;
}
