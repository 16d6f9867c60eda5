/** Imports foreign files: as rows, or into a store, merged into its snapshots. */
import type { Chunk } from '../../compute/ingest/chunk.js';
import type { ComputePool } from '../../compute/pool.js';
import type { SnapshotKey } from '../contract.js';
import { UsageError } from '../errors.js';
import { commitPrepared } from '../ingest/ingest.js';
import type { UseStore } from '../operations.js';
import { storedPrices } from '../ingest/base-prices.js';
import { type BasedChunk, binChunks, withHeads } from '../ingest/binning.js';
import { rowChunks } from '../ingest/chunks.js';
import { prepareDepth } from '../ingest/depth.js';
import type { FileReport, PreparedFile } from '../ingest/prepared.js';
import { prepareTable } from '../ingest/tables.js';
import { importBinance } from './binance.js';
import { readBinanceMessages } from './binance-messages.js';
import { readTDepthMessages } from './binance-t-depth.js';
import {
  type ImportFormat,
  type ImportKind,
  type ImportOptions,
  ImportReport,
  kindOfFormat,
} from './formats.js';
import { readDcaOrder } from './jupiter-dca.js';
import { readLimitOrder } from './jupiter-limit-orders.js';
import { importOrders } from './jupiter-orders.js';
import { CLMM_POOLS, CP_PAIRS, DLMM_BINS, importPools } from './pool-states.js';
import { NothingImportedError } from './refusals.js';
import { importSolscanHolders } from './solscan-holders.js';
import { importTardisIncremental, importTardisSnapshot } from './tardis.js';
import { importSolanaTokenList, importWormholeCsv } from './token-lists.js';

export interface ImportRequest {
  directory: string;
  format: ImportFormat;
  files: readonly string[];
  options: ImportOptions;
  /** Whether a market's snapshots may be left with less than half of their cells. */
  replace?: boolean;
  /** Whether to do everything but commit. */
  dryRun?: boolean;
  pool: ComputePool;
  useStore: UseStore;
  onProgress?: (report: FileReport) => void;
}

interface ImportedFile {
  stored: FileReport;
  read: ImportReport;
}

/** What messages call the entries of an import. The import of a book states its reasons itself. */
const ENTRIES: Readonly<Record<ImportKind, string>> = {
  book: 'entries',
  pools: 'pool states',
  tokens: 'entries',
  holders: 'holders',
  orders: 'orders',
};

/**
 * Reads the files (plain or gzip) of one import, in order, and yields rows of the format's dataset
 * (docs/definitions.md#imports), one at a time; `report` is up to date with each row.
 * @throws InputError (`file:line: field: what`) if the input is damaged, or needs an option that is missing
 * @throws NothingImportedError after the last file, if there was no row
 * @throws UsageError without a file, or without the token or time that a format needs
 */
export async function* importRows(
  format: ImportFormat,
  files: readonly string[],
  options: ImportOptions,
  report: ImportReport,
): AsyncGenerator<object, void, undefined> {
  if (files.length === 0) throw new UsageError('FILE: expected at least one file');
  for await (const row of rowsOf(format, files, options, report)) {
    report.rows++;
    yield row;
  }
  if (report.rows === 0) throw new NothingImportedError(reasonOfNoRow(format, report), report);
}

function reasonOfNoRow(format: ImportFormat, { messages, leftOut }: ImportReport): string {
  const kind = kindOfFormat(format);
  const what = ENTRIES[kind];
  if (messages === 0) return `no ${what} in the files`;
  if (kind === 'tokens') return `none of ${messages} entries makes a token`;
  return leftOut.count === 0
    ? `none of ${messages} ${what} holds the token`
    : `all ${leftOut.count} ${what}${kind === 'holders' ? '' : ' that hold the token'} were left out`;
}

