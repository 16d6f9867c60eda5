/** LP tools: pools within a price range, and the boards that rank them. */
import { hash, keyOf, unit } from '../../demo/hash.js';
import { dlmmBoard, type DlmmBoard, type DlmmBoardInput } from '../../compute/lp/dlmm-board.js';
import {
  feeDensityBoards,
  type FeeDensityBoards,
  type FeeDensityInput,
  type FeeDensityRows,
} from '../../compute/lp/fee-density.js';
import { DLMM_PERIODS, hourOf, LONGEST_PERIOD_H } from '../../compute/lp/hours.js';
import { poolRanges, type PoolRanges, poolsOfMarkets } from '../../compute/lp/pool-range.js';
import { type HourPrices, priceHours } from '../../compute/lp/price-range.js';
import { encodeSegment, splitRun } from '../../compute/segment/segment.js';
import { HOUR_S } from '../../compute/time.js';
import { benchCase, type BenchCase } from '../case.js';
import { BENCH_SEED, benchAddress, START_S, tokenHistory } from '../data/pages.js';
import { digestOf } from '../digest.js';

/** A day of a busy token, one snapshot per minute. */
const SNAPSHOTS = 1440;
const SNAPSHOT_EVERY_S = 60;
const SHAPE = { name: 'day', snapshots: SNAPSHOTS, markets: 24, cells: 700 };
const FIRST_HOUR_S = hourOf(START_S);
const THIS_HOUR_S = FIRST_HOUR_S + (LONGEST_PERIOD_H - 1) * HOUR_S;

const BOARD_POOLS = 5000;
const BOARD_BASES = 1000;
const SHEET_TOKENS = 5000;
const SHEET_ROWS = 100;

export function lpCases(): BenchCase[] {
  const day = dayOfToken();
  const blockBytes = bytesOf(day.blocks);
  const board = boardInput();
  const sheet = sheetInput();
  const work = { snapshots: SNAPSHOTS, cells: SNAPSHOTS * SHAPE.cells };
  return [
    benchCase({
      name: 'lp/poolRanges',
      run: () => poolRanges(day),
      digest: digestOfRanges,
      work,
      extra: () => ({ pools: day.poolCount }),
      counters: (ranges) => ({
        blockBytes,
        snapshotsPriced: snapshotsOf(ranges.prices),
        bytesOut: bytesOf([...partsOfRanges(ranges), ...partsOfPrices(ranges.prices)]),
      }),
    }),
    benchCase({
      name: 'lp/priceHours',
      run: () => priceHours(day),
      digest: (prices) => digestOf(partsOfPrices(prices)),
      work,
      counters: (prices) => ({
        blockBytes,
        snapshotsPriced: snapshotsOf(prices),
        bytesOut: bytesOf(partsOfPrices(prices)),
      }),
    }),
    benchCase({
      name: 'lp/dlmmBoard',
      run: () => dlmmBoard(board),
      digest: (made) => digestOf(partsOfBoard(made)),
      work: { rows: board.hours.hour.length },
      counters: (made) => ({
        rowsRanked: sum(Object.values(made.periods).map(({ pool }) => pool.length)),
        bytesOut: bytesOf(partsOfBoard(made)),
      }),
    }),
    benchCase({
      name: 'lp/feeDensityBoards',
      run: () => feeDensityBoards(sheet),
      digest: (boards) =>
        digestOf(sheetRows(boards).flatMap(({ token, feeDensity }) => [token, feeDensity])),
      work: { rows: sheet.hours.hour.length },
      counters: (boards) => ({
        rowsRanked: sum(sheetRows(boards).map(({ token }) => token.length)),
        bytesOut: bytesOf(sheetRows(boards).flatMap(columnsOf)),
      }),
    }),
  ];
}

function dayOfToken() {
  const { run, markets } = tokenHistory(SHAPE, SNAPSHOTS, 0);
  const t = run.t.map((_, s) => FIRST_HOUR_S + s * SNAPSHOT_EVERY_S);
  const pieces = splitRun({ ...run, t });
  const rows = pieces.flatMap((piece, block) => Array.from(piece.t, (_, row) => ({ block, row })));
  const pubkeys = markets.flatMap(({ type, address }) =>
    type === 'onchain_pool' && address !== null ? [address] : [],
  );
  return {
    blocks: pieces.map(encodeSegment),
    selection: { run: rows.map(({ block }) => block), row: rows.map(({ row }) => row) },
    firstHourS: FIRST_HOUR_S,
    thisHourS: THIS_HOUR_S,
    poolOfMarket: poolsOfMarkets(markets, pubkeys),
    poolCount: pubkeys.length,
  };
}

