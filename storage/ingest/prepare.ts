/** Reads, validates and bins one file of a dataset into a bundle that a store can commit. */
import { FaultLog } from '../../compute/ingest/faults.js';
import type { ComputePool } from '../../compute/pool.js';
import type { StoreOperations } from '../contract.js';
import { loadBasePrices } from './base-prices.js';
import type { Dataset, FileFormat } from './datasets.js';
import { FLAT_READERS } from './flat-datasets.js';
import { flatRows } from './flat-rows.js';
import { HOLDER_FIELDS } from './holder-fields.js';
import { checkInputFile } from './input-file.js';
import { cellPieces, snapshotPieces, type Piece } from './pieces.js';
import { preparePieces } from './prepare-depth.js';
import { prepareHolderRows } from './prepare-holders.js';
import { prepareFlatRows, prepareTokenRows } from './prepare-rows.js';
import type { BundleRequest, PreparedFile } from './prepared.js';
import { TOKEN_FIELDS } from './token-fields.js';

export interface FileRequest extends BundleRequest {
  dataset: Dataset;
  format: FileFormat;
  pool: ComputePool;
  /** Asked for prices, in mode `merge` alone. */
  store: Pick<StoreOperations, 'snapshotPrices'>;
}

/**
 * Prepares one file.
 * @throws InputError with the first ten faults; nothing of the file stays
 */
export async function prepareFile(request: FileRequest): Promise<PreparedFile> {
  const { file, dataset, format } = request;
  await checkInputFile(file, request.mode === 'merge');
  const unreadable = new FaultLog();
  switch (dataset) {
    case 'tokens': {
      const rows = flatRows(file, format, TOKEN_FIELDS, unreadable);
      return prepareTokenRows(request, rows, unreadable);
    }
    case 'snapshots':
    case 'cells':
      return prepareDepthFile(request, dataset, unreadable);
    case 'holders': {
      const rows = flatRows(file, format, HOLDER_FIELDS, unreadable);
      return prepareHolderRows(request, rows, unreadable);
    }
    case 'dca_orders':
    case 'limit_orders':
    case 'dlmm_pools':
    case 'dlmm_hours':
    case 'token_hours': {
      const rows = flatRows(file, format, FLAT_READERS[dataset].fields, unreadable);
      return prepareFlatRows(request, dataset, rows, unreadable);
    }
  }
}

async function prepareDepthFile(
  request: FileRequest,
  dataset: 'snapshots' | 'cells',
  unreadable: FaultLog,
): Promise<PreparedFile> {
  const { file, format } = request;
  const pieces = (faults: FaultLog): AsyncGenerator<Piece> =>
    dataset === 'cells' ? cellPieces(file, format, faults) : snapshotPieces(file, format);
  const base =
    request.mode === 'merge'
      ? await loadBasePrices(file, pieces(new FaultLog()), request.store)
      : null;
  const together = dataset === 'cells';
  return preparePieces({ ...request, together }, pieces(unreadable), base, unreadable);
}
