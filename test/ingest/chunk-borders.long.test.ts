/** Files of many chunks: nothing is lost, doubled or torn at the end of a chunk. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { RecordBatchFileWriter, Table, tableFromIPC } from 'apache-arrow';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/folders.js';
import { duckdb, faultsOf, ingest, lines, MINT, storedSnapshots } from '../support/ingest.js';
import { type CellRow, wideCells, writeCellsArrow } from '../support/tables.js';

const EVM = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const T = 1_794_000_000;
/** 34,800 rows: chunks of lines have 1 MiB, those of columns 32,768 rows. */
const SNAPSHOTS = 60;
const MARKETS = 4;
const BINS = 145;

const directory = temporaryDirectory();
const file = (name: string) => path.join(directory, name);

/** Snapshots of two tokens in turn; spellings and blank lines vary within a snapshot. */
function* snapshots(): Generator<CellRow[]> {
  for (let s = 0; s < SNAPSHOTS; s++) {
    const rows = wideCells(s % 2 === 0 ? MINT : EVM, T + s, MARKETS);
    for (const [i, row] of rows.entries()) {
      if (i % 3 === 1) row.address = String(row.address).replace('0xA0b', '0Xa0b');
      if (i % 5 === 1) row.tier = null;
    }
    yield rows;
  }
}

const ROWS = SNAPSHOTS * MARKETS * BINS;

beforeAll(async () => {
  const all = [...snapshots()];
  // Blank lines within snapshots too: they belong to none.
  const text = (rows: CellRow[]) => `${lines(rows.slice(0, 300))} \r\n${lines(rows.slice(300))}`;
  writeFileSync(file('a.ndjson'), all.map(text).join('\n'));
  await duckdb(
    `CREATE TABLE cells AS SELECT * FROM read_json('${file('a.ndjson')}')`,
    `COPY cells TO '${file('a.csv')}' (HEADER)`,
    `COPY cells TO '${file('a.parquet')}' (ROW_GROUP_SIZE 10000)`,
  );
  const whole = file('whole.arrow');
  writeCellsArrow(whole, all.flat(), { form: 'file', dictionary: true, t: 'int64' });
  const table = tableFromIPC(readFileSync(whole));
  const batches = Array.from({ length: Math.ceil(ROWS / 7001) }, (_, i) =>
    table.slice(i * 7001, (i + 1) * 7001),
  ).flatMap((slice) => slice.batches);
  writeFileSync(
    file('a.arrow'),
    RecordBatchFileWriter.writeAll(new Table(batches)).toUint8Array(true),
  );
});

describe('snapshots that straddle the borders of chunks', () => {
  it('are counted and stored exactly, the same from every format', async () => {
    const stored: string[] = [];
    for (const ending of ['ndjson', 'csv', 'parquet', 'arrow']) {
      const data = file(`data-${ending}`);
      const [report] = await ingest(data, 'cells', [file(`a.${ending}`)]);
      expect([ending, report]).toEqual([
        ending,
        {
          file: file(`a.${ending}`),
          rows: ROWS,
          snapshots: SNAPSHOTS,
          cells: ROWS,
          droppedLevels: 0,
          earlierLevels: 0,
          replaced: { snapshots: 0, cellsBefore: 0, cellsAfter: 0 },
          warnings: [],
        },
      ]);
      const mint = await storedSnapshots(data, 'mainchain', MINT);
      expect(mint.map(({ t, cells }) => [t, cells.length])).toEqual(
        Array.from({ length: SNAPSHOTS / 2 }, (_, i) => [T + 2 * i, MARKETS * BINS]),
      );
      stored.push(
        JSON.stringify([mint, await storedSnapshots(data, 'evmchain', EVM.toLowerCase())]),
      );
    }
    // Not toEqual: a difference of this length helps nobody.
    expect(stored.map((one) => one === stored[0])).toEqual([true, true, true, true]);
  });

  it('are refused if their rows are not adjacent, near or far', async () => {
    const far = file('far.ndjson');
    writeFileSync(far, readFileSync(file('a.ndjson')));
    const line = readFileSync(far, 'utf8').split('\n').length;
    appendFileSync(far, lines(wideCells(MINT, T + 10, 1).slice(0, 2)));
    const expected = (name: string, at: number) => [
      `${name}:${at}: t: the rows of one snapshot must be adjacent: sort by chain, address, tier, t`,
    ];
    expect(await faultsOf(file('data-far'), 'cells', far)).toEqual(expected(far, line));
    const near = file('near.ndjson');
    const [a, b] = [wideCells(MINT, T, 1), wideCells(MINT, T + 1, 1)];
    writeFileSync(near, lines([...a.slice(0, 9), ...b, ...a.slice(9)]));
    expect(await faultsOf(file('data-far'), 'cells', near)).toEqual(expected(near, 10 + BINS));
  });
});
