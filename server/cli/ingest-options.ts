/** The flags of `fathom ingest` that describe files whose layout differs from the dataset's. */
import { nearest } from '../../compute/nearest.js';
import { UsageError } from '../../storage/errors.js';
import { type Field, FIELDS } from '../../storage/ingest/fields.js';
import type { Dataset } from '../../storage/ingest/datasets.js';
import { addressField, type Mapping, NO_MAPPING } from '../../storage/ingest/mapping.js';
import { DECIMAL_MARKS, isNumberText } from '../../storage/ingest/texts.js';
import { TIME_UNITS } from '../../storage/ingest/time-units.js';
import { type Flags, type FlagValues, instant, oneOf } from './flags.js';

/** Notations of a tab, which is hard to pass through a shell. */
const TABS: readonly string[] = ['tab', String.raw`\t`];

export const MAPPING_FLAGS = {
  column: {
    repeated: true,
    placeholder: 'FIELD=NAME',
    meaning: 'reads a field of the dataset from the column NAME; once for each field',
  },
  set: {
    repeated: true,
    placeholder: 'FIELD=VALUE',
    meaning: 'gives a field the same value in every row; once for each field',
  },
  'time-unit': {
    placeholder: 'UNIT',
    meaning:
      'unit of the times; auto recognises the unit by the size of the number, and reads ISO texts; timestamps of Parquet and Arrow need none',
    default: 'whole seconds',
    values: TIME_UNITS,
  },
  coerce: {
    meaning: 'accepts numbers written as text, and buy, b or BID for bid and the like',
  },
  decimal: {
    placeholder: 'CHAR',
    meaning:
      "decimal mark of numbers; the other one, a space or ' may separate thousands; includes --coerce",
    values: DECIMAL_MARKS,
  },
  'token-column': {
    placeholder: 'NAME',
    meaning: "finds each row's token by the symbol in the column NAME, among the stored tokens",
  },
  delimiter: {
    placeholder: 'CHAR',
    meaning: 'CSV: character between the fields; the word tab stands for a tab',
    default: ',',
    read: delimiterOf,
  },
} as const satisfies Flags;

/**
 * The mapping that the flags describe; null if none of them is given.
 * @throws UsageError that names the flag and what was expected
 */
export function mappingOf(
  dataset: Dataset,
  flags: FlagValues<typeof MAPPING_FLAGS>,
): { mapping: Mapping | null; delimiter: string | undefined } {
  const { delimiter, decimal = null, 'token-column': tokenColumn, 'time-unit': timeUnit } = flags;
  const coerce = flags.coerce || decimal !== null;
  const fields = FIELDS[dataset];
  const columns = new Map(
    pairs('--column', flags.column, 'NAME', dataset, fields).map(({ field, value }) => [
      field.name,
      value,
    ]),
  );
  const constants = new Map(
    pairs('--set', flags.set, 'VALUE', dataset, fields).map(({ field, value }) => [
      field.name,
      constantOf(field, value),
    ]),
  );
  for (const name of constants.keys()) {
    if (columns.has(name)) throw new UsageError(`--column and --set: ${name} is given by both`);
  }
  if (tokenColumn !== undefined) checkTokenColumn(dataset, fields, columns, constants);
  const isMapped =
    columns.size + constants.size > 0 ||
    coerce ||
    tokenColumn !== undefined ||
    timeUnit !== undefined;
  const mapping = {
    columns,
    constants,
    coerce,
    decimal,
    timeUnit: timeUnit ?? NO_MAPPING.timeUnit,
    tokenColumn: tokenColumn ?? null,
  };
  return { mapping: isMapped ? mapping : null, delimiter };
}

interface Pair {
  field: Field;
  value: string;
}

function pairs(
  flag: '--column' | '--set',
  texts: readonly string[],
  what: string,
  dataset: Dataset,
  fields: readonly Field[],
): Pair[] {
  const seen = new Set<string>();
  return texts.map((text) => {
    const equals = text.indexOf('=');
    const name = text.slice(0, Math.max(equals, 0));
    const value = text.slice(equals + 1);
    if (name === '' || value === '') {
      throw new UsageError(`${flag}: expected FIELD=${what}, not ${text}`);
    }
    const field = fields.find((one) => one.name === name);
    const names = fields.map((one) => one.name);
    if (field === undefined) {
      throw new UsageError(
        `${flag} ${text}: ${dataset} has no field ${name}; did you mean ${nearest(name, names)}? Its fields: ${names.join(', ')}`,
      );
    }
    if (seen.has(name)) throw new UsageError(`${flag}: ${name} is given twice`);
    seen.add(name);
    return { field, value };
  });
}

function constantOf({ name, kind, time, values }: Field, text: string) {
  const from = `--set ${name}`;
  if (values !== undefined) return oneOf(text, from, values);
  if (time !== undefined) return Math.floor(instant(text, from));
  switch (kind) {
    case 'text':
    case 'scalar':
      return text;
    case 'number':
      if (isNumberText(text)) return Number(text);
      throw new UsageError(`${from}: expected a number, not ${text}`);
    case 'boolean':
      return oneOf(text, from, ['true', 'false']) === 'true';
    case 'any':
      throw new UsageError(`${from}: this field is a list and cannot be set`);
  }
}

function checkTokenColumn(
  dataset: Dataset,
  fields: readonly Field[],
  columns: ReadonlyMap<string, string>,
  constants: ReadonlyMap<string, unknown>,
): void {
  const field = addressField(fields);
  if (field === null) {
    throw new UsageError(`--token-column: ${dataset} has no address that a symbol could stand for`);
  }
  if (!columns.has(field) && !constants.has(field)) return;
  throw new UsageError(
    `--token-column: ${field} is given by --${columns.has(field) ? 'column' : 'set'} already`,
  );
}

function delimiterOf(text: string, from: string): string {
  if (TABS.includes(text)) return '\t';
  if (text.length === 1 && !/["\r\n]/.test(text)) return text;
  throw new UsageError(`${from}: expected one character (not a quote or a line end), or tab`);
}
