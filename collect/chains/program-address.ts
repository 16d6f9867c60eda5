/** Addresses that Solana's programs derive from seeds. */
import { createHash } from 'node:crypto';
import { keyBytes, toBase58 } from './base58.js';

const P = 2n ** 255n - 19n;

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * base) % P;
    base = (base * base) % P;
  }
  return result;
}

/** The curve's constant: -121665 / 121666. */
const D = ((P - 121665n) * power(121666n, P - 2n)) % P;

/**
 * Whether 32 bytes are a compressed point of ed25519: `x^2 = (y^2 - 1) / (d y^2 + 1)` has a root. Such bytes may be
 * someone's public key, so no program's address is one.
 */
export function isOnCurve(bytes: Uint8Array): boolean {
  const bigEndian = Buffer.from(bytes).reverse();
  bigEndian[0] &= 0x7f;
  const y = BigInt(`0x${bigEndian.toString('hex')}`) % P;
  const ySquared = (y * y) % P;
  // A quotient is a square where the product is one.
  const product = ((ySquared - 1n + P) * (D * ySquared + 1n)) % P;
  return product === 0n || power(product, (P - 1n) / 2n) === 1n;
}

/** The address that a program derives from seeds, with the greatest bump seed that gives one. */
export function programAddress(program: string, seeds: readonly Uint8Array[]): string {
  const seed = Buffer.concat(seeds);
  const tail = Buffer.concat([keyBytes(program), Buffer.from('ProgramDerivedAddress')]);
  for (let bump = 255; bump >= 0; bump--) {
    const hash = createHash('sha256').update(seed).update(Uint8Array.of(bump)).update(tail);
    const address = hash.digest();
    if (!isOnCurve(address)) return toBase58(address);
  }
  throw new RangeError(`${program} derives no address from these seeds`);
}
