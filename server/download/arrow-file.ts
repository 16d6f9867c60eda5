/** Arrow: an IPC file with a row per cell, texts by dictionary. */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Data, DataType, Field } from 'apache-arrow';
import { binFactor } from '../../compute/ladder.js';
import {
  dictionaryData,
  dictionaryType,
  distinctTexts,
  plainData,
  recordBatch,
  UTC_MILLISECONDS,
  utf8Vector,
} from '../../compute/replay/arrow-columns.js';
import { readLineBatches } from '../../storage/lines.js';
import { fileColumns, partColumns, partPage } from './columnar.js';
import { dataAddress, slotColumns, type PageWriter } from './formats.js';
import type { Totals } from './totals.js';
import { arrow } from '../../compute/segment/arrow.js';

const { Float64, Int16, RecordBatchFileWriter, Schema, Uint32 } = arrow;

export const arrowWriter: PageWriter = {
  page: partPage,
  async convert(totals, part, to) {
    const columns = arrowColumns(totals);
    const schema = new Schema(columns.map(({ field }) => field));
    const writer = new RecordBatchFileWriter();
    const written = pipeline(Readable.from(writer), createWriteStream(to));
    // A failure is thrown below, once nothing more is written.
    written.catch(() => undefined);
    try {
      for await (const rows of rowBatches(part)) {
        const cells = columns.map(({ data }) => data(rows));
        writer.write(recordBatch(schema, rows.length, cells));
      }
      writer.finish();
    } catch (error) {
      writer.abort(error);
      // It fails with an object that holds the error.
      await written.catch(() => undefined);
      throw error;
    }
    await written;
  },
};

const BATCH_ROWS = 65_536;

/** Fields of the part file's lines, a batch at a time. */
type Rows = readonly string[][];

async function* rowBatches(part: string): AsyncIterable<Rows> {
  let rows: string[][] = [];
  for await (const lines of readLineBatches(part)) {
    for (const { text } of lines) {
      rows.push(text.split(','));
      if (rows.length < BATCH_ROWS) continue;
      yield rows;
      rows = [];
    }
  }
  yield rows;
}

interface ArrowColumn {
  field: Field;
  data: (rows: Rows) => Data;
}

function arrowColumns(totals: Totals): ArrowColumn[] {
  const names = partColumns(totals);
  const [t, tier, priceUsd] = ['t', 'tier', 'price_usd'].map((name) => names.indexOf(name));
  const [slot, bin] = ['slot', 'bin'].map((name) => names.indexOf(name));
  const slots = new Map(slotColumns(totals).map((column) => [column.name, column]));
  let dictionaries = 0;
  /** A column of texts; `index` chooses each row's from the list. */
  const texts = (
    name: string,
    list: readonly (string | null)[],
    index: (row: string[]) => number,
    nullable = false,
  ): ArrowColumn => {
    const { values, codes } = distinctTexts(list);
    // All batches share one object, which the file then stores once.
    const dictionary = utf8Vector(values);
    const type = dictionaryType(dictionaries++);
    const codesOf = (rows: Rows) => Int32Array.from(rows, (row) => codes[index(row)]);
    return {
      field: new arrow.Field(name, type, nullable),
      data: (rows) => dictionaryData(type, codesOf(rows), dictionary),
    };
  };
  const numbers = (
    name: string,
    type: DataType,
    values: (rows: Rows) => Parameters<typeof plainData>[1],
  ): ArrowColumn => ({
    field: new arrow.Field(name, type, false),
    data: (rows) => plainData(type, values(rows)),
  });
  const doubles = (name: string, value: (row: string[]) => number): ArrowColumn =>
    numbers(name, new Float64(), (rows) => Float64Array.from(rows, value));
  return fileColumns(totals).map((name): ArrowColumn => {
    switch (name) {
      case 'chain':
        return texts(name, [totals.head.chain], () => 0);
      case 'address':
        return texts(name, [dataAddress(totals)], () => 0);
      case 'tier':
        return texts(name, totals.tiers, (row) => totals.tiers.indexOf(row[tier]));
      case 't':
        return numbers(name, new Uint32(), (rows) => Uint32Array.from(rows, (row) => +row[t]));
      case 'timestamp':
        return numbers(name, UTC_MILLISECONDS, (rows) =>
          BigInt64Array.from(rows, (row) => BigInt(row[t]) * 1000n),
        );
      case 'bin':
        return numbers(name, new Int16(), (rows) => Int16Array.from(rows, (row) => +row[bin]));
      case 'price':
        return doubles(name, (row) => +row[priceUsd] * binFactor(+row[bin]));
      case 'price_usd':
      case 'support_usd':
      case 'resistance_usd': {
        const at = names.indexOf(name);
        return doubles(name, (row) => +row[at]);
      }
      default: {
        const { values = [], nullable = false } = slots.get(name) ?? {};
        return texts(name, values, (row) => +row[slot], nullable);
      }
    }
  });
}
