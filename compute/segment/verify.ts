/** Compares a stored segment with its entry. */
import { crc32 } from 'node:zlib';
import { MAX_BIN, MIN_BIN } from '../ladder.js';
import type { RunColumns, RunKey, SnapshotRun } from './run.js';
import { lz4Decompress } from './lz4.js';
import { runOfSample } from './sample.js';
import { decodeSegment, describeBand, digestsOf, type StoredBlock } from './segment.js';

/** What the store states about a segment. */
interface SegmentEntry extends RunKey {
  cells: number;
  times: Uint32Array;
  bandCells: Uint32Array;
  digests: Uint32Array;
  /** Number of markets of its token. */
  markets: number;
}

/** What is wrong with a segment, in words; null if nothing is. */
export function segmentFault(
  { block, crc32: written }: StoredBlock,
  entry: SegmentEntry,
): string | null {
  if (crc32(block) !== written) return 'its checksum does not match';
  let run: SnapshotRun;
  try {
    run = decodeSegment(block);
  } catch (error) {
    return `it cannot be decoded: ${error instanceof Error ? error.message : 'unknown'}`;
  }
  const { chain, address, tier } = run;
  if (chain !== entry.chain || address !== entry.address || tier !== entry.tier) {
    return `it is one of ${chain}:${address} (${tier})`;
  }
  if (!isSame(run.t, entry.times)) return 'its times are not those of its entry';
  const cells = run.cellOffsets[run.t.length];
  if (cells !== entry.cells) return `it has ${cells} cells, its entry ${entry.cells}`;
  if (!isSame(describeBand(run), entry.bandCells)) return 'its entry counts other cells';
  if (!isSame(digestsOf(run), entry.digests)) return 'its digests do not match';
  if (!run.priceUsd.every((price) => price > 0 && price < Infinity)) return 'it has a wrong price';
  if (!areCellsInOrder(run)) return 'its cells are not in order';
  if (run.market.some((market) => market >= entry.markets)) return 'it names an unknown market';
  return null;
}

/** What is wrong with a segment's sample, in words; null if nothing is. */
export function sampleFault(
  { block, crc32: written }: StoredBlock,
  { times, digests }: Pick<SegmentEntry, 'times' | 'digests'>,
): string | null {
  if (crc32(block) !== written) return 'the checksum of its sample does not match';
  let run: RunColumns;
  try {
    run = runOfSample(new Uint8Array(lz4Decompress(block)));
  } catch (error) {
    return `its sample cannot be decoded: ${error instanceof Error ? error.message : 'unknown'}`;
  }
  const own = digestsOf(run);
  const isHeld = (t: number, i: number): boolean => {
    const row = times.indexOf(t);
    return row >= 0 && digests[row] === own[i];
  };
  return run.t.every(isHeld) ? null : 'its sample has other snapshots than it';
}

export function isAscending(times: Uint32Array): boolean {
  return times.every((t, i) => i === 0 || t > times[i - 1]);
}

function areCellsInOrder({ t, cellOffsets, market, bin }: SnapshotRun): boolean {
  for (let s = 0; s < t.length; s++) {
    for (let c = cellOffsets[s]; c < cellOffsets[s + 1]; c++) {
      if (bin[c] < MIN_BIN || bin[c] > MAX_BIN) return false;
      if (c === cellOffsets[s] || market[c] > market[c - 1]) continue;
      if (market[c] < market[c - 1] || bin[c] <= bin[c - 1]) return false;
    }
  }
  return true;
}

function isSame(a: Uint32Array, b: Uint32Array): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}
