import { hash, keyOf } from './hash.js';

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const MINT_BYTES = 32;
const EVM_BYTES = 20;

function hexOf(name: string, bytes: number): string {
  const key = keyOf(0, name);
  return Array.from({ length: bytes }, (_, i) =>
    (hash(key, i) & 0xff).toString(16).padStart(2, '0'),
  ).join('');
}

/** A base58 address of 32 bytes, made from a name: the same in every demo, whatever its seed. */
export function base58Address(name: string): string {
  let value = BigInt(`0x1${hexOf(name, MINT_BYTES)}`) - (1n << 256n);
  let text = '';
  for (; value > 0n; value /= 58n) text = BASE58[Number(value % 58n)] + text;
  // A leading zero byte is written as one '1'; the hash of a name has at most a few of them.
  for (const byte of hexOf(name, MINT_BYTES).match(/../g) ?? []) {
    if (byte !== '00') break;
    text = `1${text}`;
  }
  return text;
}

/** A `0x` address made from a name. */
export function evmAddress(name: string): string {
  return `0x${hexOf(name, EVM_BYTES)}`;
}
