/** A store of the bench's own, filled the way an ingest fills one. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { encodeRuns, rewriteSegments } from '../compute/segment/rewrite.js';
import { BUNDLE_VERSION, BundleWriter } from '../storage/bundle.js';
import { DATABASE_FILE } from '../storage/data-directory.js';
import { Store } from '../storage/store.js';
import { type PageShape, tokenHistory } from './data/pages.js';

/** Snapshots of a token are this many pages long. */
export const HISTORY_PAGES = 2;

export interface StoreContents {
  directory: string;
  shape: PageShape;
  tokens: number;
  cells: number;
  /** Bytes of the LZ4 blocks alone. */
  blockBytes: number;
}

export function openStore(directory: string): Promise<Store> {
  return Store.open(directory, { rewrite: (input) => Promise.resolve(rewriteSegments(input)) });
}

/** Commits HISTORY_PAGES pages of each of `tokens` tokens. */
export async function fillStore(
  store: Store,
  shape: PageShape,
  tokens: number,
): Promise<StoreContents> {
  const contents = { directory: store.directory, shape, tokens, cells: 0, blockBytes: 0 };
  for (let token = 0; token < tokens; token++) {
    const { cells, blockBytes } = await commitToken(store, shape, token);
    contents.cells += cells;
    contents.blockBytes += blockBytes;
  }
  await store.settled();
  return contents;
}

async function commitToken(store: Store, shape: PageShape, token: number) {
  const history = tokenHistory(shape, HISTORY_PAGES * shape.snapshots, token);
  const { chain, address, tier } = history.run;
  const { segments, markets } = encodeRuns({ parts: [history], mode: 'replace' });
  const bundle = await BundleWriter.create(store.directory);
  try {
    await bundle.write({ kind: 'header', version: BUNDLE_VERSION, file: 'bench', mode: 'replace' });
    for (const segment of segments) {
      await bundle.write({ kind: 'segment', chain, address, tier, markets, segment });
    }
    await bundle.finish();
    await store.commit(bundle.name);
  } finally {
    await bundle.discard();
  }
  return {
    cells: segments.reduce((sum, { cells }) => sum + cells, 0),
    blockBytes: segments.reduce((sum, { block }) => sum + block.length, 0),
  };
}

/** Bytes of the database file and of a log beside it; of a closed store the log is empty. */
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
