/** The content that a page must have. A server with other content is not measured. */
import { PAGE_A, type TokenHistory } from '../data/pages.js';

/** A snapshot as the replay reply has it; cell i is index i of each array. */
export interface PlainSnapshot {
  t: number;
  price_usd: number;
  market_idx: number[];
  bin: number[];
  support_usd: number[];
  resistance_usd: number[];
}

const CELL_KEYS = ['market_idx', 'bin', 'support_usd', 'resistance_usd'] as const;

/** Page A of a history from its snapshot number `first` on, made from what was generated. */
export function expectedPage({ run }: TokenHistory, first: number): PlainSnapshot[] {
  return Array.from({ length: PAGE_A.snapshots }, (_, i) => {
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

/** Describes the first difference; null: every number of every cell is the same. */
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

interface FathomDocument {
  next_from: number | null;
  markets: { source: string; exchange_type: string; address: string | null; pair: string }[];
  snapshots: PlainSnapshot[];
}

/** Fathom's reply, with the history's numbers of its markets. */
export function fathomSnapshots(document: unknown, { markets }: TokenHistory): PlainSnapshot[] {
  const { markets: listed, snapshots } = document as FathomDocument;
  const numbers = listed.map((one) =>
    markets.findIndex(
      ({ source, exchangeType, address, pair }) =>
        source === one.source &&
        exchangeType === one.exchange_type &&
        address === one.address &&
        pair === one.pair,
    ),
  );
  return snapshots.map((snapshot) => {
    return { ...snapshot, market_idx: snapshot.market_idx.map((index) => numbers[index]) };
  });
}
