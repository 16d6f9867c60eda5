/** Bins raw market states onto the ladder. */
import { packCellColumns } from '../../compute/ingest/flat-cells.js';
import { binSnapshotLines, binSnapshotRows } from '../../compute/ingest/snapshots.js';
import { benchCase, type BenchCase } from '../case.js';
import { BODY_KINDS, LEVELS_OF_BODY, bodyLines, bodyRows } from '../data/bodies.js';
import { cellColumns } from '../data/columns.js';
import type { TokenHistory } from '../data/pages.js';
import { digestOfBatch } from '../digest.js';

/** Snapshots that one operation bins. */
const SNAPSHOTS = 32;
const OPTIONS = { firstLine: 1, mode: 'replace' } as const;

/** @param page the history whose cells packCellColumns packs, as flat rows */
export function binningCases(page: TokenHistory): BenchCase[] {
  const bodies = BODY_KINDS.map((kind) => {
    const rows = bodyRows(kind, SNAPSHOTS);
    return benchCase({
      name: `binning/${kind}`,
      run: () => binSnapshotRows(rows, OPTIONS),
      digest: digestOfBatch,
      work: { snapshots: SNAPSHOTS, levels: SNAPSHOTS * LEVELS_OF_BODY[kind] },
    });
  });
  const bytes = bodyLines(SNAPSHOTS);
  const columns = { ...cellColumns(page), ...OPTIONS };
  return [
    ...bodies,
    benchCase({
      name: 'binning/binSnapshotLines',
      run: () => binSnapshotLines({ bytes, ...OPTIONS }),
      digest: digestOfBatch,
      work: { snapshots: SNAPSHOTS },
      inputBytes: bytes.length,
    }),
    benchCase({
      name: 'binning/packCellColumns',
      run: () => packCellColumns(columns),
      digest: digestOfBatch,
      work: { rows: columns.t.length },
    }),
  ];
}
