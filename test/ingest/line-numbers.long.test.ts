/** Faults name the file's own lines, wherever its lines lie in the chunks that are read. */
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Dataset } from '../../storage/ingest/datasets.js';
import { dcaRow } from '../support/flat.js';
import { MINT, Scratch, snapshot } from '../support/ingest.js';
import type { Json } from '../support/tables.js';

const T = 1_794_000_000;
/** Bytes that a reader takes at once. */
const CHUNK_BYTES = 1024 * 1024;
/** Enough for several chunks. */
const FILE_BYTES = 3.2 * CHUNK_BYTES;
/** Most rows are short; some fill a good part of a chunk. */
const LONGEST_ROWS = [40, 40, 40, 600, 20_000, 400_000];
/** A row that ends this close to a border is made to end there, if they are aligned. */
const ALIGNED_BYTES = 60_000;
/** Fewer than a refusal lists. */
const FAULTY_ROWS = 9;

type Format = 'ndjson' | 'csv';

interface Rows {
  /** A sound row; no two rows contradict each other. */
  row: (i: number) => Json;
  /** What makes any row faulty, with one fault. */
  wrong: Json;
  formats: readonly Format[];
}

const cell = (i: number): Json => ({
  chain: 'mainchain',
  address: MINT,
  t: T + Math.floor(i / 7),
  tier: 'raw',
  price_usd: 2,
  source: 'Venue',
  exchange_type: 'DEX',
  type: null,
  market_address: null,
  pair: 'A/B',
  bin: i % 7,
  support_usd: 5,
  resistance_usd: 5,
});

const DATASETS: Readonly<Partial<Record<Dataset, Rows>>> = {
  snapshots: {
    row: (i) => snapshot(T + i),
    wrong: { price_usd: -1 },
    formats: ['ndjson'],
  },
  cells: { row: cell, wrong: { support_usd: -1 }, formats: ['ndjson', 'csv'] },
  levels: {
    row: (i) => ({
      chain: 'mainchain',
      address: MINT,
      t: T + Math.floor(i / 6),
      source: 'Venue',
      exchange_type: 'CEX',
      side: i % 2 === 0 ? 'bid' : 'ask',
      price: i % 2 === 0 ? 100 - (i % 6) : 101 + (i % 6),
      size: 1,
    }),
    wrong: { size: -1 },
    formats: ['ndjson', 'csv'],
  },
  tokens: {
    row: () => ({ chain: 'mainchain', address: MINT, symbol: 'A', decimals: 9 }),
    wrong: { decimals: 1.5 },
    formats: ['ndjson', 'csv'],
  },
  holders: {
    row: (i) => ({ token_address: MINT, t: T, owner: `owner${i}`, balance: 5 }),
    wrong: { balance: -1 },
    formats: ['ndjson', 'csv'],
  },
  dca_orders: {
    row: (i) => dcaRow({ dca_address: `order${i}` }),
    wrong: { cycle_frequency: 0 },
    formats: ['ndjson', 'csv'],
  },
};

const scratch = Scratch.held();

/** A file's lines, and the numbers of those on which a faulty row begins. */
interface Text {
  lines: string[];
  faulty: number[];
}

interface Shape {
  seed: number;
  isCrlf: boolean;
  isGzip: boolean;
  /** Whether every chunk ends with a line. */
  isAligned: boolean;
}

const SHAPES = fc.record({
  seed: fc.integer(),
  isCrlf: fc.boolean(),
  isGzip: fc.boolean(),
  isAligned: fc.boolean(),
});

/** Numbers from 0 to below 1. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function textOf({ row, wrong }: Rows, format: Format, shape: Shape): Text {
  const random = randomOf(shape.seed);
  const places = Array.from({ length: FAULTY_ROWS }, () => random() * FILE_BYTES).sort(
    (a, b) => a - b,
  );
  const names = [...Object.keys(row(0)), 'note'];
  const lines = format === 'csv' ? [names.join(',')] : [];
  const faulty: number[] = [];
  const end = shape.isCrlf ? 2 : 1;
  let bytes = lines.length > 0 ? lines[0].length + end : 0;
  for (let i = 0; bytes < FILE_BYTES; i++) {
    if (random() < 0.02) {
      lines.push('');
      bytes += end;
    }
    const isFaulty = faulty.length < places.length && places[faulty.length] <= bytes;
    const values = isFaulty ? { ...row(i), ...wrong } : row(i);
    const record = (note: string): string[] => {
      const all = { ...values, note };
      return (format === 'csv' ? csvRecord(names, all) : JSON.stringify(all)).split('\n');
    };
    const length = Math.floor(random() * LONGEST_ROWS[Math.floor(random() * LONGEST_ROWS.length)]);
    // A note in quotes may go on over several lines.
    const separator = format === 'csv' && random() < 0.5 ? '\n' : ' ';
    const note = `${separator}${'x'.repeat(length)}`;
    const own = record(note);
    const missing = CHUNK_BYTES - ((bytes + bytesOf(own, end)) % CHUNK_BYTES);
    const isLast = shape.isAligned && missing < ALIGNED_BYTES;
    const written = isLast ? record(note + 'x'.repeat(missing)) : own;
    if (isFaulty) faulty.push(lines.length + 1);
    lines.push(...written);
    bytes += bytesOf(written, end);
  }
  return { lines, faulty };
}

const bytesOf = (lines: readonly string[], end: number): number =>
  lines.reduce((sum, line) => sum + line.length + end, 0);

function csvRecord(names: readonly string[], row: Json): string {
  const quoted = (value: string | number | null): string => {
    const text = String(value ?? '');
    return /[",\n]/.test(text) ? `"${text}"` : text;
  };
  return names.map((name) => quoted(row[name] as string | number | null)).join(',');
}

describe('the lines of faults', () => {
  const forms = Object.entries(DATASETS).flatMap(([dataset, { formats }]) =>
    formats.flatMap((format) =>
      [[], ['--coerce']].map((flags) => ({ dataset: dataset as Dataset, format, flags })),
    ),
  );
  const merged = (['snapshots', 'cells'] as const).map((dataset) => ({
    dataset,
    format: 'ndjson' as const,
    flags: [],
    merge: true,
  }));

  it.each([...forms, ...merged])('of %o are those of the file', async (form) => {
    const { dataset, format, ...options } = form;
    const rows = DATASETS[dataset]!;
    const file = scratch.place(`lines.${format}`);
    const property = async (shape: Shape): Promise<void> => {
      const { lines, faulty } = textOf(rows, format, shape);
      const bytes = Buffer.from(lines.join(shape.isCrlf ? '\r\n' : '\n'));
      writeFileSync(file, shape.isGzip ? gzipSync(bytes, { level: 1 }) : bytes);
      const faults = await scratch.faultsOf(dataset, file, options);
      const [field] = Object.keys(rows.wrong);
      expect(faults.map((fault) => fault.split(': ', 2).join(': '))).toEqual(
        faulty.map((line) => `${line}: ${field}`),
      );
    };
    await fc.assert(fc.asyncProperty(SHAPES, property), { numRuns: 4 });
  });
});
