/** The bench's stores, filled like an ingest fills one. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { encodeRuns, rewriteSegments } from '../compute/segment/rewrite.js';
import { BUNDLE_VERSION, BundleWriter, type Frame } from '../storage/bundle.js';
import { DATABASE_FILE } from '../storage/data-directory.js';
import { Store } from '../storage/store.js';
import { HISTORY_PAGES, type PageShape, tokenHistory, type TokenHistory } from './data/pages.js';

interface StoreContents {
  directory: string;
  shape: PageShape;
  tokens: number;
  /** A key without limits. */
  key: string;
  cells: number;
  /** Bytes of the LZ4 blocks. */
  blockBytes: number;
}

export function openStore(directory: string): Promise<Store> {
  return Store.open(directory, { rewrite: (input) => Promise.resolve(rewriteSegments(input)) });
}

/** Makes a store with HISTORY_PAGES pages of each of `tokens` tokens, like storeHistories(). */
export async function makeStore(
  directory: string,
  shape: PageShape,
  tokens: number,
): Promise<StoreContents> {
  const histories = function* (): Generator<TokenHistory> {
    for (let token = 0; token < tokens; token++) {
      yield tokenHistory(shape, HISTORY_PAGES * shape.snapshots, token);
    }
  };
  return { directory, shape, tokens, ...(await storeHistories(directory, histories())) };
}

/** Makes a store of these histories, and closes it: later reads come from its file. */
export function storeHistories(
  directory: string,
  histories: Iterable<TokenHistory>,
): Promise<Pick<StoreContents, 'key' | 'cells' | 'blockBytes'>> {
  return fillStore(directory, async (store) => {
    const contents = { key: await unlimitedKey(store), cells: 0, blockBytes: 0 };
    for (const history of histories) {
      const { cells, blockBytes } = await commitHistory(store, history);
      contents.cells += cells;
      contents.blockBytes += blockBytes;
    }
    return contents;
  });
}

/** Opens a store, fills it, lets its background work end, and closes it. */
export async function fillStore<T>(
  directory: string,
  fill: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(directory);
  try {
    const filled = await fill(store);
    await store.settled();
    return filled;
  } finally {
    await store.close();
  }
}

export async function unlimitedKey(store: Store): Promise<string> {
  const unlimited = { requestsPerMinute: Infinity, monthlyQuota: Infinity };
  const { key } = await store.createKey({ tier: 'enterprise', name: 'bench', ...unlimited });
  return key;
}

/** Commits a token's history. */
export async function commitHistory(store: Store, history: TokenHistory) {
  const { chain, address, tier } = history.run;
  const { segments, markets } = encodeRuns({ parts: [history], mode: 'replace' });
  await commitFrames(
    store,
    segments.map((segment) => ({ kind: 'segment', chain, address, tier, markets, segment })),
  );
  return {
    cells: segments.reduce((sum, { cells }) => sum + cells, 0),
    blockBytes: segments.reduce((sum, { block }) => sum + block.length, 0),
  };
}

/** Writes frames as a bundle and commits it. @param commit default: directly into the store */
export async function commitFrames(
  store: Store,
  frames: Iterable<Frame>,
  commit: (bundle: string) => Promise<unknown> = (bundle) => store.commit(bundle),
): Promise<void> {
  const bundle = await BundleWriter.create(store.directory);
  try {
    await bundle.write({ kind: 'header', version: BUNDLE_VERSION, file: 'bench', mode: 'replace' });
    for (const frame of frames) await bundle.write(frame);
    await bundle.finish();
    await commit(bundle.name);
  } finally {
    await bundle.discard();
  }
}

/** Bytes of the database file and its log, which is empty once the store is closed. */
export async function databaseBytes(directory: string): Promise<number> {
  const file = path.join(directory, DATABASE_FILE);
  const sizes = await Promise.all(
    [file, `${file}.wal`].map((one) =>
      stat(one)
        .then(({ size }) => size)
        .catch(() => 0),
    ),
  );
  return sizes[0] + sizes[1];
}
