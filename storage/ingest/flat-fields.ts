/** The fields of the flat datasets, and how their rows are checked and stored. */
import {
  type FaultLog,
  isFields,
  isStorable,
  MAX_BIN_STEP_BP,
  MAX_DECIMALS,
  MAX_T_S,
  STORABLE,
} from '../../compute/ingest/fields.js';
import { canonicalAddress, chainOfAddress, CHAINS } from '../../compute/market.js';
import { MAX_OWNER_LENGTH } from '../../compute/holders/owners.js';
import { DIRECTIONS } from '../../compute/orders/dca-orders.js';
import { HOUR_S } from '../../compute/time.js';
import type { FlatRowValues } from '../bundle.js';
import { COVERAGES, type FlatDataset, type TokenRow } from '../contract.js';
import { FLAT_TABLES } from '../flat-tables.js';
import { number, optional, text, type WantedColumn } from './columns.js';

/** What a field of a flat dataset holds. */
interface FlatField extends WantedColumn {
  kind: 'text' | 'number' | 'boolean';
  isInteger?: true;
  /** The value of a field that is not required, if it is null or missing; by default null. */
  absent?: FlatValue;
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
}

type FlatValue = string | number | boolean | null;
type FlatRow = Record<string, FlatValue>;

/** Longest text of a field without a bound of its own. */
const MAX_TEXT_LENGTH = 200;

/** The known fields of a row, or null with its faults added to `faults`. */
export function readFlatRow(
  fields: readonly FlatField[],
  row: unknown,
  faults: FaultLog,
): FlatRow | null {
  if (!isFields(row)) {
    faults.add('json', 'must be an object');
    return null;
  }
  const before = faults.count;
  const values: FlatRow = {};
  for (const field of fields) {
    const given = row[field.name];
    const value =
      given === undefined || given === null ? absentValue(field) : checked(field, given);
    if (value === undefined) faults.add(field.name, expectation(field, given));
    else values[field.name] = value;
  }
  return faults.count === before ? values : null;
}

function absentValue(field: FlatField): FlatValue | undefined {
  return field.required ? undefined : (field.absent ?? null);
}

function checked(field: FlatField, value: unknown): FlatValue | undefined {
  switch (field.kind) {
    case 'text':
      return typeof value === 'string' && isText(field, value) ? value : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    case 'number':
      return typeof value === 'number' && isNumber(field, value) ? value : undefined;
  }
}

function isText({ minLength = 0, maxLength = MAX_TEXT_LENGTH, values }: FlatField, value: string) {
  if (value.length < minLength || value.length > maxLength || !isStorable(value)) return false;
  return values === undefined || values.includes(value);
}

function isNumber({ isInteger, min, max, above, multipleOf }: FlatField, value: number): boolean {
  if (!Number.isFinite(value)) return false;
  if (isInteger && !Number.isSafeInteger(value)) return false;
  if (multipleOf !== undefined && value % multipleOf !== 0) return false;
  return value >= (min ?? -Infinity) && value <= (max ?? Infinity) && value > (above ?? -Infinity);
}

function expectation(field: FlatField, given: unknown): string {
  if (field.kind === 'text' && typeof given === 'string' && !isStorable(given)) return STORABLE;
  return `must be ${expected(field)}${field.required ? '' : ' or null'}`;
}

function expected(field: FlatField): string {
  const { kind, isInteger, min, max, above, multipleOf, values, minLength } = field;
  if (values !== undefined) return `one of ${values.join(', ')}`;
  if (kind === 'boolean') return 'true or false';
  if (kind === 'text') {
    const longest = field.maxLength ?? MAX_TEXT_LENGTH;
    return minLength === undefined
      ? `a text of at most ${longest} characters`
      : `a text of ${minLength} to ${longest} characters`;
  }
  const what = isInteger ? 'an integer' : 'a number';
  if (field.share === 'fraction') return `a fraction from ${min} to ${max} (0.25 is 25%)`;
  if (field.share === 'percent') return `a percentage >= ${min} (0.25 is 0.25%)`;
  if (multipleOf !== undefined) return `${what} from ${min} to ${max}, a multiple of ${multipleOf}`;
  if (min !== undefined && max !== undefined) return `${what} from ${min} to ${max}`;
  if (above !== undefined) return `${what} > ${above}`;
  return min === undefined ? what : `${what} >= ${min}`;
}

/** Characters of an icon's URL. */
const MAX_ICON_LENGTH = 2048;
const amount = (name: string): FlatField => ({ ...number(name), min: 0 });
const count = (name: string): FlatField => ({ ...amount(name), isInteger: true });
const epoch = (name: string): FlatField => ({ ...count(name), time: 'whole', max: MAX_T_S });
const decimals = (name: string): FlatField => ({ ...count(name), max: MAX_DECIMALS });

