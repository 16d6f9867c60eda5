/** The kernels over the small market as a real store serves it, against the numbers beside it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dlmmBoard, type DlmmBoard } from '../../compute/lp/dlmm-board.js';
import { baseAndQuote } from '../../compute/lp/dlmm-pool.js';
import {
  type Denominators,
  denominatorsOf,
  densityTokens,
  feeDensityBoards,
  type LpDenominator,
  type LpWindow,
} from '../../compute/lp/fee-density.js';
import { type DlmmPeriod, hoursInSight } from '../../compute/lp/hours.js';
import { joinRanges, poolRanges, poolsOfMarkets } from '../../compute/lp/pool-range.js';
import { priceHours, type PriceHoursInput } from '../../compute/lp/price-range.js';
import type { Market } from '../../compute/market.js';
import { decodeSegment } from '../../compute/segment/segment.js';
import { binSums, cellsOfRun, marketMask } from '../../compute/segment/snapshots.js';
import type { Store } from '../../storage/store.js';
import { exampleRows, expectedReplies, HAS_EXAMPLES } from '../support/examples.js';
import {
  type Cell,
  commitRows,
  DataDirectory,
  type MarketFields,
  openStore,
  type SnapshotRow,
} from '../support/stores.js';
import type { Json } from '../support/tables.js';
import { boardPoolsOf, poolHoursOf, thisHourOf } from './lp-market.js';

const QUOTES = [
  'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
  'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB',
  'So11111111111111111111111111111111111111112',
];

type CellsRow = Omit<SnapshotRow, 'markets'> &
  Omit<MarketFields, 'address' | 'cells'> & {
    market_address: string | null;
    bin: number;
    support_usd: number;
    resistance_usd: number;
  };

/** Rows of `cells` as the rows of `snapshots` that say the same. */
function nested(cells: readonly CellsRow[]): SnapshotRow[] {
  const snapshots = new Map<string, SnapshotRow>();
  for (const { bin, support_usd, resistance_usd, market_address, ...row } of cells) {
    const key = `${row.address} ${row.tier} ${row.t}`;
    const snapshot: SnapshotRow = snapshots.get(key) ?? { ...row, markets: [] };
    snapshots.set(key, snapshot);
    const isOwn = (m: SnapshotRow['markets'][number]) =>
      m.source === row.source && m.address === market_address && m.pair === row.pair;
    let market = snapshot.markets.find(isOwn);
    if (market === undefined) {
      market = { ...row, address: market_address, cells: [] };
      snapshot.markets.push(market);
    }
    market.cells.push([bin, support_usd, resistance_usd] satisfies Cell);
  }
  return [...snapshots.values()];
}

interface Visible extends PriceHoursInput {
  markets: readonly Market[];
}

async function visibleOf({ depth }: Store, address: string, now: number): Promise<Visible | null> {
  const token = depth.token('mainchain', address);
  if (token === null) return null;
  const { firstHourS } = hoursInSight(now);
  const window = { fromS: firstHourS, toS: now + 1, nowS: now, maxSnapshots: 100_000 };
  const plan = await depth.plan({ tokenId: token.tokenId, ...window });
  const selection = {
    run: plan.snapshots.map(({ segment }) => segment),
    row: plan.snapshots.map(({ row }) => row),
  };
  const blocks = await depth.readSegments(plan.segmentIds);
  return { blocks, selection, firstHourS, markets: plan.markets };
}

type Numbers = Record<string, string | number | null>;

function expectNear(actual: Numbers, expected: Numbers) {
  expect(Object.keys(actual).sort()).toEqual(Object.keys(expected).sort());
  for (const [key, value] of Object.entries(expected)) {
    if (typeof value !== 'number') expect(actual[key], key).toBe(value);
    else {
      const off = Math.abs(Number(actual[key] ?? NaN) - value);
      expect(off, key).toBeLessThanOrEqual(1e-6 * Math.abs(value));
    }
  }
}

