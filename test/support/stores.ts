/** Really opened stores in separate directories, and bundles to commit to them. */
import { randomFillSync } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect } from 'vitest';
import type { BinnedChunk } from '../../compute/ingest/binned-chunk.js';
import { binSnapshotRows } from '../../compute/ingest/snapshots.js';
import type { Chain, Tier } from '../../compute/market.js';
import type { ComputePool } from '../../compute/pool.js';
import type { JoinMode } from '../../compute/segment/merge.js';
import { encodeRuns, rewriteSegments } from '../../compute/segment/rewrite.js';
import type { SnapshotRun } from '../../compute/segment/run.js';
import { decodeSegment } from '../../compute/segment/segment.js';
import {
  BUNDLE_VERSION,
  BundleWriter,
  type DeleteFrame,
  type Frame,
} from '../../storage/bundle.js';
import { SegmentGoneError, type TokenRow } from '../../storage/contract.js';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import { bareTokenRow } from '../../storage/depth/catalog.js';
import type { CommitReport } from '../../storage/operations.js';
import type { Directories } from '../../storage/depth/directories.js';
import type { Directory } from '../../storage/depth/directory.js';
import { Database } from '../../storage/duckdb/database.js';
import { RunCollector } from '../../storage/ingest/run-collector.js';
import { ensureSchema } from '../../storage/schema.js';
import type { ArchiveOptions, StoreOptions } from '../../storage/opening.js';
import { Store } from '../../storage/store.js';
import { temporaryDirectory } from './folders.js';

export const MINT = 'So11111111111111111111111111111111111111112';
export const OTHER_MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
export const EVM_TOKEN = '0x00000000000000000000000000000000000000aa';

/** A directory for a store, removed after the tests of the file. */
export class DataDirectory {
  path = '';
  private root = '';

  constructor(private readonly below: readonly string[] = []) {
    this.renew();
  }

