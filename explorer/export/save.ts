/** Writes columns into a file that the browser saves. */
import type { FileColumn } from './columns.js';

export type FileFormat = 'csv' | 'parquet';

/** @param name without its extension */
export async function saveColumns(
  name: string,
  format: FileFormat,
  columns: readonly FileColumn[],
): Promise<void> {
  saveBlob(`${name}.${format}`, await blobOf(format, columns));
}

export function saveBlob(name: string, blob: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser has read the blob by the end of this turn.
  setTimeout(() => URL.revokeObjectURL(link.href));
}

async function blobOf(format: FileFormat, columns: readonly FileColumn[]): Promise<Blob> {
  if (format === 'csv') return (await import('./csv.js')).csvOf(columns);
  return (await import('./parquet.js')).parquetOf(columns);
}
