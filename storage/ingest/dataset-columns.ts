/** The columns of each dataset. */
import { CELL_COLUMNS, SNAPSHOT_COLUMNS, type WantedColumn } from './columns.js';
import type { Dataset } from './datasets.js';
import { FLAT_READERS, TOKEN_FIELDS } from './flat-fields.js';
import { HOLDER_FIELDS } from './holders.js';
import { LEVEL_COLUMNS } from './levels.js';
import { wantedColumn } from './rows.js';

export function columnsOf(dataset: Dataset): readonly WantedColumn[] {
  switch (dataset) {
    case 'snapshots':
      return SNAPSHOT_COLUMNS;
    case 'cells':
      return CELL_COLUMNS;
    case 'levels':
      return LEVEL_COLUMNS;
    case 'tokens':
      return TOKEN_FIELDS.map(wantedColumn);
    case 'holders':
      return HOLDER_FIELDS.map(wantedColumn);
    default:
      return FLAT_READERS[dataset].fields.map(wantedColumn);
  }
}
