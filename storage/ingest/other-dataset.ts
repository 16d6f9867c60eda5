/** Recognises files that are not rows of the dataset that a command names. */
import { isFields } from '../../compute/ingest/fields.js';
import { InputError } from '../errors.js';
import { readLineBatches } from '../lines.js';
import { type Dataset, DATASETS } from './datasets.js';
import { FIELDS } from './fields.js';
import { linesOfDocument, listsOfLevels, otherFormat, wideBook } from './hints.js';
import { NO_MAPPING } from './mapping.js';
import { refusal } from './prepared.js';
import type { RowSource } from './rows.js';

/** Fields that identify files of a dataset. The fields that rows of `tokens` need do not identify them: most datasets have them. */
function identifyingFields(dataset: Dataset): readonly string[] {
  const needed = FIELDS[dataset].filter(({ required }) => required);
  return [...needed.map(({ name }) => name), ...(dataset === 'tokens' ? ['symbol'] : [])];
}

/**
 * The other dataset to which a file's columns belong; null if there is none. Rows of several datasets would pass as
 * tokens, and erase the names of stored tokens.
 */
export function otherDataset(named: Dataset, columns: readonly string[]): Dataset | null {
  const own = FIELDS[named].map(({ name }) => name);
  const [other, ...more] = DATASETS.filter(
    (one) => one !== named && identifyingFields(one).every((name) => columns.includes(name)),
  );
  if (other === undefined || more.length > 0) return null;
  const fields = FIELDS[other].map(({ name }) => name);
  const hasOwn = columns.some((name) => own.includes(name) && !fields.includes(name));
  return hasOwn ? null : other;
}

/**
 * The source, made to refuse a file of another dataset, unless flags name the columns of fields.
 * @param readsAgain whether the file can be read more than once
 * @throws FaultyFileError where the first line is of another format, or of NDJSON and of another dataset or not a row
 */
export async function refusingOthers(
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
    const message = `the file holds ${other}, not ${dataset}: use fathom ingest ${other}`;
    throw refusal(file, [{ line, field: 'dataset', message }]);
  };
  if ((format === 'ndjson' || format === 'csv') && readsAgain) {
    const { line, text } = await firstLine(file);
    const names = format === 'ndjson' ? namesIn(text) : [];
    const message =
      otherFormat(text, format) ??
      (format === 'ndjson' ? linesOfDocument(text, file) : null) ??
      (dataset === 'levels' ? listsOfLevels(names, file) : null) ??
      (dataset === 'levels' && !isMapped && !names.includes('price') ? wideBook(names) : null);
    const field = format === 'csv' ? 'csv' : 'json';
    if (message !== null) throw refusal(file, [{ line, field, message }]);
    onColumns(names, line);
  }
  return { ...source, onColumns };
}

/** The first line that is not blank. The reader of the rows reports what cannot be read. */
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
    // The reader of the rows reports the line.
    return [];
  }
}
