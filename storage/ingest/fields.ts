/** The fields of every dataset: what readers want of a file, what flags may name, what checks of rows expect. */
import { MAX_BIN_STEP_BP, MAX_DECIMALS, MAX_T_S } from '../../compute/ingest/fields.js';
import { MAX_OWNER_LENGTH } from '../../compute/holders/owners.js';
import { CHAINS, EXCHANGE_TYPES, MARKET_TYPES, TIERS } from '../../compute/market.js';
import { DIRECTIONS } from '../../compute/orders/dca-orders.js';
import { HOUR_S } from '../../compute/time.js';
import { COVERAGES } from '../contract.js';
import type { Dataset } from './datasets.js';

/** A field as a column of a file. */
export interface WantedColumn {
  name: string;
  /** `scalar`: a number or text; `any`: also lists and structs. Both are checked value by value. */
  kind: 'text' | 'number' | 'boolean' | 'scalar' | 'any';
  required: boolean;
  /** The values that a text may have. */
  values?: readonly string[];
  /** The flag that names the column, if one does. */
  flag?: string;
  /** For a time in epoch seconds: how readers return a timestamp, as its whole seconds or as an Instant. */
  time?: 'whole' | 'instant';
}

/** A field with its bounds. Depth datasets check theirs in the pool (`compute/ingest`), which needs no bounds here. */
export interface Field extends WantedColumn {
  isInteger?: true;
  /** The value of a field that is not required, if it is null or missing; by default null. */
  absent?: string | boolean;
  /** Bounds of a number, inclusive. */
  min?: number;
  max?: number;
  /** Exclusive lower bound of a number. */
  above?: number;
  /** The unit of a share. */
  share?: 'fraction' | 'percent';
  /** An integer must be a multiple of this. */
  multipleOf?: number;
  /** Shortest text, in characters. */
  minLength?: number;
  /** Longest text, in characters. */
  maxLength?: number;
  /** A time that should not be in the future. */
  isPast?: true;
}

/** Greatest balance, with which the sum of a tier's balances stays finite. */
export const MAX_BALANCE = 1e300;
/** Characters of an icon's URL. */
const MAX_ICON_LENGTH = 2048;
/** Greatest distance of a pool's active bin from 0: bins beyond it have no price. */
const MAX_ACTIVE_ID = 2 ** 23;
/** Keeps the sum over all orders of a store finite. */
const MAX_ORDER_USD = 1e30;

export const SIDES = ['bid', 'ask'] as const;

const text = (name: string, values?: readonly string[]): Field => ({
  name,
  kind: 'text',
  required: true,
  ...(values === undefined ? {} : { values }),
});
const number = (name: string): Field => ({ name, kind: 'number', required: true });
/** The field, which may be missing and have nulls. */
const optional = (field: Field): Field => ({ ...field, required: false });
const past = (field: Field): Field => ({ ...field, isPast: true });

const amount = (name: string): Field => ({ ...number(name), min: 0 });
const count = (name: string): Field => ({ ...amount(name), isInteger: true });
const epoch = (name: string): Field => ({ ...count(name), time: 'whole', max: MAX_T_S });
const decimals = (name: string): Field => ({ ...count(name), max: MAX_DECIMALS });
const key = (name: string): Field => ({ ...text(name), minLength: 1 });
const orderUsd = (name: string): Field => ({ ...amount(name), max: MAX_ORDER_USD });
const percent = (name: string): Field => ({ ...amount(name), share: 'percent' });

const CHAIN = text('chain', CHAINS);
const TIME = epoch('t');
const TIER = optional(text('tier', TIERS));
const EXCHANGE_TYPE = text('exchange_type', EXCHANGE_TYPES);
const MARKET_TYPE = optional(text('type', MARKET_TYPES));
const DIRECTION = text('direction', DIRECTIONS);
const HOUR: Field = past({ ...epoch('hour'), multipleOf: HOUR_S });
const CLOSED: Field = { name: 'closed', kind: 'boolean', required: false, absent: false };

/** In the order in which messages name them. */
export const FIELDS: Readonly<Record<Dataset, readonly Field[]>> = {
  tokens: [
    CHAIN,
    text('address'),
    optional(text('symbol')),
    optional(text('name')),
    optional({ ...text('icon'), maxLength: MAX_ICON_LENGTH }),
    optional(decimals('decimals')),
    optional(text('asset')),
    optional({ ...text('coverage', COVERAGES), absent: 'full' }),
    optional(amount('price_usd')),
    optional(amount('mcap')),
    optional(amount('liquidity_usd')),
    optional(past(epoch('last_refresh'))),
  ],
  snapshots: [
    CHAIN,
    text('address'),
    TIME,
    TIER,
    number('price_usd'),
    { name: 'markets', kind: 'any', required: true },
  ],
  cells: [
    CHAIN,
    text('address'),
    TIER,
    text('source'),
    EXCHANGE_TYPE,
    MARKET_TYPE,
    optional(text('market_address')),
    optional(text('pair')),
    TIME,
    number('price_usd'),
    number('bin'),
    number('support_usd'),
    number('resistance_usd'),
  ],
  levels: [
    CHAIN,
    text('address'),
    TIME,
    text('source'),
    EXCHANGE_TYPE,
    text('side', SIDES),
    number('price'),
    number('size'),
    TIER,
    MARKET_TYPE,
    optional(text('market_address')),
    optional(text('pair')),
    optional(number('quote_usd')),
    optional(number('price_usd')),
  ],
  dca_orders: [
    key('dca_address'),
    text('token_address'),
    DIRECTION,
    text('paired_symbol'),
    orderUsd('deposited_usd'),
    orderUsd('remaining_usd'),
    orderUsd('cycle_usd'),
    { ...amount('cycle_frequency'), min: undefined, above: 0 },
    epoch('next_cycle_at'),
    optional(amount('min_usd')),
    optional(amount('max_usd')),
    CLOSED,
  ],
  limit_orders: [
    key('order_address'),
    CHAIN,
    text('token_address'),
    DIRECTION,
    text('platform'),
    text('paired_symbol'),
    text('maker'),
    { ...amount('usd_price'), min: undefined, above: 0 },
    orderUsd('remaining_usd'),
    { ...amount('pct_complete'), max: 1, share: 'fraction' },
    past(epoch('created_at')),
    CLOSED,
  ],
  holders: [
    text('token_address'),
    past(TIME),
    { ...text('owner'), minLength: 1, maxLength: MAX_OWNER_LENGTH },
    { ...amount('balance'), max: MAX_BALANCE },
  ],
  dlmm_pools: [
    key('pubkey'),
    { ...count('bin_step'), min: 1, max: MAX_BIN_STEP_BP },
    { ...count('active_id'), min: -MAX_ACTIVE_ID, max: MAX_ACTIVE_ID },
    text('token_x_mint'),
    text('token_y_mint'),
    decimals('token_x_decimals'),
    decimals('token_y_decimals'),
    amount('reserve_x'),
    amount('reserve_y'),
    percent('base_fee_pct'),
    percent('dynamic_fee_pct'),
    count('num_positions'),
    count('num_wallets'),
  ],
  dlmm_hours: [key('pubkey'), HOUR, amount('fees_usd'), amount('volume_usd'), amount('tvl_usd')],
  token_hours: [CHAIN, text('address'), HOUR, amount('organic_volume_usd')],
};
