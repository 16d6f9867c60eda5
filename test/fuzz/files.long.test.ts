/** Files of datasets and of foreign formats, damaged in any way: accepted, or refused in words. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InputError, UsageError } from '../../storage/errors.js';
import { DATASETS, type Dataset, type FileFormat } from '../../storage/ingest/datasets.js';
import { ingestFiles } from '../../storage/ingest/ingest.js';
import { IMPORT_FORMATS, type ImportFormat } from '../../storage/import/formats.js';
import type { Store } from '../../storage/store.js';
import { csv, lines, readJson, StoreScratch, snapshot } from '../support/ingest.js';
import { sharedPool } from '../support/pool.js';
import { commitRows, snapshot as stored } from '../support/stores.js';
import { writeCellsArrow, writeRowsArrow, writeSnapshotsArrow } from '../support/tables.js';
import { fixture, importAll, type RawImportFlags, TOKEN } from '../storage/import-helpers.js';
import { ROWS, T } from './rows.js';
import { LIMIT_MS, mutatedBytes, mutatedJson, runs } from './random.js';

const scratch = new StoreScratch();

afterAll(async () => {
  // It still works.
  await commitRows(scratch.store, [stored(T + 120)]);
  expect((await scratch.store.summary()).tokens).toBeGreaterThan(0);
});

/** Ingests a file into the open store. @returns whether it was accepted; anything but a refusal in words fails */
async function ingested(dataset: Dataset, format: FileFormat, ending: string, bytes: Uint8Array) {
  const file = path.join(scratch.directory, `input${ending}`);
  const request = {
    directory: scratch.data,
    dataset,
    files: [scratch.overwrite(file, bytes)],
    format,
    merge: false,
    pool: await sharedPool(2),
    useStore: <R>(body: (open: Store) => Promise<R>) => body(scratch.store),
  };
  try {
    for await (const report of ingestFiles(request)) expect(report.rows).toBeGreaterThanOrEqual(0);
    return true;
  } catch (error) {
    expectRefusal(error, file);
    return false;
  }
}

/** A refusal names the file and has a readable length. */
function expectRefusal(error: unknown, file: string): void {
  if (!(error instanceof InputError || error instanceof UsageError)) throw error;
  expect(error.message).toContain(file);
  expect(error.message.length).toBeLessThan(20_000);
}

/** The rows as a file in each format, with its ending. */
async function filesOf(dataset: Dataset): Promise<[FileFormat, string, Buffer][]> {
  const rows = ROWS[dataset];
  const text = lines(rows);
  const plain = scratch.file('.ndjson', text);
  const parquet = await scratch.parquet(`SELECT * FROM ${readJson(plain)}`);
  const arrow = scratch.place(`${dataset}.arrow`);
  const form = rows.length > 1 ? 'file' : 'stream';
  if (dataset === 'snapshots') {
    writeSnapshotsArrow(arrow, [snapshot(T), snapshot(T + 60)], { form, ticks: 'structs' });
  } else if (dataset === 'cells') {
    writeCellsArrow(arrow, rows, { form, dictionary: true, t: 'int64', compressed: true });
  } else writeRowsArrow(arrow, rows, { form, dictionary: true });
  return [
    ['ndjson', '.ndjson', Buffer.from(text)],
    ['ndjson', '.ndjson.gz', gzipSync(text)],
    ['parquet', '.parquet', readFileSync(parquet)],
    ['arrow', '.arrow', readFileSync(arrow)],
    ...(dataset === 'snapshots' ? [] : ([['csv', '.csv', Buffer.from(csv(rows))]] as const)),
  ] as [FileFormat, string, Buffer][];
}

describe.each(DATASETS)('a file of %s', (dataset) => {
  let files: [FileFormat, string, Buffer][];
  beforeAll(async () => {
    files = await filesOf(dataset);
  });

  it('is accepted in every format', async () => {
    for (const [format, ending, bytes] of files) {
      expect(await ingested(dataset, format, ending, bytes), ending).toBe(true);
    }
  });

  it('with strange values is accepted or refused in words', { timeout: LIMIT_MS }, async () => {
    await fc.assert(
      fc.asyncProperty(mutatedJson(ROWS[dataset]), async (rows) => {
        await ingested(dataset, 'ndjson', '.ndjson', Buffer.from(lines([rows].flat() as object[])));
      }),
      runs(8),
    );
  });

  it('with damaged bytes is accepted or refused in words', { timeout: LIMIT_MS }, async () => {
    const damaged = fc
      .nat({ max: files.length - 1 })
      .chain((i) => fc.tuple(fc.constant(i), mutatedBytes(files[i][2])));
    await fc.assert(
      fc.asyncProperty(damaged, async ([i, bytes]) => {
        const [format, ending] = files[i];
        await ingested(dataset, format, ending, bytes);
      }),
      runs(8),
    );
  });
});

