/**
 * Arrow: an IPC file with a record batch a page and a row a cell; texts are dictionary-encoded. The
 * dictionaries, which grow from page to page, come after the batches, as the file format allows.
 */
import {
  Dictionary,
  Field,
  Float64,
  Int16,
  Int32,
  MessageHeader,
  RecordBatch,
  Schema,
  Struct,
  Uint32,
  Utf8,
  makeData,
  vectorFromArray,
  type Data,
  type DataType,
} from 'apache-arrow';
import { FILE_START, fileEnd, messagesOf } from './arrow-messages.js';
import { encodedColumns, type EncodedColumn } from './arrow-dictionaries.js';
import { slotIndexes } from './columns.js';
import type { RemoteSnapshot } from './page.js';
import type { Totals } from './totals.js';
import { isFirst, type Chunk, type PageWriter } from './writer.js';

export const arrowWriter: PageWriter = {
  *page(page, totals): Iterable<Chunk> {
    const messages = messagesOf(batchOf(page.snapshots, totals, false));
    if (isFirst(totals)) {
      yield FILE_START;
      yield* messages.filter(({ kind }) => kind === MessageHeader.Schema).map(({ bytes }) => bytes);
    }
    yield* messages
      .filter(({ kind }) => kind === MessageHeader.RecordBatch)
      .map(({ bytes }) => bytes);
  },
  async *end(totals, part): AsyncIterable<Chunk> {
    const noRows = batchOf([], totals, true);
    const dictionaries = messagesOf(noRows)
      .filter(({ kind }) => kind === MessageHeader.DictionaryBatch)
      .map(({ bytes }) => bytes);
    yield await fileEnd(part, noRows.schema, dictionaries);
  },
};

/** A page's rows: of each, its snapshot's number on the page, and its market or group. */
interface Rows {
  length: number;
  snapshot: Int32Array;
  slot: Int32Array;
}

interface Column {
  field: Field;
  data: Data;
}

/** @param withTexts whether dictionaries hold their texts: batches are written without */
function batchOf(
  snapshots: readonly RemoteSnapshot[],
  totals: Totals,
  withTexts: boolean,
): RecordBatch {
  const rows = rowsOf(snapshots, totals);
  const texts = encodedColumns(totals).map((encoded, id) =>
    dictionaryColumn(encoded, id, textCodes(encoded, snapshots, totals, rows), withTexts),
  );
  const tierAt = texts.findIndex(({ field }) => field.name === 'tier');
  const columns = [
    ...texts.slice(0, tierAt),
    numbers('t', new Uint32(), perRow(rows, snapshots, new Uint32Array(rows.length), 't')),
    texts[tierAt],
    numbers('price_usd', new Float64(), perRow(rows, snapshots, doubles(rows), 'price_usd')),
    ...texts.slice(tierAt + 1),
    numbers('bin', new Int16(), joined(snapshots, new Int16Array(rows.length), 'bin')),
    numbers('support_usd', new Float64(), joined(snapshots, doubles(rows), 'support_usd')),
    numbers('resistance_usd', new Float64(), joined(snapshots, doubles(rows), 'resistance_usd')),
  ];
  const schema = new Schema(columns.map(({ field }) => field));
  const struct = makeData({
    type: new Struct(schema.fields),
    length: rows.length,
    nullCount: 0,
    children: columns.map(({ data }) => data),
  });
  return new RecordBatch(schema, struct as never);
}

function rowsOf(snapshots: readonly RemoteSnapshot[], totals: Totals): Rows {
  const length = snapshots.reduce((sum, { bin }) => sum + bin.length, 0);
  const rows = { length, snapshot: new Int32Array(length), slot: new Int32Array(length) };
  let at = 0;
  snapshots.forEach((snapshot, s) => {
    const end = at + snapshot.bin.length;
    rows.snapshot.fill(s, at, end);
    rows.slot.set(slotIndexes(snapshot, totals) ?? [], at);
    at = end;
  });
  return rows;
}

function textCodes(
  { by, codes }: EncodedColumn,
  snapshots: readonly RemoteSnapshot[],
  totals: Totals,
  rows: Rows,
): Int32Array {
  switch (by) {
    case 'window':
      return new Int32Array(rows.length).fill(codes[0]);
    case 'tier': {
      const tiers = snapshots.map(({ tier }) => codes[totals.tiers.indexOf(tier)]);
      return rows.snapshot.map((s) => tiers[s]);
    }
    case 'slot':
      return rows.slot.map((slot) => codes[slot]);
  }
}

function dictionaryColumn(
  { name, nullable, distinct }: EncodedColumn,
  id: number,
  codes: Int32Array,
  withTexts: boolean,
): Column {
  const type = new Dictionary(new Utf8(), new Int32(), id, false);
  const dictionary = vectorFromArray(withTexts ? distinct : [], new Utf8());
  const { length } = codes;
  const nullCount = codes.reduce((count, code) => (code < 0 ? count + 1 : count), 0);
  const validity = nullCount === 0 ? {} : { nullBitmap: validityBitmap(codes) };
  const data = codes.map((code) => Math.max(code, 0));
  return {
    field: new Field(name, type, nullable),
    data: makeData({ type, length, nullCount, ...validity, data, dictionary } as never),
  };
}

/** Bit i, counted from the lowest of each byte, is set where row i has a value. */
function validityBitmap(codes: Int32Array): Uint8Array {
  const bitmap = new Uint8Array((codes.length + 7) >> 3);
  codes.forEach((code, i) => {
    if (code >= 0) bitmap[i >> 3] |= 1 << (i & 7);
  });
  return bitmap;
}

function numbers(name: string, type: DataType, data: ArrayLike<number>): Column {
  const filled = makeData({ type, length: data.length, nullCount: 0, data } as never);
  return { field: new Field(name, type, false), data: filled };
}

function doubles({ length }: Rows): Float64Array {
  return new Float64Array(length);
}

/** Repeats what each snapshot says for its rows. */
function perRow<T extends Uint32Array | Float64Array>(
  rows: Rows,
  snapshots: readonly RemoteSnapshot[],
  column: T,
  name: 't' | 'price_usd',
): T {
  for (let i = 0; i < rows.length; i++) column[i] = snapshots[rows.snapshot[i]][name];
  return column;
}

function joined<T extends Int16Array | Float64Array>(
  snapshots: readonly RemoteSnapshot[],
  column: T,
  name: 'bin' | 'support_usd' | 'resistance_usd',
): T {
  let at = 0;
  for (const snapshot of snapshots) {
    column.set(snapshot[name], at);
    at += snapshot.bin.length;
  }
  return column;
}
