/** Ingests files of one dataset into a store, each in a separate transaction. */
import { access, constants, stat } from 'node:fs/promises';
import type { Chunk } from '../../compute/ingest/chunk.js';
import { FaultLog } from '../../compute/ingest/fields.js';
import type { Warning } from '../../compute/ingest/warnings.js';
import type { ComputePool } from '../../compute/pool.js';
import { checkDirectory } from '../access.js';
import { holdsStore } from '../data-directory.js';
import { sweepStaging } from '../bundle.js';
import type { CommitReport, UseStore } from '../operations.js';
import { FaultyFileError, InputError, StoreChangedError, UsageError } from '../errors.js';
import { wallMs } from '../wall-clock.js';
import { withAdvice } from './advice.js';
import { withBasePrices } from './base-prices.js';
import { binChunks, withHeads } from './binning.js';
import { cellChunks, snapshotChunks } from './chunks.js';
import { checkMerge, type Dataset, type FileFormat, formatOf } from './datasets.js';
import { prepareDepth } from './depth.js';
import { FIELDS } from './fields.js';
import { refusingOthers } from './other-dataset.js';
import { sortedLevels } from './levels.js';
import { addressFlags, type Mapping } from './mapping.js';
import type { BundleRequest, FileReport, PreparedFile } from './prepared.js';
import { rowBatches, type RowSource } from './rows.js';
import { STANDARD_INPUT, withStandardInput } from './standard-input.js';
import { prepareTable } from './tables.js';
import { SymbolAddresses } from './symbol-addresses.js';

/** How often a merge is prepared at most if the store keeps changing. */
const MAX_ATTEMPTS = 5;

interface RequestedFiles {
  directory: string;
  dataset: Dataset;
  files: readonly string[];
  /** Overrides the formats of the files' endings. */
  format?: FileFormat;
  merge: boolean;
}

interface IngestRequest extends RequestedFiles {
  /** For a file whose rows differ from the dataset's. */
  mapping?: Mapping | null;
  /** Delimiter of CSV files; by default a comma. */
  delimiter?: string;
  /** Refuses a file with warnings. */
  strict?: boolean;
  /** Does everything but commit; each file meets the current store, without the files before it. */
  dryRun?: boolean;
  pool: ComputePool;
  useStore: UseStore;
  onProgress?: (report: FileReport) => void;
}

/**
 * Ingests the files in order and yields a report after each commit. A refused file ends the ingest; the files before it
 * stay.
 * @throws UsageError | InputError | StoreBusyError
 */
export async function* ingestFiles(request: IngestRequest): AsyncGenerator<FileReport> {
  const { files } = request;
  const formats = await formatsOf(request);
  if (request.dryRun !== true) await sweepStaging(request.directory, wallMs());
  for (const [i, file] of files.entries()) {
    const ingest = (from: string): Promise<FileReport> =>
      ingestFile(request, file, from, formats[i]);
    yield file === STANDARD_INPUT
      ? await withStandardInput(request.directory, ingest)
      : await ingest(file);
  }
}

/**
 * The format of each file. Refuses a wrong name before the first file is read.
 * @throws UsageError | InputError if files of these names cannot be ingested, or not into this directory
 */
export async function formatsOf(request: RequestedFiles): Promise<FileFormat[]> {
  const { dataset, files } = request;
  checkMerge(dataset, request.merge);
  if (files.filter((file) => file === STANDARD_INPUT).length > 1) {
    throw new UsageError(`${STANDARD_INPUT}: standard input can be read once`);
  }
  const formats = files.map((file) => formatOf(file, dataset, request.format));
  await checkDirectory(request.directory);
  return formats;
}

/** @param from where to read the file */
async function ingestFile(
  request: IngestRequest,
  file: string,
  from: string,
  format: FileFormat,
): Promise<FileReport> {
  const { dataset, useStore, onProgress, dryRun } = request;
  const { mapping = null, delimiter = ',' } = request;
  const target: FileRequest = {
    ...request,
    file: from,
    mode: request.merge ? 'merge' : 'replace',
    onProgress: (report) => onProgress?.({ ...report, file }),
  };
  const prepare = async (): Promise<PreparedFile> => {
    const column = mapping?.tokenColumn ?? null;
    const symbols =
      column === null
        ? null
        : new SymbolAddresses(column, addressFlags(FIELDS[dataset]), (names) =>
            useStore((s) => s.tokensOfSymbols(names)),
          );
    const prepared = await prepareFile(target, { file: from, format, delimiter, mapping, symbols });
    if (request.strict !== true || prepared.report.warnings.length === 0) return prepared;
    await prepared.bundle.discard();
    throw strictRefusal(file, prepared.report.warnings);
  };
  return { ...(await commitPrepared(useStore, prepare, dryRun)), file };
}

/** The first warning of a kind: `file:line: what`. */
export function exampleOf(file: string, { line, what }: Warning): string {
  return `${file}:${line}: ${what}`;
}

