/** `fathom ingest`: files of one dataset into a store, each a transaction of its own. */
import type { ComputePool } from '../../compute/pool.js';
import { checkDirectory } from '../access.js';
import { sweepStaging } from '../bundle/bundle.js';
import { StoreChangedError } from '../errors.js';
import type { StoreOperations } from '../contract.js';
import { checkMerge, formatOf, type Dataset } from './datasets.js';
import { prepareFile } from './prepare.js';
import type { FileReport, PreparedFile } from './prepared.js';

/** A merge whose store changed under it is prepared again this often. */
const MAX_ATTEMPTS = 5;

/** Runs `body` with the store, which it has to itself, or through its server, for that long. */
export type UseStore = <T>(body: (store: StoreOperations) => Promise<T>) => Promise<T>;

export interface IngestRequest {
  directory: string;
  dataset: Dataset;
  files: readonly string[];
  /** Overrides what the files' endings say. */
  format?: string;
  merge: boolean;
  pool: ComputePool;
  useStore: UseStore;
  onProgress?: (report: FileReport) => void;
}

/**
 * Ingests the files in order and yields a report for each that has been committed. Ends with the
 * first that is refused: the ones before it stay.
 * @throws UsageError | InputError | StoreBusyError
 */
export async function* ingestFiles(request: IngestRequest): AsyncGenerator<FileReport> {
  const { dataset, files } = request;
  checkMerge(dataset, request.merge);
  // Every name is looked at before the first file is touched.
  const formats = files.map((file) => formatOf(file, dataset, request.format));
  await checkDirectory(request.directory);
  await sweepStaging(request.directory, Date.now());
  for (const [i, file] of files.entries()) {
    yield await commitPrepared(request.useStore, () =>
      prepareFile({
        directory: request.directory,
        file,
        dataset,
        format: formats[i],
        mode: request.merge ? 'merge' : 'replace',
        pool: request.pool,
        store: { snapshotPrices: (keys) => request.useStore((s) => s.snapshotPrices(keys)) },
        onProgress: request.onProgress,
      }),
    );
  }
}

/** Prepares and commits, again where a merge's snapshots changed in between. */
export async function commitPrepared(
  useStore: UseStore,
  prepare: () => Promise<PreparedFile>,
): Promise<FileReport> {
  for (let attempt = 1; ; attempt++) {
    const { bundle, report } = await prepare();
    try {
      await useStore((store) => store.commit(bundle.name));
      return report;
    } catch (error) {
      if (!(error instanceof StoreChangedError) || attempt === MAX_ATTEMPTS) throw error;
    } finally {
      await bundle.discard();
    }
  }
}
