/** Bits into bytes, first bit lowest, as deflate has them; the bytes are kept from text to text. */

/** What a writer may touch after the end of what it writes: bits go out in words. */
export const DEFLATE_SLACK_BYTES = 8;

export class BitWriter {
  private out = new Uint8Array(0);
  /** Of the room reserved; another one after each reserve(). */
  view = new DataView(this.out.buffer);
  /** Whole bytes written. */
  at = 0;
  /** The bits after them, and how many they are: below 8. */
  bits = 0;
  count = 0;

  clear(): void {
    this.goBackTo(0);
  }

  /** Takes back what was written behind the whole byte `at`. */
  goBackTo(at: number): void {
    this.at = at;
    this.bits = this.count = 0;
  }

  /** Makes room for so many bytes more, slack counted. */
  reserve(bytes: number): void {
    if (this.out.length - this.at >= bytes) return;
    const out = new Uint8Array(Math.max(this.at + bytes, 2 * this.out.length));
    out.set(this.out.subarray(0, this.at));
    this.out = out;
    this.view = new DataView(out.buffer);
  }

  /** Puts up to 24 bits down, in room that was reserved. */
  put(value: number, bits: number): void {
    this.bits |= value << this.count;
    this.count += bits;
    this.view.setInt32(this.at, this.bits, true);
    this.at += this.count >> 3;
    this.bits >>>= this.count & 24;
    this.count &= 7;
  }

  /** Fills the last byte up with zeros. */
  align(): void {
    if (this.count > 0) this.put(0, 8 - this.count);
  }

  /** The bytes written, as a view. */
  written(): Uint8Array<ArrayBuffer> {
    return this.out.subarray(0, this.at);
  }
}