function rowsOf(
  format: ImportFormat,
  files: readonly string[],
  options: ImportOptions,
  report: ImportReport,
): AsyncIterable<object> {
  if (format === 'solana-token-list') return importSolanaTokenList(files, report);
  if (format === 'wormhole-csv') return importWormholeCsv(files, report);
  if (format === 'jupiter-dca') return importOrders(files, options, report, readDcaOrder);
  if (format === 'jupiter-limit-orders')
    return importOrders(files, options, report, readLimitOrder);
  const { token, atS, capture } = options;
  if (token === undefined) throw new UsageError(`token: ${format} needs it`);
  const request = { files, token, options, report };
  switch (format) {
    case 'tardis-incremental-l2':
      return importTardisIncremental(request);
    case 'tardis-book-snapshot':
      return importTardisSnapshot(request);
    case 'binance-stream':
      return importBinance(readBinanceMessages, request);
    case 'binance-t-depth':
      return importBinance(readTDepthMessages, request);
    case 'capture':
      if (capture === undefined) throw new UsageError(`exchange: ${format} needs it`);
      return capture(request);
    case 'clmm-pools':
      return importPools(CLMM_POOLS, request);
    case 'dlmm-bins':
      return importPools(DLMM_BINS, request);
    case 'cp-pairs':
      return importPools(CP_PAIRS, request);
    case 'solscan-holders':
      if (atS === undefined) throw new UsageError(`at: ${format} needs it`);
      return importSolscanHolders(files, token, atS, report);
  }
}

/**
 * Imports the files as one transaction.
 * @throws LossError if a market would lose more than half of its cells, unless `replace` is set
 * @throws InputError | UsageError | StoreBusyError
 */
export async function importIntoStore(request: ImportRequest): Promise<ImportedFile> {
  let read = new ImportReport();
  const prepare = (): Promise<PreparedFile> => {
    read = new ImportReport();
    return prepareImport(request, read);
  };
  const stored = await commitPrepared(request.useStore, prepare, request.dryRun);
  return { stored, read };
}

async function prepareImport(request: ImportRequest, read: ImportReport): Promise<PreparedFile> {
  const { directory, format, files, options } = request;
  const file = files.join(', ');
  const rows = importRows(format, files, options, read);
  const kind = kindOfFormat(format);
  if (kind === 'book' || kind === 'pools') return prepareSnapshots(request, file, rows);
  const ofOrders = format === 'jupiter-dca' ? 'dca_orders' : 'limit_orders';
  const dataset = kind === 'orders' ? ofOrders : kind;
  return prepareTable({ directory, file, mode: 'replace' }, dataset, numbered(rows));
}

async function prepareSnapshots(
  request: ImportRequest,
  file: string,
  rows: AsyncIterable<object>,
): Promise<PreparedFile> {
  const { pool, replace } = request;
  const refusesLoss = replace !== true;
  const target = { ...request, file, mode: 'merge', refusesLoss, together: false } as const;
  const chunks = rowChunks(numbered(rows));
  return prepareDepth(target, binChunks(basedChunks(request, chunks), pool, 'merge'));
}

/** The chunks with the prices of stored snapshots: only books of one token, not pools, are merged into them. */
async function* basedChunks(
  { options: { token }, pool, useStore }: ImportRequest,
  chunks: AsyncIterable<Chunk>,
): AsyncGenerator<BasedChunk> {
  if (token === undefined) {
    yield* chunks;
    return;
  }
  const stored = new Set(await useStore((store) => store.snapshotTimes({ ...token, tier: 'raw' })));
  for await (const { chunk, heads } of withHeads(chunks, pool)) {
    const keys = heads.filter(({ t }) => stored.has(t)).map(keyOf);
    yield { ...chunk, basePrices: await storedPrices(keys, useStore) };
  }
}

const keyOf = ({ chain, address, t, tier }: SnapshotKey): SnapshotKey => ({
  chain,
  address,
  t,
  tier,
});

interface SnapshotLines extends Pick<ImportRequest, 'directory' | 'pool' | 'useStore'> {
  /** Rows of `snapshots`, each with its tier. */
  lines: readonly string[];
  /** Names them in faults. */
  name: string;
}

/**
 * Stores rows of the dataset `snapshots` as one transaction, merged market by market into what is stored.
 * @throws InputError | StoreBusyError | StoreUnavailableError
 */
export function storeSnapshots(request: SnapshotLines): Promise<FileReport> {
  const { lines, pool, useStore, name: file } = request;
  const keys = lines.map((line) => keyOf(JSON.parse(line) as SnapshotKey));
  const bytes = Buffer.from(lines.join('\n'));
  const target = { ...request, file, mode: 'merge', together: false } as const;
  const prepare = async (): Promise<PreparedFile> => {
    const basePrices = await storedPrices(keys, useStore);
    const chunk = { kind: 'snapshotLines', firstLine: 1, bytes, basePrices } as const;
    return prepareDepth(target, binChunks([chunk], pool, 'merge'));
  };
  return commitPrepared(useStore, prepare);
}

async function* numbered(rows: AsyncIterable<object>) {
  let line = 0;
  for await (const row of rows) yield [{ line: ++line, row }];
}
