/** Greatest integer that still takes another digit and stays exact. */
const MAX_MANTISSA = 900_719_925_474_098;
/** Powers of ten that doubles hold exactly. */
const POWERS = Array.from({ length: 23 }, (_, i) => Number(`1e${i}`));
const DECIMAL = /^[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?$/i;

const ZERO = 0x30;
const DOT = 0x2e;

/**
 * The number that the ASCII bytes `from <= i < to` write in decimal, without a sign; NaN where they
 * write none. Equal to `Number(text)`: mantissa and power of ten are exact, so that one division
 * rounds as it does; what does not fit that way is left to it.
 */
export function parseDecimalBytes(bytes: Uint8Array, from: number, to: number): number {
  let mantissa = 0;
  let dot = -1;
  for (let i = from; i < to; i++) {
    const digit = bytes[i] - ZERO;
    if (digit >= 0 && digit <= 9) {
      if (mantissa > MAX_MANTISSA) return parseSlowly(bytes, from, to);
      mantissa = mantissa * 10 + digit;
    } else if (bytes[i] === DOT && dot < 0 && i > from) {
      dot = i;
    } else {
      return parseSlowly(bytes, from, to);
    }
  }
  if (to === from) return NaN;
  const decimals = dot < 0 ? 0 : to - dot - 1;
  return decimals < POWERS.length ? mantissa / POWERS[decimals] : parseSlowly(bytes, from, to);
}

function parseSlowly(bytes: Uint8Array, from: number, to: number): number {
  return parseDecimal(Buffer.from(bytes.subarray(from, to)).toString('latin1'));
}

/** The number that a text writes in decimal, without a sign; NaN where it writes none. */
export function parseDecimal(text: string): number {
  const value = DECIMAL.test(text) ? Number(text) : NaN;
  return value < Infinity ? value : NaN;
}

/** The whole number that ASCII digits write; NaN where they write none or one above 2^53 - 1. */
export function parseIntegerBytes(bytes: Uint8Array, from: number, to: number): number {
  let value = 0;
  for (let i = from; i < to; i++) {
    const digit = bytes[i] - ZERO;
    if (!(digit >= 0 && digit <= 9)) return NaN;
    value = value * 10 + digit;
  }
  return from < to && value <= Number.MAX_SAFE_INTEGER ? value : NaN;
}
