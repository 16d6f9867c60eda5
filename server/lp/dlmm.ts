/** GET /dlmm/:address: the DLMM pools of one token and its leaders (docs/definitions.md#chips). */
import type { TokenName } from '../../storage/contract.js';
import Type, { type Static } from '../api/type.js';
import { CHIP_KEYS, chipLeaders, type ChipKey } from '../../compute/lp/dlmm-board.js';
import { poolPrice, type DlmmPool } from '../../compute/lp/dlmm-pool.js';
import { defineEndpoint, type Handler } from '../api/endpoint.js';
import { addDataTime, Reply, replyKey } from '../api/replies.js';
import {
  chainKey,
  document,
  integer,
  nullable,
  number,
  text,
  tokenAddress,
  tokenSymbol,
  word,
} from '../api/schemas.js';
import { currentPriceUsd, dataTime } from '../tokens/token-table.js';
import type { PoolBoard } from './pool-board.js';
import { POOL_FRESHNESS, figuresOf, orNull, poolFigures } from './pool-figures.js';
import type { Services } from '../services.js';

/** Pools of a reply besides the leaders; replies have no pages. */
const MAX_TOKEN_POOLS = 2000;

const icon = nullable(Type.String(), 'URL of its icon; null if unknown.');
const decimals = integer('Decimals of the token, as the pool has them');
const price = nullable(Type.Number(), 'Current price of the token, USD; null without one.');
const reserve = number('Reserve of this side, tokens');
const reserveUsd = nullable(
  Type.Number(),
  'The reserve at the current price, USD; null without one.',
);
const leader = Type.Optional(text('Pubkey of the leading pool; absent if there is none'));

export const getDlmm = defineEndpoint({
  operationId: 'getDlmm',
  method: 'GET',
  path: '/dlmm/:address',
  tag: 'Liquidity providing',
  summary: 'DLMM pools of one token',
  description:
    'Pools with the token on either side, in descending order of `total_liquidity_usd`, nulls last, ' +
    'ties by pubkey: the first 2,000, and the leaders. A token without pools has an empty list, even ' +
    'without a record. `stats_1h` covers this hour: the current hour, or the previous one until any ' +
    `known pool has data for the current one. ${POOL_FRESHNESS} Prices are at most half a second old.`,
  dataTime: true,
  chain: { kind: 'address', at: { in: 'path', name: 'address' }, supported: ['mainchain'] },
  query: Type.Object({}),
  response: document('DlmmPools', {
    address: tokenAddress,
    chain: chainKey,
    period: word(['1h'], { description: 'Period of `stats_1h` and of the chips.' }),
    pools: Type.Array(
      document('DlmmPool', {
        pubkey: text('Address of the pool'),
        bin_step: integer('Price step between two bins, basis points'),
        active_id: integer('Active bin'),
        token_x_mint: text('Mint of side x'),
        token_x_symbol: tokenSymbol,
        token_x_icon: icon,
        token_x_decimals: decimals,
        token_x_price: price,
        token_y_mint: text('Mint of side y'),
        token_y_symbol: tokenSymbol,
        token_y_icon: icon,
        token_y_decimals: decimals,
        token_y_price: price,
        pool_price: nullable(
          Type.Number(),
          'Price of x in y, `(1 + bin_step/10000)^active_id * 10^(decimals of x - of y)`; null if ' +
            'it is not finite.',
        ),
        base_fee_pct: number('Base fee, percent'),
        dynamic_fee_pct: number('Fee at the current volatility, percent'),
        reserve_x: reserve,
        reserve_x_usd: reserveUsd,
        reserve_y: reserve,
        reserve_y_usd: reserveUsd,
        total_liquidity_usd: nullable(
          Type.Number(),
          'Value of both reserves, USD; null if either is null.',
        ),
        num_positions: integer('Open positions'),
        num_wallets: integer('Wallets with an open position'),
        stats_1h: nullable(
          document('DlmmPoolFigures', poolFigures),
          'Figures of this hour; null if the pool has no data for it.',
        ),
        chips: Type.Array(Type.String(), {
          description: 'Labels of the chips that the pool has.',
        }),
      }),
    ),
    chips: document('DlmmChips', {
      definitions: Type.Array(
        document('DlmmChip', {
          key: word(CHIP_KEYS),
          label: text('Label of the leading pool'),
          tip: text('What it means'),
        }),
      ),
      leaders: document(
        'DlmmLeaders',
        { feesPerAvgTvl: leader, rangeYield: leader, fees: leader },
        {
          description:
            "Per key, the token's pool with the highest value above 0 this hour; ties go to the lower " +
            'pubkey.',
        },
      ),
    }),
  }),
});

