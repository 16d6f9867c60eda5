/** Columns as CSV by RFC 4180; a null is an empty field. */
import type { Field, FileColumn } from './columns.js';

export function csvOf(columns: readonly FileColumn[]): Blob {
  const lines = [columns.map(({ name }) => fieldText(name)).join(',')];
  const rows = columns[0]?.values.length ?? 0;
  for (let at = 0; at < rows; at++) {
    lines.push(columns.map(({ values, kind }) => fieldText(values[at], kind)).join(','));
  }
  return new Blob([lines.join('\r\n'), '\r\n'], { type: 'text/csv' });
}

function fieldText(value: Field, kind?: FileColumn['kind']): string {
  if (kind === 'time' && typeof value === 'number') return new Date(value).toISOString();
  const text = value === null ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
