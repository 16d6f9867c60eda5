/** Recognises files that are not rows of the dataset that a command names. */
import { isFields } from '../../compute/ingest/fields.js';
import { InputError } from '../errors.js';
import { readLineBatches } from '../lines.js';
import { columnsOf } from './dataset-columns.js';
import { type Dataset, DATASETS } from './datasets.js';
import { linesOfDocument } from './hints.js';
import { NO_MAPPING } from './mapping.js';
import { refusal } from './prepared.js';
import type { RowSource } from './rows.js';

/** Fields that files of a dataset have. Most other datasets have what rows of tokens need. */
function marksOf(dataset: Dataset): readonly string[] {
  const needed = columnsOf(dataset).filter(({ required }) => required);
  return [...needed.map(({ name }) => name), ...(dataset === 'tokens' ? ['symbol'] : [])];
}

/**
 * The other dataset that the columns of a file are of, if there is one. Rows of several datasets would pass for
 * tokens, and take the names of the stored ones away.
 */
export function otherDataset(named: Dataset, columns: readonly string[]): Dataset | null {
  const own = columnsOf(named).map(({ name }) => name);
  const [other, ...more] = DATASETS.filter(
    (one) => one !== named && marksOf(one).every((name) => columns.includes(name)),
  );
  if (other === undefined || more.length > 0) return null;
  const fields = columnsOf(other).map(({ name }) => name);
  const hasOwn = columns.some((name) => own.includes(name) && !fields.includes(name));
  return hasOwn ? null : other;
}

/**
 * The source, which refuses a file of another dataset, unless flags say which column is what.
 * @param readsAgain whether the file can be read more than once
 * @throws FaultyFileError where the first line of NDJSON is of another dataset, or not a row
 */
export async function ofDataset(
  dataset: Dataset,
  source: RowSource,
  readsAgain: boolean,
): Promise<RowSource> {
  const { file, format } = source;
  const { columns, constants, tokenColumn } = source.mapping ?? NO_MAPPING;
  const isMapped = columns.size + constants.size > 0 || tokenColumn !== null;
  const onColumns = (names: readonly string[], line = 1): void => {
    const other = isMapped ? null : otherDataset(dataset, names);
    if (other === null) return;
    const message = `the file is of ${other}, not of ${dataset}: use fathom ingest ${other}`;
    throw refusal(file, [{ line, field: 'dataset', message }]);
  };
  if (format === 'ndjson' && readsAgain) {
    const { line, text } = await firstLine(file);
    const message = linesOfDocument(text, file);
    if (message !== null) throw refusal(file, [{ line, field: 'json', message }]);
    onColumns(namesIn(text), line);
  }
  return { ...source, onColumns };
}

/** The first line with a text. What cannot be read is reported where the rows are read. */
async function firstLine(file: string): Promise<{ line: number; text: string }> {
  try {
    for await (const lines of readLineBatches(file)) {
      const first = lines.find(({ text }) => text.trim() !== '');
      if (first !== undefined) return first;
    }
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
  }
  return { line: 1, text: '' };
}

function namesIn(line: string): string[] {
  try {
    const row: unknown = JSON.parse(line);
    return isFields(row) ? Object.keys(row) : [];
  } catch {
    // The line becomes a fault where the rows are read.
    return [];
  }
}
