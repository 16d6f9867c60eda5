/** Lists where a page's text repeats itself. */
import { matchesAt, MATCH_NUMBERS, memory, textAt, wasm } from './page-memory.js';

/** Lists the matches of a text. There are two: each remembers its part of the text by itself. */
export class Matcher {
  constructor(private readonly id: 0 | 1) {}

  /** Forgets all text before this one. */
  begin(): void {
    wasm.beginMatches(this.id);
  }

  /** From now on no match begins before `taken`, or repeats text before `floor`. */
  limit(taken: number, floor: number): void {
    wasm.limitMatches(this.id, textAt + taken, textAt + floor);
  }

  /** Lists the matches of any text between two positions. */
  ofText(from: number, to: number): Uint32Array {
    return listed(wasm.matchText(this.id, textAt + from, textAt + to));
  }

  /** Lists the matches of the snapshot that was written last, which may repeat the previous snapshot. */
  ofSnapshot(): Uint32Array {
    return listed(wasm.matchSnapshot(this.id));
  }

  /** Like ofSnapshot(), with matches that repeat text of the snapshot itself only. */
  ofSnapshotAlone(): Uint32Array {
    return listed(wasm.matchSnapshotAlone(this.id));
  }

  /**
   * What it has counted since begin(): amounts that equal neither their cell's in the previous snapshot nor the amount
   * before them; those of them that occur elsewhere within reach; and cells that the previous snapshot did not have.
   */
  counts(): { changed: number; strays: number; added: number } {
    return {
      changed: wasm.changedAmounts(this.id),
      strays: wasm.strayAmounts(this.id),
      added: wasm.addedCells(this.id),
    };
  }
}

/** Three numbers for each match: where it begins, its length and its distance. Valid until others are listed. */
function listed(count: number): Uint32Array {
  return new Uint32Array(memory.buffer, matchesAt, MATCH_NUMBERS * count);
}
