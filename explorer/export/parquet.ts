/** Columns as Parquet. */
import { parquetWriteBuffer } from 'hyparquet-writer';
import type { Field, FileColumn } from './columns.js';

export function parquetOf(columns: readonly FileColumn[]): Blob {
  const columnData = columns.map(({ name, values }) => {
    const type = typeOf(values);
    // A column with several types becomes text.
    const data =
      type === 'STRING' ? values.map((one) => (one === null ? null : String(one))) : values;
    return { name, data, type, nullable: true };
  });
  return new Blob([parquetWriteBuffer({ columnData })], { type: 'application/vnd.apache.parquet' });
}

function typeOf(values: readonly Field[]): 'STRING' | 'DOUBLE' | 'BOOLEAN' {
  const isAll = (type: string): boolean =>
    values.every((value) => value === null || typeof value === type);
  if (values.every((value) => value === null)) return 'STRING';
  if (isAll('number')) return 'DOUBLE';
  return isAll('boolean') ? 'BOOLEAN' : 'STRING';
}
