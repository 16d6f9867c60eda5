/** Arrow files of flat cells, with plain texts (as from most writers) or dictionaries. */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  Dictionary,
  Field,
  Float64,
  Int32,
  Int64,
  RecordBatch,
  RecordBatchFileWriter,
  Schema,
  Struct,
  Utf8,
  makeData,
  vectorFromArray,
  type Data,
  type DataType,
  type Vector,
} from 'apache-arrow';
import {
  PAGE_A,
  benchAddress,
  snapshotsOfCells,
  tokenHistory,
  type TokenHistory,
} from '../data/pages.js';
import type { Pages, Written } from './written.js';

type TextForm = 'plain' | 'dictionary';

const TEXT_NAMES = [
  'chain',
  'address',
  'tier',
  'source',
  'exchange_type',
  'type',
  'market_address',
  'pair',
] as const;
type TextName = (typeof TEXT_NAMES)[number];

/** Row `i` of a record batch holds `values[codes[i]]`. */
interface Coded {
  values: readonly (string | null)[];
  codes: Int32Array;
}

/** Every text of a column in the whole file, for its dictionary. */
type Dictionaries = Record<
  TextName,
  { type: Dictionary; vector: Vector<Utf8>; codes: Map<string, number> }
>;

/** One record batch per token. */
export async function arrowOfCells(file: string, pages: Pages, form: TextForm): Promise<Written> {
  let cells = 0;
  const dictionaries = form === 'dictionary' ? dictionariesOf(pages.tokens) : null;
  const batches = function* (): Generator<RecordBatch> {
    for (let token = 0; token < pages.tokens; token++) {
      const history = tokenHistory(PAGE_A, pages.snapshots, token);
      cells += history.run.bin.length;
      yield batchOf(history, dictionaries);
    }
  };
  const writer = RecordBatchFileWriter.writeAll(batches());
  await pipeline(Readable.from(writer), createWriteStream(file));
  return { rows: cells, cells, tokens: pages.tokens, items: cells };
}

function batchOf(history: TokenHistory, dictionaries: Dictionaries | null): RecordBatch {
  const { run } = history;
  const rows = run.bin.length;
  const snapshotOf = snapshotsOfCells(run);
  const column = (type: DataType, data: ArrayBufferView): Data =>
    makeData({ type, length: rows, nullCount: 0, data } as never);
  const doubles = (of: (i: number) => number): Data =>
    column(
      new Float64(),
      Float64Array.from({ length: rows }, (_, i) => of(i)),
    );
  const texts = textsOf(history);
  const columns: Record<string, Data> = {
    ...Object.fromEntries(
      TEXT_NAMES.map((name) => [
        name,
        dictionaries === null
          ? plainTexts(texts[name])
          : codedTexts(texts[name], dictionaries[name]),
      ]),
    ),
    t: column(
      new Int64(),
      BigInt64Array.from(snapshotOf, (s) => BigInt(run.t[s])),
    ),
    price_usd: doubles((i) => run.priceUsd[snapshotOf[i]]),
    bin: column(new Int32(), Int32Array.from(run.bin)),
    support_usd: doubles((i) => run.supportCents[i] / 100),
    resistance_usd: doubles((i) => run.resistanceCents[i] / 100),
  };
  const fields = Object.entries(columns).map(([name, data]) => new Field(name, data.type, true));
  const children = Object.values(columns);
  const data = makeData({ type: new Struct(fields), length: rows, nullCount: 0, children });
  return new RecordBatch(new Schema(fields), data as never);
}

function textsOf({ run, markets }: TokenHistory): Record<TextName, Coded> {
  const same = (value: string): Coded => ({
    values: [value],
    codes: new Int32Array(run.bin.length),
  });
  const codes = Int32Array.from(run.market);
  return {
    chain: same(run.chain),
    address: same(run.address),
    tier: same(run.tier),
    source: { values: markets.map(({ source }) => source), codes },
    exchange_type: { values: markets.map(({ exchangeType }) => exchangeType), codes },
    type: { values: markets.map(({ type }) => type), codes },
    market_address: { values: markets.map(({ address }) => address), codes },
    pair: { values: markets.map(({ pair }) => pair), codes },
  };
}

function plainTexts({ values, codes }: Coded): Data {
  const bytes = values.map((value) => Buffer.from(value ?? ''));
  const valueOffsets = new Int32Array(codes.length + 1);
  for (let i = 0; i < codes.length; i++)
    valueOffsets[i + 1] = valueOffsets[i] + bytes[codes[i]].length;
  const data = new Uint8Array(valueOffsets[codes.length]);
  for (let i = 0; i < codes.length; i++) data.set(bytes[codes[i]], valueOffsets[i]);
  const type = new Utf8();
  return makeData({
    type,
    length: codes.length,
    ...nullsOf({ values, codes }),
    valueOffsets,
    data,
  });
}

function codedTexts(coded: Coded, { type, vector, codes }: Dictionaries[TextName]): Data {
  const own = coded.values.map((value) => (value === null ? 0 : (codes.get(value) ?? 0)));
  const data = coded.codes.map((code) => own[code]);
  const length = data.length;
  return makeData({ type, length, ...nullsOf(coded), data, dictionary: vector } as never);
}

function nullsOf({ values, codes }: Coded): {
  nullCount: number;
  nullBitmap: Uint8Array | undefined;
} {
  if (!values.includes(null)) return { nullCount: 0, nullBitmap: undefined };
  const nullBitmap = new Uint8Array(Math.ceil(codes.length / 64) * 8);
  let nullCount = 0;
  codes.forEach((code, i) => {
    if (values[code] === null) nullCount++;
    else nullBitmap[i >> 3] |= 1 << (i & 7);
  });
  return { nullCount, nullBitmap };
}

function dictionariesOf(tokens: number): Dictionaries {
  const found = Object.fromEntries(TEXT_NAMES.map((name) => [name, new Set<string>()]));
  for (let token = 0; token < tokens; token++) {
    const texts = textsOf(tokenHistory(PAGE_A, 0, token));
    for (const name of TEXT_NAMES) {
      for (const value of texts[name].values) if (value !== null) found[name].add(value);
    }
    found.address.add(benchAddress(token));
  }
  const entries = TEXT_NAMES.map((name) => {
    const values = [...found[name]];
    const type = new Dictionary(new Utf8(), new Int32());
    const vector = vectorFromArray(values, new Utf8());
    return [name, { type, vector, codes: new Map(values.map((value, i) => [value, i])) }];
  });
  return Object.fromEntries(entries) as Dictionaries;
}
