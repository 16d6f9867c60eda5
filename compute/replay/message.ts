/** Renders the snapshots of a live message: a task of the pool. */
import type { CellSlots } from './names.js';
import { columnsOf, draw, type CellInput, PAGE_LIMITS } from './page.js';
import { encodeSnapshots, type MessageFormat } from './page-format.js';
import { newCells, runsOf } from './render.js';

/** Plain data and bytes that can cross threads: slots stand for a token's markets, of which there may be very many. */
export interface MessageInput extends Omit<CellInput, 'runs'> {
  /** The selection's `run` indexes them. */
  segments: readonly Uint8Array[];
  slots: CellSlots;
  format: MessageFormat;
}

interface RenderedSnapshots {
  /** A document whose only field is `snapshots`. It owns its whole ArrayBuffer, so it can be transferred. */
  body: Uint8Array<ArrayBuffer>;
  /** The slots that have cells, ascending: the indexes of the cells refer to this list. Empty with group=all. */
  slots: Uint16Array;
  snapshotCount: number;
  rowCount: number;
}

/**
 * Decodes the segments, and encodes as many snapshots of the selection as a page holds.
 * @throws Error if a segment is damaged, or the selection does not match the segments and slots
 */
export function renderMessage({
  segments,
  selection,
  slots,
  query,
  format,
}: MessageInput): RenderedSnapshots {
  const input = { runs: runsOf(segments), selection, query };
  const draft = draw(input, slots, PAGE_LIMITS, () => undefined, newCells);
  const columns = columnsOf(draft, query);
  const used = columns.index === null ? [] : usedSlots(draft.slotCells);
  if (columns.index !== null) renumber(columns.index, used, slots.count);
  return {
    body: encodeSnapshots(columns, format),
    slots: Uint16Array.from(used),
    snapshotCount: columns.snapshotCount,
    rowCount: columns.bin.length,
  };
}

function usedSlots(slotCells: Uint32Array): number[] {
  const used: number[] = [];
  slotCells.forEach((cells, slot) => {
    if (cells > 0) used.push(slot);
  });
  return used;
}

/** Replaces each cell's slot with its place among those in use. */
function renumber(index: Uint16Array, used: readonly number[], slotCount: number): void {
  if (used.length === slotCount) return;
  const placeOf = new Uint16Array(slotCount);
  used.forEach((slot, place) => (placeOf[slot] = place));
  for (let i = 0; i < index.length; i++) index[i] = placeOf[index[i]];
}
