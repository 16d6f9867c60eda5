/**
 * Memory for the segments of one page after another. The LZ4 library's own is new each time, and tells
 * V8 of pressure with every block: a full collection every dozen pages, which costs more than one.
 */

/** Arrow reads columns where they lie if they start at multiples of 8. */
const ALIGNMENT = 8;
/** Kept at most; a full page's segments take 1.3 MB, those of an aggregate of wide ones more. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

export class PlainRoom {
  private kept = new Uint8Array(0);
  private taken = 0;

  /** Everything that was taken is done with. */
  clear(): void {
    const wanted = Math.min(this.taken, MAX_KEPT_BYTES);
    if (wanted > this.kept.length) this.kept = new Uint8Array(wanted);
    this.taken = 0;
  }

  /** So many bytes, holding anything, until the room is cleared; new ones where it is full. */
  take(bytes: number): Uint8Array<ArrayBuffer> {
    const start = this.taken;
    this.taken += Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
    if (start + bytes > this.kept.length) return new Uint8Array(bytes);
    return this.kept.subarray(start, start + bytes);
  }
}