export const TOKEN_FIELDS: readonly FlatField[] = [
  text('chain', CHAINS),
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
  optional(epoch('last_refresh')),
];

/** Greatest balance, with which the sum of a tier's balances stays finite. */
export const MAX_BALANCE = 1e300;
export const HOLDER_FIELDS: readonly FlatField[] = [
  text('token_address'),
  epoch('t'),
  { ...text('owner'), minLength: 1, maxLength: MAX_OWNER_LENGTH },
  { ...amount('balance'), max: MAX_BALANCE },
];

/** A valid row in its stored form, or null with its faults added. */
export function readTokenRow(row: unknown, faults: FaultLog): TokenRow | null {
  const values = readFlatRow(TOKEN_FIELDS, row, faults);
  if (values === null) return null;
  const token = values as unknown as TokenRow;
  if (chainOfAddress(token.address) !== token.chain) {
    faults.add('address', `must be an address of ${token.chain}`);
    return null;
  }
  return { ...token, address: canonicalAddress(token.address) };
}

/** Greatest distance of a pool's active bin from 0: bins beyond it have no price. */
const MAX_ACTIVE_ID = 2 ** 23;

const key = (name: string): FlatField => ({ ...text(name), minLength: 1 });
/** Keeps the sum over all orders of a store finite. */
const MAX_ORDER_USD = 1e30;
const orderUsd = (name: string): FlatField => ({ ...amount(name), max: MAX_ORDER_USD });
const percent = (name: string): FlatField => ({ ...amount(name), share: 'percent' });

const CHAIN = text('chain', CHAINS);
const DIRECTION = text('direction', DIRECTIONS);
const HOUR: FlatField = { ...epoch('hour'), multipleOf: HOUR_S };
const CLOSED: FlatField = { name: 'closed', kind: 'boolean', required: false, absent: false };

/** Adds faults of fields that contradict each other. */
type CheckRow = (row: FlatRow, faults: FaultLog) => void;

interface FlatReader {
  readonly fields: readonly FlatField[];
  /** Returns a valid row's columns and whether it is kept, or null after adding its faults. */
  readonly read: (row: unknown, faults: FaultLog) => FlatRowValues | null;
}

/** How rows of each dataset are read. */
export const FLAT_READERS: Readonly<Record<FlatDataset, FlatReader>> = {
  dca_orders: flatReader(
    'dca_orders',
    [
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
    (row, faults) => {
      checkMint('token_address', row, faults);
      checkRange(row, faults);
    },
  ),
  limit_orders: flatReader(
    'limit_orders',
    [
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
      epoch('created_at'),
      CLOSED,
    ],
    (row, faults) => checkAddress('token_address', row.chain, row, faults),
  ),
  dlmm_pools: flatReader(
    'dlmm_pools',
    [
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
    (row, faults) => {
      checkMint('token_x_mint', row, faults);
      checkMint('token_y_mint', row, faults);
    },
  ),
  dlmm_hours: flatReader('dlmm_hours', [
    key('pubkey'),
    HOUR,
    amount('fees_usd'),
    amount('volume_usd'),
    amount('tvl_usd'),
  ]),
  token_hours: flatReader(
    'token_hours',
    [CHAIN, text('address'), HOUR, amount('organic_volume_usd')],
    (row, faults) => checkAddress('address', row.chain, row, faults),
  ),
};

function flatReader(
  dataset: FlatDataset,
  fields: readonly FlatField[],
  check: CheckRow = () => undefined,
): FlatReader {
  const columns = Object.keys(FLAT_TABLES[dataset].columns);
  return {
    fields,
    read(given, faults) {
      const row = readFlatRow(fields, given, faults);
      if (row === null) return null;
      const before = faults.count;
      check(row, faults);
      if (faults.count > before) return null;
      return [...columns.map((name) => storedValue(row[name])), isKept(row)];
    },
  };
}

/** `0x` addresses of every kind are stored in lower case. */
function storedValue(value: FlatValue): FlatValue {
  return typeof value === 'string' ? canonicalAddress(value) : value;
}

/** A closed or used-up order has no effect anywhere: it is not kept. */
function isKept({ closed, remaining_usd: remaining }: FlatRow): boolean {
  return closed !== true && remaining !== 0;
}

function checkMint(field: string, row: FlatRow, faults: FaultLog): void {
  checkAddress(field, 'mainchain', row, faults);
}

function checkAddress(field: string, chain: FlatValue, row: FlatRow, faults: FaultLog): void {
  if (chainOfAddress(row[field] as string) === chain) return;
  faults.add(field, `must be an address of ${chain}`);
}

function checkRange({ min_usd: min, max_usd: max }: FlatRow, faults: FaultLog): void {
  if (min === null || max === null || min <= max) return;
  faults.add('min_usd', `must not be greater than max_usd, ${max}`);
}