function strictRefusal(file: string, warnings: readonly Warning[]): InputError {
  const examples = warnings.map((warning) => exampleOf(file, warning));
  const kinds = warnings.map(({ kind, count }) => `${count} ${kind}`).join(', ');
  return new InputError(
    [
      ...examples,
      `${file}: nothing was stored: --strict refuses a file with warnings: ${kinds}`,
    ].join('\n'),
    examples,
  );
}

/** Prepares and commits; starts again if the snapshots of a merge changed in between. */
export async function commitPrepared(
  useStore: UseStore,
  prepare: () => Promise<PreparedFile>,
  dryRun = false,
): Promise<FileReport> {
  for (let attempt = 1; ; attempt++) {
    const { bundle, report } = await prepare();
    try {
      const { replaced } = await commitOrRehearse(useStore, bundle.name, dryRun);
      return { ...report, replaced };
    } catch (error) {
      if (!(error instanceof StoreChangedError) || attempt === MAX_ATTEMPTS) throw error;
    } finally {
      await bundle.discard();
    }
  }
}

export function commitOrRehearse(
  useStore: UseStore,
  bundle: string,
  dryRun: boolean,
): Promise<CommitReport> {
  return useStore((store) => (dryRun ? store.rehearse(bundle) : store.commit(bundle)));
}

type FileRequest = BundleRequest & Pick<IngestRequest, 'dataset' | 'pool' | 'useStore'>;

/**
 * Prepares one file.
 * @throws InputError with the first ten faults; nothing of the file is stored
 */
async function prepareFile(request: FileRequest, source: RowSource): Promise<PreparedFile> {
  const { file, dataset } = request;
  await checkInputFile(file, request.mode === 'merge');
  // A pipe can be read only once.
  const readsAgain = (await stat(file)).isFile();
  try {
    return await prepareSource(request, await refusingOthers(dataset, source, readsAgain));
  } catch (error) {
    const canAdvise = error instanceof FaultyFileError && readsAgain;
    throw canAdvise ? await withAdvice(error, source, FIELDS[dataset]) : error;
  }
}

async function prepareSource(request: FileRequest, source: RowSource): Promise<PreparedFile> {
  const { dataset, directory, pool, useStore } = request;
  const unreadable = new FaultLog();
  if (dataset === 'levels') {
    // The price of a snapshot is that of its levels: nothing in the file contradicts a wrong unit.
    const compareWith = (await holdsStore(directory)) ? useStore : undefined;
    const levels = await sortedLevels(request, source, unreadable);
    const chunks = () => levels.chunks();
    return prepareChunks({ ...request, compareWith }, chunks, unreadable).finally(() =>
      levels.close(),
    );
  }
  if (dataset === 'snapshots' || dataset === 'cells') {
    const chunksOf = dataset === 'cells' ? cellChunks : snapshotChunks;
    return prepareChunks(request, (faults) => chunksOf(source, faults, pool), unreadable);
  }
  return prepareTable(
    request,
    dataset,
    rowBatches(source, FIELDS[dataset], unreadable),
    unreadable,
  );
}

/** @param chunks reads the file's chunks, and adds what cannot be read to the faults */
function prepareChunks(
  request: FileRequest & { compareWith?: UseStore | undefined },
  chunks: (faults: FaultLog) => AsyncGenerator<Chunk>,
  unreadable: FaultLog,
): Promise<PreparedFile> {
  const { file, mode, dataset, pool, useStore } = request;
  const headed = (some: AsyncIterable<Chunk>) => withHeads(some, pool);
  const read =
    mode === 'merge'
      ? withBasePrices(file, chunks(new FaultLog()), chunks(unreadable), headed, useStore)
      : chunks(unreadable);
  const together = dataset === 'cells';
  return prepareDepth({ ...request, together }, binChunks(read, pool, mode), unreadable);
}

/**
 * Checks a file without opening it: a pipe can be opened only once.
 * @param twice whether the file will be read twice
 * @throws InputError if it cannot be read, is a directory, an empty gzip file, or a pipe that would be read twice
 */
async function checkInputFile(file: string, twice: boolean): Promise<void> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new InputError(`${file}: ${reasonOf(error.code)}`);
  });
  if (found.isDirectory()) throw new InputError(`${file}: expected a file, found a directory`);
  if (found.isFile() && found.size === 0 && file.toLowerCase().endsWith('.gz')) {
    throw new InputError(`${file}: gzip: the file is cut short`);
  }
  if (twice && !found.isFile()) {
    throw new InputError(`${file}: --merge reads a file twice, which this one does not allow`);
  }
  await access(file, constants.R_OK).catch((error: NodeJS.ErrnoException) => {
    throw new InputError(`${file}: ${reasonOf(error.code)}`);
  });
}

function reasonOf(code = 'unknown'): string {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'no such file';
    case 'EACCES':
    case 'EPERM':
      return 'no permission to read it';
    default:
      return `cannot be read (${code})`;
  }
}
