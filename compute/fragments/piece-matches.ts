/** Follows the writing of a segment's snapshots and makes pieces of them, in both forms. */
import { ByteMatcher } from '../deflate/byte-matches.js';
import type { PieceEncoder } from '../deflate/encoder.js';
import {
  type AmountRange,
  emptyMarks,
  type SnapshotColumns,
  type SnapshotMarks,
  type TextFollower,
} from '../replay/json.js';
import { PageMatcher, SeenAmounts, takeAmounts } from '../replay/matches.js';
import type { Pieces } from './pack.js';

/** No amounts: of a snapshot that nothing stands before. */
const NO_AMOUNTS: AmountRange = emptyMarks().support;

/**
 * Each snapshot becomes two pieces: `alone` repeats only what stands in the snapshot itself, and
 * `linked`, with the comma before it, what stands in the one before it, too. What it works in is kept
 * from segment to segment.
 */
export class PieceMatcher implements TextFollower {
  private readonly linkedEncoder: PieceEncoder;
  private readonly linked: PageMatcher;
  private readonly aloneEncoder: PieceEncoder;
  private readonly bytes = new ByteMatcher();
  private readonly seen = new SeenAmounts();
  private text: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  private marks = emptyMarks();
  /** Where the snapshot before the next one begins. */
  private lastStart = 0;
  private linkedEnds: number[] = [];
  private aloneEnds: number[] = [];

  constructor(newEncoder: () => PieceEncoder) {
    this.linkedEncoder = newEncoder();
    this.linked = new PageMatcher(this.linkedEncoder, false);
    this.aloneEncoder = newEncoder();
  }

  begin(text: Uint8Array<ArrayBuffer>): void {
    this.text = text;
    this.linked.begin(text, 0);
    this.aloneEncoder.begin(text);
    this.bytes.clear();
    this.seen.clear();
    this.lastStart = 0;
    this.linkedEnds = [];
    this.aloneEnds = [];
  }

  marksFor(from: number, to: number): SnapshotMarks {
    this.marks = this.linked.marksFor(from, to);
    return this.marks;
  }

  follow(columns: SnapshotColumns, s: number): void {
    const { start } = this.marks;
    this.takeAlone(columns);
    this.takeLinked(columns, s);
    this.lastStart = start;
  }

  /** The pieces of the snapshots since begin(). */
  pieces(): Record<'alone' | 'linked', Pieces> {
    return {
      alone: piecesOf(this.aloneEncoder, this.aloneEnds),
      linked: piecesOf(this.linkedEncoder, this.linkedEnds),
    };
  }

  private takeAlone({ supportCents, resistanceCents }: SnapshotColumns): void {
    const encoder = this.aloneEncoder;
    const text = this.text;
    const seen = this.seen;
    const { start, supportKey, support, resistance, end } = this.marks;
    encoder.skip(start);
    this.bytes.floor = seen.floor = start;
    this.bytes.take(encoder, text, start, supportKey);
    takeAmounts(encoder, text, supportCents, support, NO_AMOUNTS, null, seen, end);
    takeAmounts(encoder, text, resistanceCents, resistance, NO_AMOUNTS, null, seen, end);
    this.aloneEnds.push(encoder.endPiece(end));
  }

  private takeLinked(columns: SnapshotColumns, s: number): void {
    const encoder = this.linkedEncoder;
    const { start, end } = this.marks;
    // The comma as it is: with what stands before it, the last snapshot's would be in no page.
    if (s > 0) encoder.plain(start);
    this.linked.reachBackTo(this.lastStart);
    this.linked.follow(columns, s);
    if (s === 0) encoder.skip(end);
    this.linkedEnds.push(s === 0 ? 0 : encoder.endPiece(end));
  }
}

function piecesOf(encoder: PieceEncoder, ends: readonly number[]): Pieces {
  return { offsets: Uint32Array.of(0, ...ends), bytes: encoder.pieces() };
}