describe.runIf(HAS_EXAMPLES)('the small market', () => {
  const expected = HAS_EXAMPLES ? expectedReplies<Json>() : {};
  const now: number = expected.now;
  const directory = new DataDirectory();
  let store: Store;

  beforeAll(async () => {
    store = await openStore(directory.path);
    await commitRows(store, exampleRows('snapshots') as SnapshotRow[]);
    await commitRows(store, nested(exampleRows('cells') as CellsRow[]), { file: 'cells.ndjson' });
  });
  afterAll(async () => {
    await store.close();
    directory.remove();
  });

  it('gives the expected board of pools, in every period', async () => {
    const pools = exampleRows('dlmm_pools').map((row) => ({
      pubkey: row.pubkey as string,
      x: row.token_x_mint as string,
      y: row.token_y_mint as string,
    }));
    const hours = exampleRows('dlmm_hours').map((row) => ({
      pubkey: row.pubkey as string,
      hour: row.hour as number,
      fees: row.fees_usd as number,
      volume: row.volume_usd as number,
      tvl: row.tvl_usd as number,
    }));
    const boarded = boardPoolsOf({ pools, quotes: QUOTES });
    const thisHourS = thisHourOf(now, hours);
    const parts = await Promise.all(
      boarded.baseMints.map(async (mint, base) => {
        const pubkeys = boarded.pubkeys.filter((_, pool) => boarded.base[pool] === base);
        const visible = await visibleOf(store, mint, now);
        if (visible === null) return null;
        const poolOfMarket = poolsOfMarkets(visible.markets, pubkeys);
        const input = { ...visible, poolOfMarket, poolCount: pubkeys.length, thisHourS };
        return { pubkeys, ranges: poolRanges(input) };
      }),
    );
    const ranges = joinRanges(
      parts.filter((part) => part !== null),
      thisHourS,
    );
    const board = dlmmBoard({ pools: boarded, hours: poolHoursOf(hours), ranges, thisHourS });
    const periods = Object.entries(expected.dlmm as Record<DlmmPeriod, Record<string, Numbers>>);
    expect(periods.length).toBeGreaterThan(0);
    for (const [period, rows] of periods) {
      const actual = rowsByPubkey(board, period as DlmmPeriod, pools);
      expect(Object.keys(actual).sort()).toEqual(Object.keys(rows).sort());
      for (const [pubkey, row] of Object.entries(rows)) expectNear(actual[pubkey], row);
    }
  });

  function rowsByPubkey(
    board: DlmmBoard,
    period: DlmmPeriod,
    pools: { pubkey: string; x: string; y: string }[],
  ): Record<string, Numbers> {
    const { pool, order, ...columns } = board.periods[period];
    expect(order.fees.length).toBe(pool.length);
    return Object.fromEntries(
      Array.from(pool, (p, row): [string, Numbers] => {
        const { pubkey, x, y } = pools[p];
        const sides = baseAndQuote({ tokenXMint: x, tokenYMint: y }, QUOTES);
        const numbers = Object.entries(columns).map(([key, column]) => [
          key,
          Number.isNaN(column[row]) ? null : column[row],
        ]);
        const row_ = Object.fromEntries(numbers) as Numbers;
        return [pubkey, { base: sides.baseMint, quote: sides.quoteMint, ...row_ }];
      }),
    );
  }

  it('gives the expected cheat sheets, in their order', async () => {
    const rows = exampleRows('token_hours').filter(({ chain }) => chain === 'mainchain');
    const addresses = [...new Set(rows.map(({ address }) => address as string))];
    const thisHourS = thisHourOf(now, rows as { hour: number }[]);
    const tokens: { address: string; denominators: Denominators }[] = [];
    for (const address of addresses) {
      const visible = await visibleOf(store, address, now);
      const newest = await newestOf(address);
      if (visible === null || newest === null) continue;
      const denominators = denominatorsOf(newest, priceHours(visible), thisHourS);
      tokens.push({ address, denominators });
    }
    const boards = feeDensityBoards({
      tokens: densityTokens(tokens),
      hours: {
        addresses,
        token: Uint32Array.from(rows, ({ address }) => addresses.indexOf(address)),
        hour: Uint32Array.from(rows, ({ hour }) => hour as number),
        organicVolumeUsd: Float64Array.from(rows, (row) => row.organic_volume_usd as number),
      },
      thisHourS,
      maxRows: 100,
    });
    const sheets = Object.entries(expected.lp_cheat_sheet as Record<string, Numbers[]>);
    expect(sheets.length).toBeGreaterThan(0);
    for (const [name, sheet] of sheets) {
      const [window, denominator] = name.split('/') as [LpWindow, LpDenominator];
      const board = boards[window][denominator];
      expect(Array.from(board.token, (token) => tokens[token].address)).toEqual(
        sheet.map(({ address }) => address),
      );
      sheet.forEach((row, i) => {
        expectNear(
          {
            address: tokens[board.token[i]].address,
            organic_volume: board.organicVolumeUsd[i],
            denom_liquidity_usd: board.denominatorUsd[i],
            fee_density: board.feeDensity[i],
          },
          row,
        );
      });
    }
  });

  /** Price and on-chain pools of a token's newest visible snapshot, however old. */
  async function newestOf(address: string) {
    const tokenId = store.depth.token('mainchain', address)?.tokenId;
    if (tokenId === undefined) return null;
    const { newest } = await store.depth.newestSnapshots(tokenId, now, 900);
    if (newest === null) return null;
    const [block] = await store.depth.readSegments([newest.segmentId]);
    const cells = cellsOfRun(decodeSegment(block), newest.row);
    const mask = marketMask(store.depth.markets(tokenId), ({ type }) => type === 'onchain_pool');
    return { priceUsd: cells.priceUsd, pools: binSums(cells, mask) };
  }
});
