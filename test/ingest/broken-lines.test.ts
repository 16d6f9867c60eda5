/** Blank and broken lines cost no more than others: an exception for each would cost a hundred times as much. */
import { describe, expect, it, vi } from 'vitest';
import { cellColumnsOfRows } from '../../compute/ingest/cell-columns.js';
import { binChunk, type Chunk, headsOfChunk } from '../../compute/ingest/chunk.js';
import { FaultLog, MAX_FAULTS } from '../../compute/ingest/fields.js';
import { columnsOfLines } from '../../compute/ingest/flat-cells.js';
import type { ComputePool } from '../../compute/pool.js';
import { withBasePrices } from '../../storage/ingest/base-prices.js';
import { CellCutter } from '../../storage/ingest/cell-chunks.js';
import { cellChunks, snapshotChunks } from '../../storage/ingest/chunks.js';
import { NO_MAPPING } from '../../storage/ingest/mapping.js';
import { type RowSource, rowBatches } from '../../storage/ingest/rows.js';
import type { LineChunk } from '../../storage/lines.js';
import { cells, lines, Scratch, snapshot } from '../support/ingest.js';

const T = 1_794_000_000;
const LINES = 20_000;
/** Two passes cut lines into chunks and read the heads of their rows; then they are binned. */
const MOST_FAILURES = 5 * MAX_FAULTS;

const scratch = Scratch.held();

const sourceOf = (file: string, mapping: RowSource['mapping'] = null): RowSource => ({
  file,
  format: 'ndjson',
  delimiter: ',',
  mapping,
  symbols: null,
});

/** How many texts `read` failed to parse. */
async function failures(read: () => Promise<unknown>): Promise<number> {
  const parse = vi.spyOn(JSON, 'parse');
  try {
    await read();
    return parse.mock.results.filter(({ type }) => type === 'throw').length;
  } finally {
    parse.mockRestore();
  }
}

async function* headed(chunks: AsyncIterable<Chunk>) {
  for await (const chunk of chunks) yield { chunk, heads: headsOfChunk(chunk) };
}

const inThisThread = {
  threads: 1,
  run: (_: string, lines: LineChunk) => Promise.resolve(columnsOfLines(lines)),
} as unknown as ComputePool;

/** Bins all chunks; returns the rows and the faults. */
async function binned(chunks: AsyncIterable<Chunk>): Promise<{ rows: number; faults: string[] }> {
  const read = { rows: 0, faults: [] as string[] };
  for await (const chunk of chunks) {
    const { rows, faults } = binChunk({ ...chunk, mode: 'merge' });
    read.rows += rows;
    read.faults.push(...faults.map(({ line, field }) => `${line}: ${field}`));
  }
  return read;
}

const READERS = {
  cells: { chunksOf: cellChunks, row: lines(cells(T)) },
  snapshots: { chunksOf: snapshotChunks, row: lines([snapshot(T)]) },
} as const;

describe.each(['cells', 'snapshots'] as const)('a file of %s', (dataset) => {
  const { chunksOf, row } = READERS[dataset];
  const merged = (file: string): Promise<{ rows: number; faults: string[] }> => {
    const chunks = () => chunksOf(sourceOf(file), new FaultLog(), inThisThread);
    const stored = (): Promise<never> => Promise.resolve(new Float64Array([NaN]) as never);
    return binned(withBasePrices(file, chunks(), chunks(), headed, stored));
  };

  it.each(['\n', '\r\n', '  \t\n'])('with blank lines %j parses none of them', async (blank) => {
    const file = scratch.file('.ndjson', `${blank.repeat(LINES)}${row}${blank.repeat(LINES)}`);
    let read: unknown;
    expect(await failures(async () => (read = await merged(file)))).toBe(0);
    expect(read).toEqual({ rows: row.split('\n').length - 1, faults: [] });
  });

  it.each(['x', '{a}', '{"chain":1}'])('of lines %j is given up after ten', async (broken) => {
    const file = scratch.file('.ndjson', `${row}${`${broken}\n`.repeat(LINES)}`);
    let faults: string[] = [];
    const count = await failures(async () => ({ faults } = await merged(file)));
    expect(count).toBeLessThanOrEqual(MOST_FAILURES);
    const first = row.split('\n').length;
    const named = faults.map((fault) => Number(fault.split(':')[0]));
    if (!broken.startsWith('{"')) {
      expect(named).toEqual(Array.from({ length: MAX_FAULTS }, (_, i) => first + i));
    }
  });
});

it('a batch without rows is no end of a snapshot of cells', () => {
  const cutter = new CellCutter('a file');
  const rows = cellColumnsOfRows(Array.from({ length: 40_000 }, () => cells(T)[0]));
  const batches = [rows, cellColumnsOfRows([]), rows];
  expect(batches.map((batch) => cutter.add(batch))).toEqual([null, null, null]);
  expect(cutter.finish()?.t).toHaveLength(80_000);
});

it('rows of other datasets are given up after ten broken lines', async () => {
  const file = scratch.file('.ndjson', 'x\n'.repeat(LINES));
  for (const mapping of [null, NO_MAPPING]) {
    const faults = new FaultLog();
    let rows = 0;
    const read = async (): Promise<void> => {
      for await (const batch of rowBatches(sourceOf(file, mapping), [], faults))
        rows += batch.length;
    };
    expect([await failures(read), rows]).toEqual([MAX_FAULTS, 0]);
    expect(faults.faults.map(({ line }) => line)).toEqual(
      Array.from({ length: MAX_FAULTS }, (_, i) => i + 1),
    );
  }
});
