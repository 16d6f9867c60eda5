/** The flat datasets that are tables of their own: their fields, and what makes a row of them. */
import type { FaultLog } from '../../compute/ingest/faults.js';
import { MAX_BIN_STEP_BP } from '../../compute/ingest/limits.js';
import { HOUR_S } from '../../compute/time.js';
import { canonicalAddress, chainOfAddress, CHAINS } from '../../compute/market.js';
import { DIRECTIONS } from '../../compute/orders/dca-orders.js';
import type { FlatRowValues } from '../bundle/frames.js';
import type { FlatDataset } from '../contract.js';
import { FLAT_TABLES } from '../flat-tables.js';
import { type FlatField, type FlatRow, type FlatValue, readFlatRow } from './flat-row.js';
import { MAX_DECIMALS, MAX_EPOCH_S } from './token-fields.js';

/** Greatest distance of a pool's active bin from 0: prices beyond are none. */
const MAX_ACTIVE_ID = 2 ** 23;

const text = (name: string): FlatField => ({ name, kind: 'text', nullable: false });
const key = (name: string): FlatField => ({ ...text(name), minLength: 1 });
const amount = (name: string): FlatField => ({ name, kind: 'number', nullable: false, min: 0 });
/** Sums over as many orders as a store holds stay numbers. */
const MAX_ORDER_USD = 1e30;
const orderUsd = (name: string): FlatField => ({ ...amount(name), max: MAX_ORDER_USD });
const priceOrNull = (name: string): FlatField => ({ ...amount(name), nullable: true });
const count = (name: string): FlatField => ({ ...amount(name), kind: 'integer' });
const epoch = (name: string): FlatField => ({ ...count(name), max: MAX_EPOCH_S });
const decimals = (name: string): FlatField => ({ ...count(name), max: MAX_DECIMALS });

const CHAIN: FlatField = { ...text('chain'), oneOf: CHAINS };
const DIRECTION: FlatField = { ...text('direction'), oneOf: DIRECTIONS };
const HOUR: FlatField = { ...epoch('hour'), multipleOf: HOUR_S };
const CLOSED: FlatField = { name: 'closed', kind: 'boolean', nullable: true, absent: false };

/** Says what is wrong with fields that are each right by themselves. */
type CheckRow = (row: FlatRow, faults: FaultLog) => void;

interface FlatReader {
  readonly fields: readonly FlatField[];
  /** A valid row's columns and whether it is kept, or null with its faults added. */
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
      priceOrNull('min_usd'),
      priceOrNull('max_usd'),
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
      { ...amount('pct_complete'), max: 1 },
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
      amount('base_fee_pct'),
      amount('dynamic_fee_pct'),
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
  const columns = FLAT_TABLES[dataset].columns;
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

/** `0x` addresses, whatever they are of, are stored in lower case. */
function storedValue(value: FlatValue): FlatValue {
  return typeof value === 'string' ? canonicalAddress(value) : value;
}

/** An order that is closed or used up has no effect anywhere: it is not kept. */
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
