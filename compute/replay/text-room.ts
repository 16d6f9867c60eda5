/**
 * Room for a page's bytes before they are compressed or cut to length. It is kept from page to page:
 * a body is a megabyte and more, and what is not thrown away need not be collected.
 */

/** What a writer may touch after the end of what it writes: numbers are stored in words. */
export const ROOM_SLACK_BYTES = 8;

/** The bytes to write to, and the same for numbers of several bytes. */
export interface TextRoom {
  readonly out: Uint8Array<ArrayBuffer>;
  readonly view: DataView<ArrayBuffer>;
}

let kept = roomOf(0);

/**
 * Room for at least `bytes`, slack not counted; bounded by the limits of a page. What it holds is
 * left from earlier pages, and what is written to it lasts until room is asked for again.
 */
export function roomFor(bytes: number): TextRoom {
  if (kept.out.length < bytes + ROOM_SLACK_BYTES) kept = roomOf(bytes + ROOM_SLACK_BYTES);
  return kept;
}

function roomOf(bytes: number): TextRoom {
  const out = new Uint8Array(bytes);
  return { out, view: new DataView(out.buffer) };
}
