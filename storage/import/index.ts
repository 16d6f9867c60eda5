import { UsageError } from '../errors.js';
import { importBinanceStream } from './binance-stream.js';
import { CLMM_POOLS } from './clmm-pools.js';
import { CP_PAIRS } from './cp-pairs.js';
import { DLMM_BINS } from './dlmm-bins.js';
import type { ImportFormat } from './formats.js';
import type { ImportOptions, ImportToken } from './options.js';
import { importPools } from './pools.js';
import type { ImportReport } from './report.js';
import { importSolanaTokenList } from './solana-token-list.js';
import { importTardisIncremental } from './tardis-incremental.js';
import { importTardisSnapshot } from './tardis-snapshot.js';
import { importWormholeCsv } from './wormhole-csv.js';

export * from './formats.js';
export {
  defaultImportOptions,
  parseImportOptions,
  type ImportOptions,
  type ImportToken,
  type RawImportFlags,
} from './options.js';
export { ImportReport, MAX_REPORTED, type FeedNote, type LeftOut, type Tally } from './report.js';

/**
 * Reads the files (plain or gzip) of one import, in order, and yields rows of the format's dataset
 * (`IMPORT_FORMAT_SPECS[format].dataset`) as data.md section 3 lays them out, one at a time as they
 * are asked for; `report` is up to date whenever a row comes. Throws an InputError
 * (`file:line: field: what`) at damaged input, a UsageError without the token that a format needs.
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
}

function rowsOf(
  format: ImportFormat,
  files: readonly string[],
  options: ImportOptions,
  report: ImportReport,
): AsyncIterable<object> {
  const token = () => neededToken(format, options);
  switch (format) {
    case 'tardis-incremental-l2':
      return importTardisIncremental(files, token(), options, report);
    case 'tardis-book-snapshot':
      return importTardisSnapshot(files, token(), options, report);
    case 'binance-stream':
      return importBinanceStream(files, token(), options, report);
    case 'clmm-pools':
      return importPools(CLMM_POOLS, files, token(), options, report);
    case 'dlmm-bins':
      return importPools(DLMM_BINS, files, token(), options, report);
    case 'cp-pairs':
      return importPools(CP_PAIRS, files, token(), options, report);
    case 'solana-token-list':
      return importSolanaTokenList(files, report);
    case 'wormhole-csv':
      return importWormholeCsv(files, report);
  }
}

function neededToken(format: ImportFormat, options: ImportOptions): ImportToken {
  if (options.token === undefined) {
    throw new UsageError(`--token: ${format} needs it (CHAIN:ADDRESS)`);
  }
  return options.token;
}