  /** Becomes another, empty one. */
  renew(): void {
    this.root = temporaryDirectory();
    this.path = path.join(this.root, ...this.below, 'data');
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** A directory that is another one for each test. */
export function freshDirectory(): DataDirectory {
  const directory = new DataDirectory();
  beforeEach(() => directory.renew());
  return directory;
}

/** An open store, another one for each test. */
export class FreshStore {
  readonly directory = freshDirectory();
  store!: Store;

  constructor() {
    beforeEach(() => this.open());
    afterEach(() => this.store.close());
  }

  async open(options: Partial<StoreOptions> = {}): Promise<void> {
    this.store = await openStore(this.directory.path, options);
  }

  async reopen(options: Partial<StoreOptions> = {}): Promise<void> {
    await this.store.close();
    await this.open(options);
  }
}

/** Opens a store that rewrites segments on this thread and fails loudly after commits. */
export function openStore(directory: string, options: Partial<StoreOptions> = {}): Promise<Store> {
  return Store.open(directory, {
    rewrite: (input) => Promise.resolve(rewriteSegments(input)),
    onBackgroundError: (error) => {
      throw error;
    },
    memory: { database: 256 * 2 ** 20 },
    threads: 1,
    ...options,
  });
}

/** An archive in a folder that takes a day an hour after its end, and removes objects as soon as nothing names them. */
/** @param nowS the clock by which days are due */
export function archiveIn(folder: string, nowS: () => number): ArchiveOptions {
  mkdirSync(folder, { recursive: true });
  const place = {
    url: pathToFileURL(folder).href,
    endpoint: null,
    region: null,
    credentialsFile: null,
  };
  return { place, afterS: 3600, graceS: 0, failsForMs: 0, nowS };
}

/** `[bin, support_usd, resistance_usd]`. */
export type Cell = [bin: number, supportUsd: number, resistanceUsd: number];

export interface MarketFields {
  source: string;
  exchange_type: 'DEX' | 'CEX';
  type?: string;
  address?: string | null;
  pair?: string | null;
  cells: Cell[];
}

/** A row of the dataset `snapshots`. */
export interface SnapshotRow {
  chain: Chain;
  address: string;
  t: number;
  tier: Tier;
  price_usd: number;
  markets: MarketFields[];
}

export const orca = (cells: Cell[] = [[0, 5, 7.5]]): MarketFields => ({
  source: 'Orca',
  exchange_type: 'DEX',
  address: 'pool-1',
  cells,
});
export const binance = (cells: Cell[] = [[1, 0, 11]]): MarketFields => ({
  source: 'Binance',
  exchange_type: 'CEX',
  pair: 'A/USDT',
  cells,
});

export function snapshot(t: number, markets = [orca()], more: Partial<SnapshotRow> = {}) {
  const row: SnapshotRow = {
    chain: chainOf(more.address ?? MINT),
    address: MINT,
    t,
    tier: 'raw',
    price_usd: 2,
    markets,
  };
  return { ...row, ...more };
}

const chainOf = (address: string): Chain => (address.startsWith('0x') ? 'evmchain' : 'mainchain');

/** Amounts that look random, the same in every run. */
export function amounts(seed = 1): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 100;
}

/** Cells whose amounts do not repeat, as in a real book. */
export function bookCells(seed: number, cells: number): Cell[] {
  const amount = amounts(seed + 1);
  return Array.from({ length: cells }, (_, i) => {
    const usd = 1 + (amount() % 20_000);
    return i < cells / 2 ? [i - cells / 2, usd, 0] : [i - cells / 2, 0, usd];
  });
}

/** Snapshots of 400 cells, a second apart from t = 1,000 on, whose amounts LZ4 cannot compress. */
export function noiseRows(count: number): SnapshotRow[] {
  return Array.from({ length: count }, (_, row) => {
    const amount = amounts(row + 1);
    const cells = Array.from({ length: 400 }, (_, i): Cell => [i - 200, 1 + amount(), 0]);
    return snapshot(1000 + row, [orca(cells)]);
  });
}

/** Snapshots whose segment is stored in more than its entry's row. */
export function noisyRows(first: number, address = MINT): SnapshotRow[] {
  const values = randomFillSync(new Uint32Array(200 * 60));
  return Array.from({ length: 200 }, (_, i) => {
    const cells = Array.from({ length: 60 }, (_, c): Cell => [c, values[i * 60 + c] / 100, c]);
    return snapshot(first + i, [orca(cells)], { address });
  });
}

interface CommitOptions {
  mode?: JoinMode;
  /** Rows before each of these indexes are binned separately from those after it, like pieces of a file. */
  cuts?: readonly number[];
  file?: string;
  refusesLoss?: boolean;
  /** Frames after the rows. */
  behind?: readonly Frame[];
  /** Commits nothing. */
  rehearse?: boolean;
}

const inThisThread = {
  run: (_name: string, tokens: Parameters<typeof encodeRuns>[0][]) =>
    Promise.resolve(tokens.map(encodeRuns)),
} as unknown as Pick<ComputePool, 'run'>;

/** Bins rows of `snapshots` into a finished bundle, as ingest does. */
export async function bundleOf(
  store: Store,
  rows: readonly SnapshotRow[],
  { mode = 'replace', cuts = [], file = 'test.ndjson', refusesLoss, behind }: CommitOptions = {},
): Promise<BundleWriter> {
  const prices = mode === 'merge' ? await existingPrices(store, rows) : undefined;
  const bundle = await BundleWriter.create(store.directory);
  await bundle.write({ kind: 'header', version: BUNDLE_VERSION, file, mode, refusesLoss });
  const collector = new RunCollector(mode, inThisThread, bundle);
  const ends = [...new Set([...cuts, rows.length])].sort((a, b) => a - b);
  let first = 0;
  for (const end of ends) {
    const batch = binSnapshotRows(rows.slice(first, end), {
      firstLine: first + 1,
      mode,
      basePrices: prices,
    });
    if (batch.faultCount > 0) throw new Error(JSON.stringify(batch.faults));
    await collector.add(batch);
    first = end;
  }
  await collector.finish();
  for (const frame of behind ?? []) await bundle.write(frame);
  await bundle.finish();
  return bundle;
}

/** The price of each row's snapshot: the stored one, else that of its first row. */
async function existingPrices(
  store: Store,
  rows: readonly SnapshotRow[],
): Promise<Map<string, number>> {
  const prices = await store.snapshotPrices(rows);
  const first = new Map<string, number>();
  for (const [i, { chain, address, tier, t, price_usd: given }] of rows.entries()) {
    const key = `${chain} ${address} ${tier} ${t}`;
    if (!first.has(key)) first.set(key, Number.isNaN(prices[i]) ? given : prices[i]);
  }
  return first;
}

/** Commits rows of `snapshots`; the bundle is gone afterwards. */
export async function commitRows(
  store: Store,
  rows: readonly SnapshotRow[],
  options: CommitOptions = {},
): Promise<CommitReport> {
  return commitBundle(store, await bundleOf(store, rows, options), options);
}

/** What to delete of a token: by default everything. */
export type Deletion = Partial<Omit<DeleteFrame, 'kind' | 'address'>> & { address: string };

export const deleteFrame = (what: Deletion): DeleteFrame => ({
  kind: 'delete',
  chain: chainOf(what.address),
  fromS: 0,
  toS: 2 ** 32,
  tier: null,
  markets: null,
  needsAny: true,
  ...what,
});

/** Deletes depth; the bundle is gone afterwards. */
export async function commitDelete(
  store: Store,
  what: Deletion,
  options: { rehearse?: boolean } = {},
): Promise<CommitReport> {
  const header = { version: BUNDLE_VERSION, file: 'delete', mode: 'replace' } as const;
  return commitFrames(store, [{ kind: 'header', ...header }, deleteFrame(what)], options);
}

/** Commits rows of `tokens`. */
export async function commitTokens(
  store: Store,
  rows: readonly Partial<TokenRow>[],
  file = 'tokens.ndjson',
): Promise<void> {
  const full = rows.map((row, i) => ({
    line: i + 1,
    row: { ...bareTokenRow(row.chain ?? 'mainchain', row.address ?? MINT), ...row },
  }));
  await commitFrames(store, [
    { kind: 'header', version: BUNDLE_VERSION, file, mode: 'replace' },
    { kind: 'tokens', rows: full },
  ]);
}

export async function commitFrames(
  store: Store,
  frames: readonly Frame[],
  options: { rehearse?: boolean } = {},
): Promise<CommitReport> {
  return commitBundle(store, await bundleOfFrames(store, frames), options);
}

export async function bundleOfFrames(
  store: Store,
  frames: readonly Frame[],
): Promise<BundleWriter> {
  const bundle = await BundleWriter.create(store.directory);
  for (const frame of frames) await bundle.write(frame);
  await bundle.finish();
  return bundle;
}

async function commitBundle(
  store: Store,
  bundle: BundleWriter,
  { rehearse = false }: { rehearse?: boolean },
): Promise<CommitReport> {
  try {
    return await (rehearse ? store.rehearse(bundle.name) : store.commit(bundle.name));
  } finally {
    await bundle.discard();
  }
}

/** Retries, as readers do, if segments are joined between planning and reading. */
export async function retryWhileJoined<T>(look: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (!(error instanceof SegmentGoneError)) throw error;
    }
  }
}