/** One row for every hour of every pool or token. */
function hourRows(count: number) {
  const rows = count * LONGEST_PERIOD_H;
  return {
    owner: Uint32Array.from({ length: rows }, (_, i) => i % count),
    hour: Uint32Array.from(
      { length: rows },
      (_, i) => FIRST_HOUR_S + Math.floor(i / count) * HOUR_S,
    ),
    usd: (name: string) => draws(name, rows),
  };
}

function draws(name: string, length: number): Float64Array {
  const key = keyOf(BENCH_SEED, name);
  return Float64Array.from({ length }, (_, i) => unit(hash(key, i)) * 1e6);
}

function boardInput(): DlmmBoardInput {
  const pubkeys = Array.from({ length: BOARD_POOLS }, (_, i) => benchAddress(i));
  const { owner, hour, usd } = hourRows(BOARD_POOLS);
  return {
    pools: {
      pubkeys,
      base: Uint32Array.from(pubkeys, (_, i) => i % BOARD_BASES),
      baseMints: Array.from({ length: BOARD_BASES }, (_, i) => benchAddress(BOARD_POOLS + i)),
    },
    hours: {
      pubkeys,
      pool: owner,
      hour,
      feesUsd: usd('fees'),
      volumeUsd: usd('volume'),
      tvlUsd: usd('tvl'),
    },
    ranges: {
      pubkeys,
      ofPeriod: transposed(draws('range', DLMM_PERIODS.length * BOARD_POOLS), BOARD_POOLS),
      ofHour: transposed(draws('hour range', LONGEST_PERIOD_H * BOARD_POOLS), BOARD_POOLS),
    },
    thisHourS: THIS_HOUR_S,
  };
}

function sheetInput(): FeeDensityInput {
  const addresses = Array.from({ length: SHEET_TOKENS }, (_, i) => benchAddress(i));
  const { owner, hour, usd } = hourRows(SHEET_TOKENS);
  return {
    tokens: {
      addresses,
      near: draws('near', SHEET_TOKENS),
      bin10: draws('bin10', SHEET_TOKENS),
      range: ['1h', '6h', '24h'].map((window) => draws(window, SHEET_TOKENS)),
    },
    hours: { addresses, token: owner, hour, organicVolumeUsd: usd('organic') },
    thisHourS: THIS_HOUR_S,
    maxRows: SHEET_ROWS,
  };
}

const sum = (values: Iterable<number>): number => Array.from(values).reduce((a, b) => a + b, 0);
const bytesOf = (parts: readonly ArrayBufferView[]): number =>
  sum(parts.map(({ byteLength }) => byteLength));

const partsOfPrices = ({ snapshots, lowUsd, highUsd }: HourPrices) => [snapshots, lowUsd, highUsd];
const snapshotsOf = ({ snapshots }: HourPrices): number => sum(snapshots);

/** By period and hour, so that digests stay comparable with those of earlier builds. */
const partsOfRanges = ({ ofPeriod, ofHour }: PoolRanges) => [
  transposed(ofPeriod, DLMM_PERIODS.length),
  transposed(ofHour, LONGEST_PERIOD_H),
];

/** Transposes a table of `width` columns. */
function transposed(table: Float64Array, width: number): Float64Array {
  const rows = table.length / width;
  return Float64Array.from(table, (_, i) => table[(i % rows) * width + Math.floor(i / rows)]);
}

function digestOfRanges(ranges: PoolRanges): string {
  return digestOf([...partsOfRanges(ranges), ...partsOfPrices(ranges.prices)]);
}

const partsOfBoard = ({ periods }: DlmmBoard) =>
  Object.values(periods).flatMap(({ order, ...columns }) => [
    ...Object.values(columns),
    ...Object.values(order),
  ]);

const columnsOf = ({ token, organicVolumeUsd, denominatorUsd, feeDensity }: FeeDensityRows) => [
  token,
  organicVolumeUsd,
  denominatorUsd,
  feeDensity,
];
const sheetRows = (boards: FeeDensityBoards) =>
  Object.values(boards).flatMap((ofWindow) => Object.values(ofWindow));
