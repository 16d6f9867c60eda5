/** Short texts that come again and again in a file's bytes: each is made a string once. */
import type { Buffer } from 'node:buffer';

/** Texts that are remembered, a power of two; of two that share a place the later one stays. */
const PLACES = 2048;
/** Longer texts are made anew each time. */
const MAX_KNOWN_BYTES = 96;

export class KnownTexts {
  private readonly bytes = new Uint8Array(PLACES * MAX_KNOWN_BYTES);
  private readonly texts: string[] = new Array<string>(PLACES).fill('');

  /**
   * The ASCII text of `from <= i < to`.
   * @param hash of these bytes, any
   */
  text(source: Buffer, from: number, to: number, hash: number): string {
    const length = to - from;
    if (length > MAX_KNOWN_BYTES) return source.toString('latin1', from, to);
    const place = (hash ^ (hash >>> 15)) & (PLACES - 1);
    const start = place * MAX_KNOWN_BYTES;
    const { bytes, texts } = this;
    const known = texts[place];
    if (known.length === length) {
      let i = 0;
      while (i < length && bytes[start + i] === source[from + i]) i++;
      if (i === length) return known;
    }
    const text = source.toString('latin1', from, to);
    for (let i = 0; i < length; i++) bytes[start + i] = source[from + i];
    texts[place] = text;
    return text;
  }
}
