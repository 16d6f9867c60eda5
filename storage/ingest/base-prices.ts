/** For --merge: the prices of the snapshots that a file's rows merge into. */
import type { CellColumns } from '../../compute/ingest/cell-columns.js';
import { type HeadFields, isFields, MAX_FAULTS } from '../../compute/ingest/fields.js';
import { isBlankLine } from '../../compute/ingest/json-lines.js';
import type { SnapshotKey } from '../contract.js';
import { InputError } from '../errors.js';
import type { UseStore } from '../operations.js';
import { type Chunk, nameOfKey, snapshotKey } from './chunks.js';

/** How many snapshots one file may merge into. */
const MAX_MERGED_SNAPSHOTS = 2_000_000;
/** Snapshots in one request for prices. */
const KEYS_PER_REQUEST = 50_000;
const NEWLINE = 0x0a;

/**
 * The chunks of a file with their base prices: the price of the stored snapshot, otherwise that of the file's first row
 * of the snapshot.
 * @param first the chunks for a first pass, which finds the snapshots
 */
export async function* withBasePrices(
  file: string,
  first: AsyncIterable<Chunk>,
  chunks: AsyncIterable<Chunk>,
  useStore: UseStore,
): AsyncGenerator<Chunk> {
  const prices = new Map<string, number>();
  const keys: SnapshotKey[] = [];
  for await (const chunk of first) {
    for (const head of headsOf(chunk)) {
      const key = snapshotKey(head);
      if (key === null || prices.has(nameOfKey(key))) continue;
      if (keys.length >= MAX_MERGED_SNAPSHOTS) {
        throw new InputError(
          `${file}: --merge takes at most ${MAX_MERGED_SNAPSHOTS} snapshots a file`,
        );
      }
      keys.push(key);
      prices.set(nameOfKey(key), typeof head?.price_usd === 'number' ? head.price_usd : NaN);
    }
  }
  for (let i = 0; i < keys.length; i += KEYS_PER_REQUEST) {
    const some = keys.slice(i, i + KEYS_PER_REQUEST);
    const stored = await useStore((store) => store.snapshotPrices(some));
    some.forEach((key, k) => {
      if (!Number.isNaN(stored[k])) prices.set(nameOfKey(key), stored[k]);
    });
  }
  for await (const chunk of chunks) {
    const basePrices = Float64Array.from(headsOf(chunk), (head) => {
      const key = snapshotKey(head);
      return key === null ? NaN : (prices.get(nameOfKey(key)) ?? NaN);
    });
    yield { ...chunk, basePrices };
  }
}

/** The head of each line or row of a chunk; null if it cannot be read. */
function headsOf(chunk: Chunk): (HeadFields | null)[] {
  switch (chunk.kind) {
    case 'snapshotLines':
    case 'cellLines':
      return headsOfLines(chunk.bytes);
    case 'snapshotRows':
      return chunk.rows.map(asHead);
    case 'selfBinned':
      if (chunk.heads === undefined) throw new Error('a chunk that bins itself is not merged');
      return chunk.heads;
    case 'cellColumns':
      return headsOfColumns(chunk.columns);
  }
}

/** A row that repeats the head of the previous row shares it. */
function headsOfColumns({ starts, texts, t, price_usd }: CellColumns): HeadFields[] {
  const { chain, address, tier } = texts;
  const heads: HeadFields[] = [];
  for (let row = 0, run = -1; row < t.length; row++) {
    const isNewRun = row === starts[run + 1];
    if (isNewRun) run++;
    if (!isNewRun && t[row] === t[row - 1] && price_usd[row] === price_usd[row - 1]) {
      heads.push(heads[row - 1]);
      continue;
    }
    heads.push({
      chain: chain.values[chain.codes[run]],
      address: address.values[address.codes[run]],
      t: t[row],
      tier: tier.values[tier.codes[run]],
      price_usd: price_usd[row],
    });
  }
  return heads;
}

function headsOfLines(bytes: Uint8Array): (HeadFields | null)[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const heads: (HeadFields | null)[] = [];
  // After that many faulty lines nothing is binned.
  let faulty = 0;
  for (let start = 0; start < text.length;) {
    const newline = text.indexOf(NEWLINE, start);
    const end = newline < 0 ? text.length : newline;
    const isRow = faulty < MAX_FAULTS && !isBlankLine(text, start, end);
    const head = isRow ? parseHead(text.toString('utf8', start, end)) : null;
    if (isRow && head === null) faulty++;
    heads.push(head);
    start = end + 1;
  }
  return heads;
}

function parseHead(line: string): HeadFields | null {
  try {
    return asHead(JSON.parse(line));
  } catch {
    return null;
  }
}

const asHead = (row: unknown): HeadFields | null => (isFields(row) ? row : null);
