/** Writes rows of DuckDB as an Arrow file, with plain texts (as from most writers) or dictionaries. */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  type Data,
  Dictionary,
  Field,
  Float64,
  Int32,
  Int64,
  makeData,
  RecordBatch,
  RecordBatchFileWriter,
  Schema,
  Struct,
  Utf8,
  type Vector,
  vectorFromArray,
} from 'apache-arrow';
import type { MemoryDatabase } from '../../storage/duckdb/memory-database.js';

/** Rows per record batch, as in page A's token. */
const BATCH_ROWS = 99_936;

/** Texts of a column in the whole file, and their numbers. */
interface Texts {
  type: Dictionary;
  vector: Vector<Utf8>;
  codes: Map<unknown, number>;
}

export async function writeArrow(
  database: MemoryDatabase,
  sql: string,
  file: string,
  isCoded: boolean,
): Promise<void> {
  await database.run(`CREATE TABLE rows AS ${sql}`);
  const described = await database.rows('DESCRIBE rows');
  const columns = described.map(([name, type]) => [name as string, type as string] as const);
  const texts = new Map<string, Texts>();
  for (const [name, type] of isCoded ? columns : []) {
    if (type === 'VARCHAR') texts.set(name, await textsOf(database, name));
  }
  const batches = async function* (): AsyncGenerator<RecordBatch> {
    for (let from = 0; ; from += BATCH_ROWS) {
      const rows = await database.rows(
        `SELECT * FROM rows WHERE rowid >= ${from} AND rowid < ${from + BATCH_ROWS}`,
      );
      if (rows.length === 0) return;
      const children = columns.map(([name, type], c) => {
        const values = rows.map((row) => row[c]);
        const known = texts.get(name);
        return known === undefined ? dataOf(type, values) : coded(known, values);
      });
      const fields = children.map((data, c) => new Field(columns[c][0], data.type, true));
      const type = new Struct(fields);
      const data = makeData({ type, length: rows.length, nullCount: 0, children });
      yield new RecordBatch(new Schema(fields), data as never);
    }
  };
  const writer = RecordBatchFileWriter.writeAll(batches());
  await pipeline(Readable.from(await writer), createWriteStream(file));
}

async function textsOf(database: MemoryDatabase, name: string): Promise<Texts> {
  const found = await database.rows(
    `SELECT DISTINCT ${name} FROM rows WHERE ${name} IS NOT NULL ORDER BY 1`,
  );
  const values = found.map(([text]) => text as string);
  return {
    type: new Dictionary(new Utf8(), new Int32()),
    vector: vectorFromArray(values, new Utf8()),
    codes: new Map(values.map((value, i) => [value, i])),
  };
}

function dataOf(type: string, values: readonly unknown[]): Data {
  switch (type) {
    case 'VARCHAR':
      return vectorFromArray(values as string[], new Utf8()).data[0];
    case 'BIGINT':
      return makeData({
        type: new Int64(),
        data: BigInt64Array.from(values, (value) => BigInt(value as number)),
      });
    default:
      return makeData({ type: new Float64(), data: Float64Array.from(values as number[]) });
  }
}

function coded({ type, vector, codes }: Texts, values: readonly unknown[]): Data {
  const nullBitmap = new Uint8Array(Math.ceil(values.length / 64) * 8);
  const data = new Int32Array(values.length);
  let nullCount = 0;
  for (const [i, value] of values.entries()) {
    data[i] = codes.get(value) ?? 0;
    if (value === null) nullCount++;
    else nullBitmap[i >> 3] |= 1 << (i & 7);
  }
  const nulls = nullCount === 0 ? {} : { nullBitmap };
  return makeData({
    type,
    length: values.length,
    nullCount,
    ...nulls,
    data,
    dictionary: vector,
  } as never);
}
