/** Symbols as chains hold them. */
const MAX_SYMBOL_BYTES = 32;

/** The text of a symbol, without the zeros that fill it; null unless it is short and can be seen. */
export function symbolOf(bytes: Uint8Array): string | null {
  const text = Buffer.from(bytes).toString('utf8').replace(/\0+$/, '').trim();
  const isPlain = /^[\p{L}\p{N}\p{P}\p{S}]+$/u.test(text) && !text.includes('\u{fffd}');
  return isPlain && Buffer.byteLength(text) <= MAX_SYMBOL_BYTES ? text : null;
}