const CHIP_DEFINITIONS: readonly { key: ChipKey; label: string; tip: string }[] = [
  {
    key: 'feesPerAvgTvl',
    label: 'Best fees per TVL',
    tip: "The most fees this hour for each dollar of the pool's TVL, of this token's pools.",
  },
  {
    key: 'rangeYield',
    label: 'Best range yield',
    tip: "The most fees this hour for each dollar of liquidity within the prices that the hour went through, of this token's pools.",
  },
  { key: 'fees', label: 'Most fees', tip: "The most fees this hour, of this token's pools." },
];

/** Replies with more pools than this are kept for MANY_POOLS_EVERY_MS. */
const MANY_POOLS = 100;
const MANY_POOLS_EVERY_MS = 500;

export function dlmmHandler({ lp, tokens, kept }: Services): Handler<typeof getDlmm> {
  return ({ token, exchange }) =>
    lp.poolBoard.use((board) => {
      const known = tokens.table.token(token.address);
      const dataT = known && dataTime(known);
      addDataTime(exchange, dataT);
      const make = () => poolsDocument(token, board, tokens);
      const pools = board.book.ofMint.get(token.address)?.length ?? 0;
      if (pools <= MANY_POOLS) return make();
      const moment = Math.floor(performance.now() / MANY_POOLS_EVERY_MS);
      return Reply.cached(kept, replyKey('dlmm', board, moment, dataT, token.address), make);
    });
}

type PoolsDocument = Static<(typeof getDlmm)['response']>;
type PoolDocument = PoolsDocument['pools'][number];
type Tokens = Services['tokens'];

interface PricedPool {
  index: number;
  pool: DlmmPool;
  /** Both reserves, USD; null if one has no price. */
  totalUsd: number | null;
}

function poolsDocument(requested: TokenName, board: PoolBoard, tokens: Tokens): PoolsDocument {
  const indexes = board.book.ofMint.get(requested.address) ?? [];
  const leaders = leadersOf(board, indexes);
  const pubkeyOf = (index: number) => board.book.pools[index].pubkey;
  const led = new Set(Object.values(leaders));
  const pools = indexes
    .map((index): PricedPool => {
      const pool = board.book.pools[index];
      return { index, pool, totalUsd: totalUsd(pool, tokens) };
    })
    .sort(byLiquidity)
    .filter(({ index }, i) => i < MAX_TOKEN_POOLS || led.has(index));
  return {
    address: requested.address,
    chain: requested.chain,
    period: '1h',
    pools: pools.map((priced) => ({
      ...poolDocument(priced, board, tokens),
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

/** The index of each key's leader; keys without one are left out. */
function leadersOf(board: PoolBoard, indexes: readonly number[]): Partial<Record<ChipKey, number>> {
  const hour = board.period('1h');
  if (hour === null) return {};
  const rows = indexes.flatMap((index) => board.hourOf(index)?.row ?? []);
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
  tokens: Tokens,
): Omit<PoolDocument, 'chips'> {
  const [x, y] = [tokens.table.token(pool.tokenXMint), tokens.table.token(pool.tokenYMint)];
  const [priceX, priceY] = [x && currentPriceUsd(x), y && currentPriceUsd(y)];
  const row = board.hourOf(index);
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

function totalUsd(pool: DlmmPool, tokens: Tokens): number | null {
  const side = (mint: string, reserve: number) => {
    const token = tokens.table.token(mint);
    return token && usd(reserve, currentPriceUsd(token));
  };
  const x = side(pool.tokenXMint, pool.reserveX);
  const y = side(pool.tokenYMint, pool.reserveY);
  return x === null || y === null ? null : x + y;
}

/** Most liquid first, pools without a price last, ties in the order of the book. */
function byLiquidity({ totalUsd: a }: PricedPool, { totalUsd: b }: PricedPool): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return b - a;
}
