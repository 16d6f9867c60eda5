/** The content that every page must have. Servers with other content are not measured. */
import type { TokenHistory } from '../data/pages.js';

/** A snapshot as in a replay reply; cell i is index i of each array. */
export interface PlainSnapshot {
  t: number;
  price_usd: number;
  market_idx: number[];
  bin: number[];
  support_usd: number[];
  resistance_usd: number[];
}

const CELL_KEYS = ['market_idx', 'bin', 'support_usd', 'resistance_usd'] as const;

/** The snapshots of a history from number `first` on. */
export function expectedPage(
  { run }: TokenHistory,
  { first, snapshots }: { first: number; snapshots: number },
): PlainSnapshot[] {
  return Array.from({ length: snapshots }, (_, i) => {
    const s = first + i;
    const from = run.cellOffsets[s];
    const to = run.cellOffsets[s + 1];
    const usd = (cents: ArrayLike<number | bigint>) =>
      Array.from({ length: to - from }, (_, c) => Number(cents[from + c]) / 100);
    return {
      t: run.t[s],
      price_usd: run.priceUsd[s],
      market_idx: Array.from(run.market.subarray(from, to)),
      bin: Array.from(run.bin.subarray(from, to)),
      support_usd: usd(run.supportCents),
      resistance_usd: usd(run.resistanceCents),
    };
  });
}

/** Describes the first difference; null if every number of every cell is the same. */
export function differenceOf(
  actual: readonly PlainSnapshot[],
  expected: readonly PlainSnapshot[],
): string | null {
  if (actual.length !== expected.length) {
    return `${actual.length} snapshots, expected ${expected.length}`;
  }
  for (const [s, wanted] of expected.entries()) {
    const given = actual[s];
    const where = `snapshots[${s}]`;
    for (const key of ['t', 'price_usd'] as const) {
      if (given[key] !== wanted[key]) {
        return `${where}.${key} is ${given[key]}, expected ${wanted[key]}`;
      }
    }
    for (const key of CELL_KEYS) {
      const at = firstDifference(given[key], wanted[key]);
      if (at !== null) {
        return `${where}.${key}[${at}] is ${given[key]?.[at]}, expected ${wanted[key][at]}`;
      }
    }
  }
  return null;
}

function firstDifference(
  actual: readonly number[] | undefined,
  expected: readonly number[],
): number | null {
  for (let i = 0; i < Math.max(expected.length, actual?.length ?? 0); i++) {
    if (actual?.[i] !== expected[i]) return i;
  }
  return null;
}

/** A market as Fathom's replies name it. */
interface ListedMarket {
  source: string;
  exchange_type: string;
  address: string | null;
  pair: string;
}

/** The snapshots of Fathom's JSON reply, with the history's market numbers. */
export function fathomSnapshots(body: Uint8Array, history: TokenHistory): PlainSnapshot[] {
  const { markets, snapshots } = parsedJson(body) as {
    markets: ListedMarket[];
    snapshots: PlainSnapshot[];
  };
  const numbers = numbersOf(markets, history);
  return snapshots.map((snapshot) => {
    return { ...snapshot, market_idx: snapshot.market_idx.map((index) => numbers[index]) };
  });
}

export function parsedJson(body: Uint8Array): unknown {
  return JSON.parse(Buffer.from(body).toString());
}

/** The history's number of each listed market. */
function numbersOf(listed: readonly ListedMarket[], { markets }: TokenHistory): number[] {
  return listed.map((one) =>
    markets.findIndex(
      ({ source, exchangeType, address, pair }) =>
        source === one.source &&
        exchangeType === one.exchange_type &&
        address === one.address &&
        pair === one.pair,
    ),
  );
}

/** Prices by `t`. */
export type Prices = ReadonlyMap<number, number>;

/**
 * The reply's JSON of a server that reads a database.
 * @param cellTexts `t` and the text of a JSON object with the snapshot's arrays, in order
 * @throws Error if a price is missing
 */
export function textOfObjects(
  token: string,
  cellTexts: readonly (readonly [t: number, object: string])[],
  prices: Prices,
): string {
  const snapshots = cellTexts.map(([t, object]) => {
    const price = prices.get(t);
    if (price === undefined) throw new Error(`no price at ${t}`);
    return `{"t":${t},"price_usd":${price},${object.slice(1)}`;
  });
  return `{"token":"${token}","snapshot_count":${snapshots.length},"snapshots":[${snapshots.join(',')}]}`;
}