/** A token's directory as readers have it. */
export function directoryOf(store: Store, tokenId: number): Promise<Directory> {
  return (store.depth as unknown as { directories: Directories }).directories.get(tokenId);
}

/** A stored snapshot; cells as `[market, bin, support, resistance]` in cents. */
export interface StoredSnapshot {
  tier: Tier;
  t: number;
  price: number;
  cells: number[][];
}

/** Everything stored of a token, hidden snapshots too, by tier, then time. */
export async function storedSnapshots(store: Store, tokenId: number): Promise<StoredSnapshot[]> {
  const directory = await directoryOf(store, tokenId);
  const refs = [...directory.raw, ...directory['15m'], ...directory['1h']];
  const blocks = await store.depth.readSegments(refs.map(({ segmentId }) => segmentId));
  return blocks.flatMap((block) => snapshotsOf(decodeSegment(block)));
}

export function snapshotsOf(run: SnapshotRun): StoredSnapshot[] {
  return Array.from(run.t, (t, s) => {
    const cells: number[][] = [];
    for (let c = run.cellOffsets[s]; c < run.cellOffsets[s + 1]; c++) {
      cells.push([run.market[c], run.bin[c], run.supportCents[c], run.resistanceCents[c]]);
    }
    return { tier: run.tier, t, price: run.priceUsd[s], cells };
  });
}

/** Ids of all segments of a token. */
export async function segmentIds(store: Store, address = MINT): Promise<number[]> {
  const token = tokenOf(store, address);
  const directory = await directoryOf(store, token);
  return Object.values(directory).flatMap((refs) => refs.map(({ segmentId }) => segmentId));
}

/** Id of a token that the store knows. */
export function tokenOf(store: Store, address = MINT): number {
  const token = store.depth.token(chainOf(address), address);
  if (token === null) throw new Error(`the store does not know ${address}`);
  return token.tokenId;
}

/** Opens the directory's database, made if there is none. */
export async function openSegmentDatabase(directory: DataDirectory): Promise<Database> {
  mkdirSync(directory.path, { recursive: true });
  const file = path.join(directory.path, 'segments.duckdb');
  const database = await Database.openFile(file, { memoryLimitMiB: 256, threads: 1 });
  await ensureSchema(database, file);
  return database;
}

/** Runs statements on a closed store's file, as nobody should. */
export async function tamper(file: string, ...statements: string[]): Promise<void> {
  const database = await Database.openFile(file, { memoryLimitMiB: 128, threads: 1 });
  for (const statement of statements) await database.run(statement);
  await database.close();
}

/** SQL that changes a bit of `data`. */
export const flipped = `data = (left(hex(data), 60) || CASE WHEN substr(hex(data), 61, 1) = '0' THEN '1' ELSE '0' END || substr(hex(data), 62)).unhex()`;

/** A chunk's contents, without the lines from which its runs came. */
export function contentOf(chunk: BinnedChunk): object {
  const runs = chunk.runs.map(({ run, markets, arrivals }) => ({ run, markets, arrivals }));
  const warnings = chunk.warnings.map(({ kind, count, what }) => ({ kind, count, what }));
  return { ...chunk, runs, warnings };
}

/** Flips a bit of MINT's first segment in the file of a closed store, so that DuckDB refuses the block. */
export async function damageBlock(directory: string): Promise<number> {
  const store = await openStore(directory);
  const [id] = await segmentIds(store);
  const [block] = await store.depth.readSegments([id]);
  await store.close();
  const file = path.join(directory, DATABASE_FILE);
  const bytes = readFileSync(file);
  const at = bytes.indexOf(block.subarray(100, 300));
  expect(at).toBeGreaterThan(0);
  bytes[at + 50] ^= 4;
  writeFileSync(file, bytes);
  return id;
}
