/** How rows of the flat datasets are checked and stored. */
import { type FaultLog, isFields, isStorable, STORABLE } from '../../compute/ingest/fields.js';
import { canonicalAddress, chainOfAddress } from '../../compute/market.js';
import type { FlatRowValues } from '../bundle.js';
import type { FlatDataset, TokenRow } from '../contract.js';
import { FLAT_TABLES } from '../flat-tables.js';
import type { Dataset } from './datasets.js';
import { type Field, FIELDS } from './fields.js';

type FlatValue = string | number | boolean | null;
type FlatRow = Record<string, FlatValue>;

/** Longest text of a field without a bound of its own. */
const MAX_TEXT_LENGTH = 200;

/** The known fields of a row, or null with its faults added to `faults`. */
export function readFlatRow(dataset: Dataset, row: unknown, faults: FaultLog): FlatRow | null {
  if (!isFields(row)) {
    faults.add('json', 'must be an object');
    return null;
  }
  const before = faults.count;
  const values: FlatRow = {};
  for (const field of FIELDS[dataset]) {
    const given = row[field.name];
    const value =
      given === undefined || given === null ? absentValue(field) : checked(field, given);
    if (value === undefined) faults.add(field.name, expectation(field, given));
    else values[field.name] = value;
  }
  return faults.count === before ? values : null;
}

function absentValue(field: Field): FlatValue | undefined {
  return field.required ? undefined : (field.absent ?? null);
}

function checked(field: Field, value: unknown): FlatValue | undefined {
  switch (typeof value) {
    case 'string':
      return field.kind === 'text' && isText(field, value) ? value : undefined;
    case 'boolean':
      return field.kind === 'boolean' ? value : undefined;
    case 'number':
      return field.kind === 'number' && isNumber(field, value) ? value : undefined;
    default:
      return undefined;
  }
}

function isText({ minLength = 0, maxLength = MAX_TEXT_LENGTH, values }: Field, value: string) {
  if (value.length < minLength || value.length > maxLength || !isStorable(value)) return false;
  return values === undefined || values.includes(value);
}

function isNumber({ isInteger, min, max, above, multipleOf }: Field, value: number): boolean {
  if (!Number.isFinite(value)) return false;
  if (isInteger && !Number.isSafeInteger(value)) return false;
  if (multipleOf !== undefined && value % multipleOf !== 0) return false;
  return value >= (min ?? -Infinity) && value <= (max ?? Infinity) && value > (above ?? -Infinity);
}

function expectation(field: Field, given: unknown): string {
  if (field.kind === 'text' && typeof given === 'string' && !isStorable(given)) return STORABLE;
  return `must be ${expected(field)}${field.required ? '' : ' or null'}`;
}

function expected(field: Field): string {
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

/** A valid row in its stored form, or null with its faults added. */
export function readTokenRow(row: unknown, faults: FaultLog): TokenRow | null {
  const values = readFlatRow('tokens', row, faults);
  if (values === null) return null;
  const token = values as unknown as TokenRow;
  if (chainOfAddress(token.address) !== token.chain) {
    faults.add('address', `must be an address of ${token.chain}`);
    return null;
  }
  return { ...token, address: canonicalAddress(token.address) };
}

/** Adds faults of fields that contradict each other. */
type CheckRow = (row: FlatRow, faults: FaultLog) => void;

const CHECKS: Readonly<Partial<Record<FlatDataset, CheckRow>>> = {
  dca_orders(row, faults) {
    checkMint('token_address', row, faults);
    checkRange(row, faults);
  },
  limit_orders: (row, faults) => checkAddress('token_address', row.chain, row, faults),
  dlmm_pools(row, faults) {
    checkMint('token_x_mint', row, faults);
    checkMint('token_y_mint', row, faults);
  },
  token_hours: (row, faults) => checkAddress('address', row.chain, row, faults),
};

/** Returns a reader of rows: a valid row's columns and whether it is kept, or null after adding its faults. */
export function flatReader(dataset: FlatDataset) {
  const columns = Object.keys(FLAT_TABLES[dataset].columns);
  return (given: unknown, faults: FaultLog): FlatRowValues | null => {
    const row = readFlatRow(dataset, given, faults);
    if (row === null) return null;
    const before = faults.count;
    CHECKS[dataset]?.(row, faults);
    if (faults.count > before) return null;
    return [...columns.map((name) => storedValue(row[name])), isKept(row)];
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
