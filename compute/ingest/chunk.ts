/** Parts of a file of a depth dataset, which the pool reads and bins independently. */
import type { BinnedChunk, Binning } from './binned-chunk.js';
import type { CellColumns } from './cell-columns.js';
import { FaultLog, headOfRow, nameOfSnapshot, type SnapshotHead } from './fields.js';
import { type CellRows, packCellColumns } from './flat-cells.js';
import { eachJsonLine } from './json-lines.js';
import { headsOfLevels, type LevelRows, packLevels } from './level-rows.js';
import { NumberLists } from './number-lists.js';
import { binSnapshotLines, type SnapshotLines } from './snapshots.js';

/** A part of a file. Those of `cells` and `levels` end at the end of a snapshot. */
export type Chunk =
  | ({ kind: 'snapshotLines' } & SnapshotLines)
  | ({ kind: 'cellColumns' } & CellRows)
  | ({ kind: 'levelRows' } & LevelRows);

export function binChunk(chunk: Chunk & Binning): BinnedChunk {
  switch (chunk.kind) {
    case 'snapshotLines':
      return binSnapshotLines(chunk);
    case 'cellColumns':
      return packCellColumns(chunk);
    case 'levelRows':
      return packLevels(chunk);
  }
}

/** The snapshots that the rows of a chunk name, each with the price of its first row; NaN: it has none. */
export function headsOfChunk(chunk: Chunk): SnapshotHead[] {
  const heads = new Map<string, SnapshotHead>();
  const take = (row: unknown): void => {
    const head = headOfRow(row);
    const name = head === null ? '' : nameOfSnapshot(head);
    if (head !== null && !heads.has(name)) heads.set(name, head);
  };
  switch (chunk.kind) {
    case 'snapshotLines':
      eachJsonLine(chunk.bytes, chunk.firstLine, new FaultLog(), take, new NumberLists());
      break;
    case 'cellColumns':
      takeHeads(chunk, take);
      break;
    case 'levelRows':
      headsOfLevels(chunk).forEach(take);
  }
  return [...heads.values()];
}

/** Takes the fields of the head of each row that differ from those of the row before. */
function takeHeads({ starts, texts, t, price_usd }: CellColumns, take: (row: unknown) => void) {
  const { chain, address, tier } = texts;
  for (let row = 0, run = -1; row < t.length; row++) {
    const isNewRun = row === starts[run + 1];
    if (isNewRun) run++;
    if (!isNewRun && t[row] === t[row - 1]) continue;
    take({
      chain: chain.values[chain.codes[run]],
      address: address.values[address.codes[run]],
      t: t[row],
      tier: tier.values[tier.codes[run]],
      price_usd: price_usd[row],
    });
  }
}
