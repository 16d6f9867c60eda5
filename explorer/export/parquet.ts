/** Columns as Parquet. */
import {
  type ColumnSource,
  parquetWriteBuffer,
  type SchemaElement,
  schemaFromColumnData,
} from 'hyparquet-writer';
import type { Field, FileColumn } from './columns.js';

/** The writer's own type of times does not say that they are in UTC. */
const UTC: Omit<SchemaElement, 'name'> = {
  type: 'INT64',
  repetition_type: 'OPTIONAL',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
};

export function parquetOf(columns: readonly FileColumn[]): Blob {
  const columnData = columns.map(({ name, values, kind }): ColumnSource => {
    if (kind === 'time') return { name, data: values.map(wholeOf) };
    const type = kind === 'whole' ? 'INT64' : typeOf(values);
    return { name, data: values.map(CONVERTED[type]), type, nullable: true };
  });
  const times = columns.filter(({ kind }) => kind === 'time');
  const schemaOverrides = Object.fromEntries(times.map(({ name }) => [name, { name, ...UTC }]));
  const schema = schemaFromColumnData({ columnData, schemaOverrides });
  // The schema has the types.
  const data = columnData.map(({ name, data }) => ({ name, data }));
  return new Blob([parquetWriteBuffer({ columnData: data, schema })], {
    type: 'application/vnd.apache.parquet',
  });
}

const wholeOf = (value: Field): bigint | null => (typeof value === 'number' ? BigInt(value) : null);
const asIs = (value: Field): Field => value;
const CONVERTED: Record<string, (value: Field) => Field | bigint> = {
  INT64: wholeOf,
  DOUBLE: asIs,
  BOOLEAN: asIs,
  // A column with several types becomes text.
  STRING: (value: Field): string | null => (value === null ? null : String(value)),
};

function typeOf(values: readonly Field[]): 'STRING' | 'DOUBLE' | 'BOOLEAN' {
  const isAll = (type: string): boolean =>
    values.every((value) => value === null || typeof value === type);
  if (values.every((value) => value === null)) return 'STRING';
  if (isAll('number')) return 'DOUBLE';
  return isAll('boolean') ? 'BOOLEAN' : 'STRING';
}
