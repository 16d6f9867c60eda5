/** For --merge: the price of the snapshot that every row of a file is to be merged into. */
import { canonicalAddress } from '../../compute/market/address.js';
import { TIERS, type Chain, type Tier } from '../../compute/market/market.js';
import { InputError } from '../errors.js';
import type { SnapshotKey, StoreOperations } from '../operations.js';
import type { BasePrices } from './bin-pieces.js';
import type { Piece } from './pieces.js';

/** Snapshots that one file may merge into. */
const MAX_MERGED_SNAPSHOTS = 2_000_000;
/** Snapshots whose prices are asked for at once. */
const KEYS_A_REQUEST = 50_000;
const NEWLINE = 0x0a;

type RowHead = Record<'chain' | 'address' | 't' | 'tier' | 'price_usd', unknown>;

/**
 * Reads a file once for the snapshots that it names: the price of each is the stored one's, else
 * that of the file's first row of it.
 */
export async function loadBasePrices(
  file: string,
  pieces: AsyncIterable<Piece>,
  store: Pick<StoreOperations, 'snapshotPrices'>,
): Promise<BasePrices> {
  const prices = new Map<string, number>();
  const keys: SnapshotKey[] = [];
  for await (const piece of pieces) {
    for (const head of headsOf(piece)) {
      const key = keyOf(head);
      if (key === null || prices.has(nameOf(key))) continue;
      if (keys.length >= MAX_MERGED_SNAPSHOTS) {
        throw new InputError(
          `${file}: --merge takes at most ${MAX_MERGED_SNAPSHOTS} snapshots a file`,
        );
      }
      keys.push(key);
      prices.set(nameOf(key), typeof head?.price_usd === 'number' ? head.price_usd : NaN);
    }
  }
  for (let i = 0; i < keys.length; i += KEYS_A_REQUEST) {
    const asked = keys.slice(i, i + KEYS_A_REQUEST);
    const stored = await store.snapshotPrices(asked);
    asked.forEach((key, k) => {
      if (!Number.isNaN(stored[k])) prices.set(nameOf(key), stored[k]);
    });
  }
  return (piece) =>
    Float64Array.from(headsOf(piece), (head) => {
      const key = keyOf(head);
      return key === null ? NaN : (prices.get(nameOf(key)) ?? NaN);
    });
}

/** What names the snapshot of each line or row of a piece; null where it cannot be read. */
function headsOf(piece: Piece): (RowHead | null)[] {
  switch (piece.kind) {
    case 'snapshotLines':
    case 'cellLines':
      return headsOfLines(piece.bytes);
    case 'snapshotRows':
      return piece.rows.map((row) => (typeof row === 'object' ? (row as RowHead | null) : null));
    case 'demoUnit':
      throw new Error('simulated snapshots are never merged');
    case 'cellColumns': {
      const { chain, address, t, tier, price_usd } = piece.columns;
      return Array.from(t, (time, i) => ({
        chain: chain[i],
        address: address[i],
        t: time,
        tier: tier[i],
        price_usd: price_usd[i],
      }));
    }
  }
}

function headsOfLines(bytes: Uint8Array): (RowHead | null)[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const heads: (RowHead | null)[] = [];
  for (let start = 0; start < text.length;) {
    const newline = text.indexOf(NEWLINE, start);
    const end = newline < 0 ? text.length : newline;
    heads.push(parseHead(text.toString('utf8', start, end)));
    start = end + 1;
  }
  return heads;
}

function parseHead(line: string): RowHead | null {
  try {
    const row = JSON.parse(line) as unknown;
    return typeof row === 'object' ? (row as RowHead | null) : null;
  } catch {
    return null;
  }
}

/** The snapshot that a head names, or null where a later check will refuse the row. */
function keyOf(head: RowHead | null): SnapshotKey | null {
  if (head === null || typeof head.address !== 'string' || typeof head.t !== 'number') return null;
  const tier = head.tier ?? 'raw';
  if (!TIERS.includes(tier as Tier) || (head.chain !== 'mainchain' && head.chain !== 'evmchain')) {
    return null;
  }
  const chain: Chain = head.chain;
  return { chain, address: canonicalAddress(head.address), t: head.t, tier: tier as Tier };
}

const nameOf = ({ chain, address, tier, t }: SnapshotKey): string =>
  `${chain} ${address} ${tier} ${t}`;
