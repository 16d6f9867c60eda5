/** What the growth bench stores and asks for, whatever its segments are like. */
import { hash, keyOf } from '../../demo/hash.js';
import { BENCH_SEED, EVERY_S, START_S, benchAddress } from '../data/pages.js';
import { databaseBytes, openStore } from '../store.js';
import type { Store } from '../../storage/store.js';

/** A store on disk that nobody has open, and the pages that are asked of it. */
export interface GrowthStore {
  name: string;
  directory: string;
  /** A key without limits. */
  key: string;
  tokens: number;
  cells: number;
  segments: number;
  /** Of each token, one every EVERY_S from START_S on. */
  snapshots: number;
  /** Snapshots of a page that is asked for. */
  pageSnapshots: number;
  fileBytes: number;
  fillS: number;
}

export type StoreShape = Omit<GrowthStore, 'key' | 'cells' | 'segments' | 'fileBytes' | 'fillS'>;

/** Lets `fill` fill a new store, and closes it: what is asked later comes from its file. */
export async function makeStore(
  shape: StoreShape,
  fill: (store: Store) => Promise<void>,
): Promise<GrowthStore> {
  const began = performance.now();
  const store = await openStore(shape.directory);
  let made: Pick<GrowthStore, 'key' | 'cells' | 'segments'>;
  try {
    await fill(store);
    const { key } = await store.createKey({
      ...{ tier: 'enterprise', name: 'bench', requestsPerMinute: Infinity, monthlyQuota: Infinity },
    });
    made = { key, cells: 0, segments: 0 };
  } finally {
    await store.close();
  }
  const counted = await openStore(shape.directory);
  const { cells, segments } = await counted.summary().finally(() => counted.close());
  const fillS = (performance.now() - began) / 1000;
  const fileBytes = await databaseBytes(shape.directory);
  return { ...shape, ...made, cells, segments, fileBytes, fillS };
}

/** Where the service's clock stands: two minutes after the last snapshot. */
export function asOfS({ snapshots }: Pick<GrowthStore, 'snapshots'>): number {
  return START_S + (snapshots + 1) * EVERY_S;
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
