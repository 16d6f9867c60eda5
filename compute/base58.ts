/** Base58, as Solana writes addresses. */

/** By value. */
export const BASE58_DIGITS = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

export const KEY_BYTES = 32;

/** Values of the digits, by character code; 255: no digit. */
const VALUES = new Uint8Array(128).fill(255);
for (let value = 0; value < BASE58_DIGITS.length; value++) {
  VALUES[BASE58_DIGITS.charCodeAt(value)] = value;
}

/** 44 digits, the most of a key, are below 2^260: ten limbs, whose products with 58 stay below 2^32. */
const LIMB_BITS = 26;
const LIMBS = new Uint32Array(10);
const MAX_KEY_DIGITS = 44;

/** Puts the number that the text writes into LIMBS. @returns its bytes with leading zeros; -1 if it is no base58, or too long */
function decode(text: string): number {
  if (text.length > MAX_KEY_DIGITS) return -1;
  LIMBS.fill(0);
  for (let i = 0; i < text.length; i++) {
    let carry = VALUES[text.charCodeAt(i)] ?? 255;
    if (carry === 255) return -1;
    for (let limb = 0; limb < LIMBS.length; limb++) {
      const product = LIMBS[limb] * 58 + carry;
      LIMBS[limb] = product & (2 ** LIMB_BITS - 1);
      carry = product >>> LIMB_BITS;
    }
  }
  let zeros = 0;
  while (text[zeros] === BASE58_DIGITS[0]) zeros++;
  let top = LIMBS.length - 1;
  while (top > 0 && LIMBS[top] === 0) top--;
  const bits = LIMB_BITS * top + 32 - Math.clz32(LIMBS[top]);
  return zeros + Math.ceil(bits / 8);
}

/** Whether a text decodes to exactly 32 bytes, as every key, and so every address, does. */
export function isKey(text: string): boolean {
  return decode(text) === KEY_BYTES;
}

/** The 32 bytes of an address. @throws RangeError if the text is none */
export function keyBytes(address: string): Uint8Array {
  if (!isKey(address)) throw new RangeError(`not a base58 address of 32 bytes: ${address}`);
  const bytes = new Uint8Array(KEY_BYTES);
  for (let byte = 0; byte < KEY_BYTES; byte++) {
    const [limb, shift] = [Math.floor((8 * byte) / LIMB_BITS), (8 * byte) % LIMB_BITS];
    const low = LIMBS[limb] >>> shift;
    const high = shift > LIMB_BITS - 8 ? LIMBS[limb + 1] << (LIMB_BITS - shift) : 0;
    bytes[KEY_BYTES - 1 - byte] = low | high;
  }
  return bytes;
}

/** So many digits at once: their value times 256 stays exact in a double. */
const GROUP = 5;
const GROUP_VALUE = 58 ** GROUP;

export function toBase58(bytes: Uint8Array): string {
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros++;
  // Groups of five digits, the lowest first.
  const groups: number[] = [];
  for (let i = zeros; i < bytes.length; i++) {
    let carry = bytes[i];
    for (let group = 0; group < groups.length || carry > 0; group++) {
      const value = (groups[group] ?? 0) * 256 + carry;
      groups[group] = value % GROUP_VALUE;
      carry = Math.floor(value / GROUP_VALUE);
    }
  }
  let digits = '';
  for (const group of groups) {
    let rest = group;
    for (let i = 0; i < GROUP; i++, rest = Math.floor(rest / 58)) {
      digits = BASE58_DIGITS[rest % 58] + digits;
    }
  }
  return BASE58_DIGITS[0].repeat(zeros) + digits.replace(/^1+/, '');
}
