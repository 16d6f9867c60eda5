/** A brotli stream whose output is taken piece by piece (RFC 7932). */
import zlib from 'node:zlib';

const { BROTLI_OPERATION_FLUSH, BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_PARAM_SIZE_HINT } =
  zlib.constants;

/** A window of 2^18 bytes reaches back over the widest snapshots that are put together. */
export const BROTLI_LGWIN = 18;
export const BROTLI_WINDOW_BYTES = 2 ** BROTLI_LGWIN;
/**
 * From this size on quality 4 looks for matches in the text alone. For shorter texts it looks in
 * brotli's dictionary too, whose words are named by distances that depend on where a text stands.
 */
const SIZE_HINT_BYTES = 2 ** 20;
const CHUNK_BYTES = 512 * 1024;

export class BrotliEncoder {
  readonly #stream: zlib.BrotliCompress;
  #parts: Uint8Array[] = [];

  constructor(quality: number) {
    this.#stream = zlib.createBrotliCompress({
      chunkSize: CHUNK_BYTES,
      params: {
        [BROTLI_PARAM_QUALITY]: quality,
        [BROTLI_PARAM_LGWIN]: BROTLI_LGWIN,
        [BROTLI_PARAM_SIZE_HINT]: SIZE_HINT_BYTES,
      },
    });
    this.#stream.on('data', (part: Uint8Array) => this.#parts.push(part));
  }

  /** Compresses what comes next; the piece ends at a byte's end. The first one holds the head. */
  async piece(text: Uint8Array): Promise<Uint8Array> {
    await new Promise<void>((resolve, reject) => {
      this.#stream.once('error', reject);
      this.#stream.write(text);
      this.#stream.flush(BROTLI_OPERATION_FLUSH, () => {
        this.#stream.off('error', reject);
        // What the stream still holds back it hands over before this.
        setImmediate(resolve);
      });
    });
    const piece = Buffer.concat(this.#parts);
    this.#parts = [];
    return piece;
  }

  close(): void {
    this.#stream.destroy();
  }
}
