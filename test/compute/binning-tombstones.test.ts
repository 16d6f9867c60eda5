import { describe, expect, it } from 'vitest';
import type { BinnedChunk } from '../../compute/ingest/binned-chunk.js';
import { cellColumnsOfRows } from '../../compute/ingest/cell-columns.js';
import { packCellColumns } from '../../compute/ingest/flat-cells.js';
import { binSnapshotRows } from '../../compute/ingest/snapshots.js';
import { snapshotsOf } from '../support/stores.js';

const MINT = 'So11111111111111111111111111111111111111112';
const head = { chain: 'mainchain', address: MINT, t: 5, price_usd: 1 };
const market = (source: string, cells: number[][]) => ({ source, exchange_type: 'DEX', cells });
const flat = (source: string, bin: number, support: number) => ({
  ...head,
  source,
  exchange_type: 'DEX',
  bin,
  support_usd: support,
  resistance_usd: 0,
});
const cellsOf = ({ runs: [{ run }] }: BinnedChunk) => snapshotsOf(run)[0].cells;

describe.each(['merge', 'replace'] as const)('Markets without cells in mode %s', (mode) => {
  const carried = (index: number) => (mode === 'merge' ? [[index, -232, 0, 0]] : []);

  it('nested: no cells, all under 1 USD, or all outside the ladder', () => {
    const markets = [
      market('None', []),
      market('A', [[3, 2, 1]]),
      market('Small', [[0, 0.4, 0.5]]),
      market('Far', [[400, 9, 9]]),
    ];
    const batch = binSnapshotRows([{ ...head, markets }], { firstLine: 1, mode });
    expect(cellsOf(batch)).toEqual([...carried(0), [1, 3, 200, 100], ...carried(2), ...carried(3)]);
    expect(batch).toMatchObject({ cells: 1, snapshots: 1, droppedLevels: 1, faultCount: 0 });
  });

  it('nested: emptied by a later row of the snapshot', () => {
    const rows = [
      { ...head, markets: [market('A', [[3, 2, 1]]), market('B', [[3, 2, 1]])] },
      { ...head, markets: [market('A', [])] },
    ];
    const batch = binSnapshotRows(rows, { firstLine: 1, mode });
    const expected = mode === 'merge' ? [...carried(0), [1, 3, 200, 100]] : [];
    expect(cellsOf(batch)).toEqual(expected);
    expect(batch.cells).toBe(mode === 'merge' ? 1 : 0);
  });

  it('flat: all under 1 USD, or all outside the ladder, before and after others', () => {
    const rows = [
      flat('Far', 300, 8),
      flat('Far', -300, 8),
      flat('Small', 0, 0.9),
      flat('A', 2, 7),
      flat('A', 500, 7),
      flat('Far too', 243, 0),
    ];
    const columns = cellColumnsOfRows(rows);
    const batch = packCellColumns({ ...columns, firstLine: 1, mode });
    expect(cellsOf(batch)).toEqual([...carried(0), ...carried(1), [2, 2, 700, 0], ...carried(3)]);
    expect(batch).toMatchObject({ cells: 1, droppedLevels: 3, faultCount: 0 });
  });
});
