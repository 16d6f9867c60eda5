import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isKey } from '../../compute/base58.js';
import { chainOfAddress } from '../../compute/market.js';

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Bytes in base58 by long division, as defined. */
function base58Of(bytes: Uint8Array): string {
  let value = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  for (; value > 0n; value /= 58n) text = BASE58[Number(value % 58n)] + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros === -1 ? bytes.length : zeros) + text;
}

describe('an address of mainchain', () => {
  const bytes = (length: number) =>
    fc
      .tuple(fc.nat(length), fc.uint8Array({ minLength: length, maxLength: length }))
      .map(([zeros, some]) => some.fill(0, 0, zeros));

  it('can be a mint if it is any 32 bytes in base58', () => {
    const isMint = (address: string) => [chainOfAddress(address), isKey(address)];
    fc.assert(
      fc.property(bytes(32), (some) => {
        expect(isMint(base58Of(some))).toEqual(['mainchain', true]);
      }),
    );
    expect(isMint('1'.repeat(32))).toEqual(['mainchain', true]);
    expect(isMint(base58Of(new Uint8Array(32).fill(255)))).toEqual(['mainchain', true]);
  });

  it('cannot be one with more or fewer bytes, however many characters it has', () => {
    fc.assert(
      fc.property(fc.integer({ min: 20, max: 34 }).chain(bytes), (some) => {
        const address = base58Of(some);
        fc.pre(some.length !== 32 && address.length >= 32 && address.length <= 44);
        expect(isKey(address)).toBe(false);
      }),
    );
    for (const text of ['z'.repeat(44), 'z'.repeat(32), '1'.repeat(33), '1'.repeat(44)]) {
      expect(isKey(text), text).toBe(false);
    }
  });
});
