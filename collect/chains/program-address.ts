/** Addresses that Solana's programs derive from seeds. */
import { createHash } from 'node:crypto';
import { keyBytes, toBase58 } from '../../compute/base58.js';

const P = 2n ** 255n - 19n;
/** The denominator and the numerator of the curve's constant: -121665 / 121666. */
const [D_BELOW, D_ABOVE] = [121_666n, P - 121_665n];

/** Jacobi's symbol by the law of reciprocity; `n` odd. For a prime it is 1 if `a` is a square, and 0 if `a` is 0. */
function jacobi(a: bigint, n: bigint): number {
  let sign = 1;
  while (a !== 0n) {
    let low = Number(BigInt.asUintN(32, a));
    for (; low === 0; low = Number(BigInt.asUintN(32, a))) a >>= 32n;
    const twos = 31 - Math.clz32(low & -low);
    a >>= BigInt(twos);
    const [aRest, nRest] = [Number(BigInt.asUintN(3, a)), Number(BigInt.asUintN(3, n))];
    if (twos % 2 === 1 && (nRest === 3 || nRest === 5)) sign = -sign;
    if (aRest % 4 === 3 && nRest % 4 === 3) sign = -sign;
    [a, n] = [n % a, a];
  }
  return n === 1n ? sign : 0;
}

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
  const below = (D_ABOVE * ySquared + D_BELOW) * D_BELOW;
  return jacobi(((ySquared - 1n + P) * (below % P)) % P, P) >= 0;
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
