/** Base58 as addresses of Solana are written. */
import { BASE58_DIGITS } from '../../compute/market.js';

export const KEY_BYTES = 32;

export function toBase58(bytes: Uint8Array): string {
  let value = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  for (; value > 0n; value /= 58n) text = BASE58_DIGITS[Number(value % 58n)] + text;
  let zeros = 0;
  while (bytes[zeros] === 0) zeros++;
  return BASE58_DIGITS[0].repeat(zeros) + text;
}

/** The 32 bytes of an address. @throws RangeError if the text is none */
export function keyBytes(address: string): Buffer {
  let value = 0n;
  for (const character of address) {
    const digit = BASE58_DIGITS.indexOf(character);
    if (digit < 0) throw new RangeError(`not base58: ${address}`);
    value = value * 58n + BigInt(digit);
  }
  const hex = value.toString(16).padStart(KEY_BYTES * 2, '0');
  const bytes = Buffer.from(hex, 'hex');
  if (hex.length !== KEY_BYTES * 2 || toBase58(bytes) !== address) {
    throw new RangeError(`not an address of ${KEY_BYTES} bytes: ${address}`);
  }
  return bytes;
}
