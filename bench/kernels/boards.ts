/** What the boards rest on: pools within a price range, the rankings of LP tools, and the pressure of DCA orders. */
import { hash, keyOf, unit } from '../../demo/hash.js';
import { dlmmBoard, type DlmmBoard, type DlmmBoardInput } from '../../compute/lp/dlmm-board.js';
import {
  feeDensityBoards,
  type FeeDensityBoards,
  type FeeDensityInput,
} from '../../compute/lp/fee-density.js';
import { DLMM_PERIODS, hourOf, LONGEST_PERIOD_H } from '../../compute/lp/hours.js';
import { poolRanges, type PoolRanges, poolsOfMarkets } from '../../compute/lp/pool-range.js';
import { packOrders, type PressureInput, rankPressure } from '../../compute/orders/pressure.js';
import { encodeSegment, splitRun } from '../../compute/segment/segment.js';
import { HOUR_S } from '../../compute/time.js';
import { benchCase, type BenchCase } from '../case.js';
import { benchLadder, benchOrders, FLOW_ORDERS, FLOW_TOKENS, PRICE_USD } from '../data/orders.js';
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

export function boardCases(): BenchCase[] {
  const day = dayOfToken();
  const board = boardInput();
  const sheet = sheetInput();
  const orders = pressureInput();
  return [
    benchCase({
      name: 'boards/poolRanges',
      run: () => poolRanges(day),
      digest: digestOfRanges,
      work: { snapshots: SNAPSHOTS, cells: SNAPSHOTS * SHAPE.cells },
    }),
    benchCase({
      name: 'boards/dlmmBoard',
      run: () => dlmmBoard(board),
      digest: digestOfBoard,
      work: { rows: board.hours.hour.length },
    }),
    benchCase({
      name: 'boards/feeDensityBoards',
      run: () => feeDensityBoards(sheet),
      digest: digestOfSheet,
      work: { rows: sheet.hours.hour.length },
    }),
    benchCase({
      name: 'boards/rankPressure',
      run: () => rankPressure(orders),
      digest: ({ netUsd, netPct, ranks, topOrders }) =>
        digestOf([netUsd, netPct, ranks, topOrders]),
      work: { orders: FLOW_ORDERS },
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
      ofPeriod: draws('range', DLMM_PERIODS.length * BOARD_POOLS),
      ofHour: draws('hour range', LONGEST_PERIOD_H * BOARD_POOLS),
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

/** FLOW_TOKENS tokens, each with as many orders and a ladder of as many bins. */
function pressureInput(): PressureInput {
  const tokens = Array.from({ length: FLOW_TOKENS }, (_, token) => token);
  const packed = tokens.map((token) => packOrders(benchOrders(token)));
  const ladders = tokens.map(benchLadder);
  const [{ firstBin, supportCents: ofBins }] = ladders;
  const sides = ladders.flatMap((ladder) => [ladder.supportCents, ladder.resistanceCents]);
  const each = (value: number): Uint32Array => new Uint32Array(FLOW_TOKENS).fill(value);
  const starts = (values: number): Uint32Array => Uint32Array.from(tokens, (i) => i * values);
  return {
    nowS: START_S,
    orders: sharedOf(packed),
    ladders: sharedOf(sides),
    ordersAt: starts(packed[0].length),
    orderCount: each(FLOW_ORDERS / FLOW_TOKENS),
    priceUsd: new Float64Array(FLOW_TOKENS).fill(PRICE_USD),
    ladderAt: starts(2 * ofBins.length),
    binCount: each(ofBins.length),
    firstBin: new Int16Array(FLOW_TOKENS).fill(firstBin),
  };
}

/** Columns of the same length, one after the other in shared memory. */
function sharedOf(columns: readonly Float64Array[]): SharedArrayBuffer {
  const [{ length }] = columns;
  const memory = new SharedArrayBuffer(8 * length * columns.length);
  for (const [i, column] of columns.entries()) new Float64Array(memory).set(column, i * length);
  return memory;
}

function digestOfRanges({ ofPeriod, ofHour, prices }: PoolRanges): string {
  return digestOf([ofPeriod, ofHour, prices.snapshots, prices.lowUsd, prices.highUsd]);
}

function digestOfBoard({ periods }: DlmmBoard): string {
  return digestOf(
    Object.values(periods).flatMap(({ order, ...columns }) => [
      ...Object.values(columns),
      ...Object.values(order),
    ]),
  );
}

function digestOfSheet(boards: FeeDensityBoards): string {
  const rows = Object.values(boards).flatMap((ofWindow) => Object.values(ofWindow));
  return digestOf(rows.flatMap(({ token, feeDensity }) => [token, feeDensity]));
}
