/** Ingest as the command does it, within the test's own process. */
import { startPool, type ComputePool } from '../../compute/pool.js';
import { decodeSegment } from '../../compute/segment/segment.js';
import { rewriteSegments } from '../../compute/segment/rewrite.js';
import { withStore } from '../../storage/access.js';
import { InputError } from '../../storage/errors.js';
import type { Dataset } from '../../storage/ingest/datasets.js';
import { ingestFiles, type UseStore } from '../../storage/ingest/ingest.js';
import type { FileReport } from '../../storage/ingest/prepared.js';
import { withStoreOf } from './cli.js';

let pool: Promise<ComputePool> | null = null;

/** A pool for the whole test file; closePool() ends it. */
export function testPool(): Promise<ComputePool> {
  pool ??= startPool({
    threads: 2,
    onError: (error) => {
      throw error;
    },
  });
  return pool;
}

export async function closePool(): Promise<void> {
  await (await pool)?.close();
  pool = null;
}

const rewrite = (input: Parameters<typeof rewriteSegments>[0]) =>
  Promise.resolve(rewriteSegments(input));

/** A directory's store, opened for as long as each call needs it. */
export const storeIn =
  (directory: string): UseStore =>
  (body) =>
    withStore(directory, { rewrite }, body);

export interface IngestOptions {
  merge?: boolean;
  format?: string;
}

/** Ingests files; gives the reports. @throws what the command would say */
export async function ingest(
  directory: string,
  dataset: Dataset,
  files: readonly string[],
  { merge = false, format }: IngestOptions = {},
): Promise<FileReport[]> {
  const reports: FileReport[] = [];
  const request = {
    directory,
    dataset,
    files,
    merge,
    pool: await testPool(),
    useStore: storeIn(directory),
    ...(format === undefined ? {} : { format }),
  };
  for await (const report of ingestFiles(request)) reports.push({ ...report });
  return reports;
}

/** The faults that a file is refused with. */
export async function faultsOf(
  directory: string,
  dataset: Dataset,
  file: string,
  options: IngestOptions = {},
): Promise<readonly string[]> {
  try {
    await ingest(directory, dataset, [file], options);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    if (error.message !== error.faults.join('\n')) throw new Error('a message of other faults');
    return error.faults;
  }
  throw new Error(`${file} was not refused`);
}

/** A stored cell: market's name, bin, cents of support, cents of resistance. */
export type StoredCell = [string, number, number, number];

export interface StoredSnapshot {
  t: number;
  tier: string;
  priceUsd: number;
  cells: StoredCell[];
}

/** Every visible snapshot of a token, read back from its segments. */
export async function storedSnapshots(
  directory: string,
  chain: 'mainchain' | 'evmchain',
  address: string,
): Promise<StoredSnapshot[]> {
  return withStoreOf(directory, async ({ depth }) => {
    const token = depth.token(chain, address);
    if (token === null) return [];
    const always = { fromS: 0, toS: 2 ** 32, nowS: 2 ** 32, maxSnapshots: 1_000_000 };
    const plan = await depth.plan({ tokenId: token.tokenId, ...always });
    const runs = (await depth.readSegments(plan.segmentIds)).map(decodeSegment);
    return plan.snapshots.map(({ segment, row, t, tier }) => {
      const run = runs[segment];
      const cells: StoredCell[] = [];
      for (let i = run.cellOffsets[row]; i < run.cellOffsets[row + 1]; i++) {
        const { source, address: at, pair } = plan.markets[run.market[i]];
        const name = `${source}/${at ?? pair ?? ''}`;
        cells.push([name, run.bin[i], run.supportCents[i], run.resistanceCents[i]]);
      }
      return { t, tier, priceUsd: run.priceUsd[row], cells };
    });
  });
}