const WETH = 'evmchain:0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2';
const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48';
const USDT = '0xdac17f958d2ee523a2206206994597c13d831ec7';
const SOL_IN_BINS = { ...TOKEN, 'quote-usd': 'Df6yfrKC8kZE3KNkrHERKzAetSxbrWeniQfyJY4Jpump=0.3' };
const AT = '2024-01-01T00:00:00Z';

/** Excerpts of real files, with flags that import them. */
const EXCERPTS: Readonly<Record<ImportFormat, [string, RawImportFlags][]>> = {
  'tardis-incremental-l2': [['tardis_incremental_excerpt.csv.gz', { ...TOKEN, every: '1s' }]],
  'tardis-book-snapshot': [['tardis_snapshot_excerpt.csv', { ...TOKEN, every: '1s' }]],
  'binance-stream': [
    ['binance_spot_excerpt.stream.gz', { ...TOKEN, every: '1s' }],
    ['binance_coinm_excerpt.stream', { ...TOKEN, every: '1s', 'contract-usd': '100' }],
  ],
  'binance-t-depth': [['binance_t_depth_excerpt.csv', { ...TOKEN, every: '1s' }]],
  capture: [
    ['capture_hyperliquid_excerpt.stream.gz', { ...TOKEN, exchange: 'hyperliquid', every: '1s' }],
    [
      'capture_kraken_futures_excerpt.log.gz',
      { ...TOKEN, exchange: 'kraken-futures', every: '1s', 'contract-usd': '1' },
    ],
  ],
  'clmm-pools': [
    ['clmm_excerpt.ndjson', { token: `evmchain:${USDT}`, at: AT, 'quote-usd': `${USDC}=1` }],
  ],
  'dlmm-bins': [['dlmm_excerpt.ndjson', SOL_IN_BINS]],
  'cp-pairs': [
    ['cp_excerpt.ndjson', { token: WETH, at: AT }],
    ['cp_raw_excerpt.ndjson', { token: WETH, at: AT }],
  ],
  'solana-token-list': [['solana_tokenlist_excerpt.json', {}]],
  'wormhole-csv': [
    ['wormhole_by_dest_excerpt.csv', {}],
    ['wormhole_by_source_excerpt.csv', {}],
  ],
  'solscan-holders': [['solscan_holders_excerpt.csv', { ...TOKEN, at: AT }]],
  'jupiter-dca': [['jupiter_recurring_excerpt.json', {}]],
  'jupiter-limit-orders': [
    [
      'jupiter_trigger_excerpt.json',
      { 'quote-usd': 'So11111111111111111111111111111111111111112=150' },
    ],
  ],
};

describe.each(IMPORT_FORMATS)('a file of %s', (format) => {
  const excerpts = EXCERPTS[format].map(([name, flags]) => {
    const bytes = readFileSync(fixture(name));
    const plain = name.endsWith('.gz') ? gunzipSync(bytes) : bytes;
    return { flags, plain, gzipped: gzipSync(plain) };
  });

  /** Imports the bytes. @returns the number of rows */
  async function imported(flags: RawImportFlags, bytes: Uint8Array): Promise<number> {
    const file = scratch.overwrite(scratch.place('input'), bytes);
    try {
      return (await importAll<object>(format, [file], flags)).rows.length;
    } catch (error) {
      expectRefusal(error, '');
      return 0;
    }
  }

  it('is accepted', async () => {
    for (const { flags, plain } of excerpts)
      expect(await imported(flags, plain)).toBeGreaterThan(0);
  });

  it('with damaged bytes is accepted or refused in words', { timeout: LIMIT_MS }, async () => {
    const damaged = fc
      .constantFrom(...excerpts)
      .chain(({ flags, plain, gzipped }) =>
        fc.tuple(
          fc.constant(flags),
          fc.oneof({ weight: 5, arbitrary: mutatedBytes(plain) }, mutatedBytes(gzipped)),
        ),
      );
    await fc.assert(
      fc.asyncProperty(damaged, ([flags, bytes]) => imported(flags, bytes).then(() => undefined)),
      runs(20),
    );
  });

  it('with strange values is accepted or refused in words', { timeout: LIMIT_MS }, async () => {
    const whole = excerpts.map(({ flags, plain }) => ({
      flags,
      documents: documentsOf(plain.toString()),
    }));
    const parsed = whole.filter(({ documents }) => documents !== null);
    if (parsed.length === 0) return;
    const strange = fc
      .constantFrom(...parsed)
      .chain(({ flags, documents }) => fc.tuple(fc.constant(flags), mutatedJson(documents)));
    await fc.assert(
      fc.asyncProperty(strange, async ([flags, documents]) => {
        const text =
          format === 'solana-token-list'
            ? (JSON.stringify(documents?.[0]) ?? '')
            : lines([documents].flat() as object[]);
        await imported(flags, Buffer.from(text));
      }),
      runs(20),
    );
  });
});

/** The JSON documents of a text, or of its lines; null if it is neither. */
function documentsOf(text: string): unknown[] | null {
  try {
    return [JSON.parse(text)];
  } catch {
    try {
      return text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown);
    } catch {
      return null;
    }
  }
}
