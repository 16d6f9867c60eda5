/** The columns of each dataset. */
import { CELL_COLUMNS, SNAPSHOT_COLUMNS, type WantedColumn } from './columns.js';
import type { Dataset } from './datasets.js';
import { FLAT_READERS, HOLDER_FIELDS, TOKEN_FIELDS } from './flat-fields.js';
import { LEVEL_COLUMNS } from './levels.js';

export function columnsOf(dataset: Dataset): readonly WantedColumn[] {
  switch (dataset) {
    case 'snapshots':
      return SNAPSHOT_COLUMNS;
    case 'cells':
      return CELL_COLUMNS;
    case 'levels':
      return LEVEL_COLUMNS;
    case 'tokens':
      return TOKEN_FIELDS;
    case 'holders':
      return HOLDER_FIELDS;
    default:
      return FLAT_READERS[dataset].fields;
  }
}
