/**
 * Flat cells of Parquet files. DuckDB compares each row's texts with those of the row before and hands
 * on a row's texts only where one of them changes: copying eight texts a row would cost more than
 * everything else that is done to it.
 */
import type { ResultChunk } from '../duckdb/statements.js';
import {
  CELL_COLUMNS,
  CELL_NUMBERS,
  CELL_TEXTS,
  cellNumbers,
  cellTexts,
  type CellBatch,
} from './cell-batch.js';
import type { FoundColumn } from './columns.js';
import { parquetSource, quoted, type FoundColumns } from './parquet-file.js';

/** Distinct rows of texts that are remembered. */
const MAX_KNOWN_TEXTS = 16_384;
/** Not a text: whatever a column of another kind holds is a fault, by its being there alone. */
const NO_TEXT = '0';

/** @throws InputError as parquetRows does */
export async function* parquetCells(file: string): AsyncGenerator<CellBatch> {
  yield* parquetSource(file, CELL_COLUMNS, async function* ({ reader, source, found }) {
    const known = new KnownTexts();
    for await (const chunk of reader.streamChunks(queryOf(source, found))) {
      yield batchOf(chunk, known);
    }
  });
}

/** The column, behind those of numbers, that is 1 where a row's texts are not those of the row before. */
const CHANGES = CELL_NUMBERS.length;
/** The texts then, as a JSON list. */
const TEXTS = CHANGES + 1;

function queryOf(source: string, found: FoundColumns): string {
  const columns = CELL_COLUMNS.filter(({ name }) => found.has(name)).map(({ name }) =>
    quoted(name),
  );
  const texts = CELL_TEXTS.filter((name) => found.has(name)).map(quoted);
  const numbers = CELL_NUMBERS.map((name) => numberOf(name, found));
  const list = `json_array(${CELL_TEXTS.map((name) => textOf(name, found)).join(', ')})::VARCHAR`;
  // Of two neighbours that differ, one pair in 10^19 has the same hash. Comparing the texts themselves
  // would double the time that reading takes.
  const changes = 'texts_hash IS DISTINCT FROM lag(texts_hash) OVER ()';
  return `SELECT ${numbers.join(', ')}, CAST(${changes} AS DOUBLE), CASE WHEN ${changes} THEN ${list} END
    FROM (SELECT ${columns.join(', ')}, hash(${texts.join(', ')}) AS texts_hash FROM ${source})`;
}

/** A number that is never null, as a double. */
function numberOf(name: string, found: FoundColumns): string {
  const missing = found.get(name)?.kind !== 'number';
  return missing ? `'nan'::DOUBLE` : `coalesce(CAST(${quoted(name)} AS DOUBLE), 'nan'::DOUBLE)`;
}

function textOf(name: string, found: FoundColumns): string {
  switch (kindOf(found.get(name))) {
    case 'none':
      return 'NULL';
    case 'text':
      return `CAST(${quoted(name)} AS VARCHAR)`;
    case 'other':
      return `CASE WHEN ${quoted(name)} IS NOT NULL THEN ${NO_TEXT} END`;
  }
}

function kindOf(column: FoundColumn | undefined): 'none' | 'text' | 'other' {
  if (column === undefined || column.kind === 'null') return 'none';
  return column.kind === 'text' ? 'text' : 'other';
}

function batchOf(chunk: ResultChunk, known: KnownTexts): CellBatch {
  const { rowCount: rows } = chunk;
  const changes = chunk.doubles(CHANGES);
  const list = chunk.reader(TEXTS) as (row: number) => string;
  const starts = new Uint32Array(rows);
  const codes = new Uint32Array(rows);
  known.begin();
  let runs = 0;
  for (let row = 0; row < rows; row++) {
    const isChanged = changes[row] === 1;
    if (!isChanged && row > 0) continue;
    starts[runs] = row;
    codes[runs++] = isChanged ? known.code(list(row)) : known.again();
  }
  const { texts, size } = known;
  return {
    rows,
    numbers: cellNumbers((name) => chunk.doubles(CELL_NUMBERS.indexOf(name))),
    starts: starts.subarray(0, runs),
    texts: cellTexts((_, i) => ({ codes, size, value: (code) => texts[code][i] })),
  };
}

type Texts = readonly unknown[];

/** Lists of texts, each parsed once, numbered within a batch. */
class KnownTexts {
  /** Those of the batch, by their number. */
  texts: Texts[] = [];
  private readonly known = new Map<string, { texts: Texts; batch: number; code: number }>();
  private batch = 0;
  private last = '';

  /** Begins another batch. */
  begin(): void {
    this.batch++;
    this.texts = [];
    if (this.known.size > MAX_KNOWN_TEXTS) this.known.clear();
  }

  get size(): number {
    return this.texts.length;
  }

  /** The number of the list that came last, in the batch before. */
  again(): number {
    return this.code(this.last);
  }

  code(list: string): number {
    this.last = list;
    let entry = this.known.get(list);
    if (entry === undefined) {
      entry = { texts: JSON.parse(list) as Texts, batch: 0, code: 0 };
      this.known.set(list, entry);
    }
    if (entry.batch !== this.batch) {
      entry.batch = this.batch;
      entry.code = this.texts.push(entry.texts) - 1;
    }
    return entry.code;
  }
}
