/** The buffer to which this thread writes binary pages. */

/** The bytes to write to, and a view of the same bytes. */
export interface PageBuffer {
  readonly out: Uint8Array<ArrayBuffer>;
  readonly view: DataView<ArrayBuffer>;
}

let kept = newBuffer(0);

/**
 * A buffer for a page, which is then compressed or cut to length: a body takes a megabyte or more, which would otherwise
 * be garbage after each page. The limits of a page bound its size. It contains bytes of earlier pages, and is valid until
 * the next call.
 *
 * @param bytes its least length
 */
export function pageBuffer(bytes: number): PageBuffer {
  if (kept.out.length < bytes) kept = newBuffer(bytes);
  return kept;
}

function newBuffer(bytes: number): PageBuffer {
  const out = new Uint8Array(bytes);
  return { out, view: new DataView(out.buffer) };
}
