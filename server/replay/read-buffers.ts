/** Memory for the files of one page after another: touching fresh memory takes longer than reading into it. */

/** Memory that stays for the next page: more than the files of a full one. */
const MAX_KEPT_BYTES = 2 ** 21;

export class ReadBuffers {
  private readonly kept: ArrayBuffer[] = [];
  private keptBytes = 0;

  /** A buffer of at least `bytes` for file number `index` of a page. The next page may overwrite it. */
  at(index: number, bytes: number): ArrayBuffer {
    const last = this.kept[index];
    if (last !== undefined && last.byteLength >= bytes) return last;
    // Files of similar size use the same buffer.
    const roomy = 2 ** Math.ceil(Math.log2(bytes));
    const keptBytes = this.keptBytes + roomy - (last?.byteLength ?? 0);
    if (keptBytes > MAX_KEPT_BYTES) return new ArrayBuffer(bytes);
    this.keptBytes = keptBytes;
    return (this.kept[index] = new ArrayBuffer(roomy));
  }
}
