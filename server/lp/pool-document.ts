/** DLMM pools as documents of the API. */
import type { Static } from 'typebox';
import { CHIP_KEYS, type ChipKey, chipLeaders } from '../../compute/lp/dlmm-board.js';
import { baseAndQuote, type DlmmPool, poolPrice } from '../../compute/lp/dlmm-pool.js';
import type { AskedToken } from '../api/chain.js';
import { currentPriceUsd, type TokenTable } from '../tokens/token-table.js';
import { CHIP_DEFINITIONS } from './chips.js';
import type { getDlmmPools } from './dlmm-pools.js';
import type { getDlmm } from './dlmm.js';
import type { BoardRow, PoolBoard } from './pool-board.js';

export type PoolsDocument = Static<(typeof getDlmm)['response']>;
export type BoardDocument = Static<(typeof getDlmmPools)['response']>;
type PoolDocument = PoolsDocument['pools'][number];

/** Pools of one reply, those that lead excepted: there is no page after it. */
export const MAX_TOKEN_POOLS = 2000;

type State = Pick<TokenTable, 'token'>;

/** The figures of a row that are in `stats_1h` and on the board. */
function figuresOf({ period, row }: BoardRow) {
  return {
    fees: period.fees[row],
    volume: period.volume[row],
    tvl: period.tvl[row],
    effectiveFeeBps: orNull(period.effectiveFeeBps[row]),
    feesPerAvgTvl: orNull(period.feesPerAvgTvl[row]),
    captureShare: orNull(period.captureShare[row]),
    feeCapture: orNull(period.feeCapture[row]),
    rangeTvl: orNull(period.rangeTvl[row]),
    rangeYield: orNull(period.rangeYield[row]),
  };
}

function orNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

/** A row of the board. */
export function boardRow(
  at: BoardRow,
  board: PoolBoard,
  quotes: readonly string[],
  state: State,
): BoardDocument['data'][number] {
  const index = at.period.pool[at.row];
  const pool = board.book.pools[index];
  const { baseMint, quoteMint } = baseAndQuote(pool, quotes);
  const base = state.token(baseMint)?.details;
  const { fees, volume, tvl, ...ratios } = figuresOf(at);
  return {
    address: pool.pubkey,
    baseSymbol: base?.symbol ?? null,
    quoteSymbol: state.token(quoteMint)?.details.symbol ?? null,
    baseMint,
    quoteMint,
    tokenIcon: base?.icon ?? null,
    tvl,
    binStep: pool.binStep,
    baseFeePct: pool.baseFeePct,
    volume,
    fees,
    ...ratios,
    rangeCeiling: orNull(at.period.rangeCeiling[at.row]),
    tokenPoolCount: board.poolsOfBase(index),
  };
}

interface PricedPool {
  index: number;
  pool: DlmmPool;
  /** Both reserves, USD; null where one has no price. */
  totalUsd: number | null;
}

/** The pools of a token. */
export function poolsDocument(asked: AskedToken, board: PoolBoard, state: State): PoolsDocument {
  const indexes = board.book.ofMint.get(asked.address) ?? [];
  const leaders = leadersOf(board, indexes);
  const pubkeyOf = (index: number) => board.book.pools[index].pubkey;
  const led = new Set(Object.values(leaders));
  const pools = indexes
    .map((index): PricedPool => {
      const pool = board.book.pools[index];
      return { index, pool, totalUsd: totalUsd(pool, state) };
    })
    .sort(byLiquidity)
    .filter(({ index }, i) => i < MAX_TOKEN_POOLS || led.has(index));
  return {
    address: asked.address,
    chain: asked.chain,
    period: '1h',
    pools: pools.map((priced) => ({
      ...poolDocument(priced, board, state),
      chips: CHIP_DEFINITIONS.filter(({ key }) => leaders[key] === priced.index).map(
        ({ label }) => label,
      ),
    })),
    chips: {
      definitions: CHIP_DEFINITIONS.map((definition) => ({ ...definition })),
      leaders: Object.fromEntries(
        Object.entries(leaders).map(([key, index]) => [key, pubkeyOf(index)]),
      ),
    },
  };
}

/** By key the index of the pool that leads; a key that none leads is left out. */
function leadersOf(board: PoolBoard, indexes: readonly number[]): Partial<Record<ChipKey, number>> {
  const hour = board.period('1h');
  if (hour === null) return {};
  const rows = indexes.flatMap((index) => board.rowOf('1h', index)?.row ?? []);
  const leaders: Partial<Record<ChipKey, number>> = {};
  const rowOfKey = chipLeaders(hour, rows);
  for (const key of CHIP_KEYS) {
    const row = rowOfKey[key];
    if (row !== undefined) leaders[key] = hour.pool[row];
  }
  return leaders;
}

function poolDocument(
  { index, pool, totalUsd }: PricedPool,
  board: PoolBoard,
  state: State,
): Omit<PoolDocument, 'chips'> {
  const [x, y] = [state.token(pool.tokenXMint), state.token(pool.tokenYMint)];
  const [priceX, priceY] = [x && currentPriceUsd(x), y && currentPriceUsd(y)];
  const row = board.rowOf('1h', index);
  return {
    pubkey: pool.pubkey,
    bin_step: pool.binStep,
    active_id: pool.activeId,
    token_x_mint: pool.tokenXMint,
    token_x_symbol: x?.details.symbol ?? null,
    token_x_icon: x?.details.icon ?? null,
    token_x_decimals: pool.tokenXDecimals,
    token_x_price: priceX,
    token_y_mint: pool.tokenYMint,
    token_y_symbol: y?.details.symbol ?? null,
    token_y_icon: y?.details.icon ?? null,
    token_y_decimals: pool.tokenYDecimals,
    token_y_price: priceY,
    pool_price: orNull(poolPrice(pool)),
    base_fee_pct: pool.baseFeePct,
    dynamic_fee_pct: pool.dynamicFeePct,
    reserve_x: pool.reserveX,
    reserve_x_usd: usd(pool.reserveX, priceX),
    reserve_y: pool.reserveY,
    reserve_y_usd: usd(pool.reserveY, priceY),
    total_liquidity_usd: totalUsd,
    num_positions: pool.numPositions,
    num_wallets: pool.numWallets,
    stats_1h: row && figuresOf(row),
  };
}

function usd(amount: number, priceUsd: number | null): number | null {
  return priceUsd === null ? null : amount * priceUsd;
}

function totalUsd(pool: DlmmPool, state: State): number | null {
  const side = (mint: string, reserve: number) => {
    const token = state.token(mint);
    return token && usd(reserve, currentPriceUsd(token));
  };
  const x = side(pool.tokenXMint, pool.reserveX);
  const y = side(pool.tokenYMint, pool.reserveY);
  return x === null || y === null ? null : x + y;
}

/** The most liquid first, those without a price last; equal ones stay in the order of the book. */
function byLiquidity({ totalUsd: a }: PricedPool, { totalUsd: b }: PricedPool): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return b - a;
}
