import { afterEach, describe, expect, it, vi } from 'vitest';
import { settingsOf } from '../support/settings.js';

const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const USDT = 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB';
const SOL = 'So11111111111111111111111111111111111111112';
const OTHER = 'A'.repeat(40);

describe('--quote-tokens', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('default to dollars, then the native token', () => {
    expect(settingsOf([]).quotes).toEqual([USDC, USDT, SOL]);
    expect(settingsOf(['--native-mint', OTHER]).quotes).toEqual([USDC, USDT, OTHER]);
  });

  it('keep the given order, from the flag or the variable', () => {
    expect(settingsOf(['--quote-tokens', `${SOL}, ${OTHER}`]).quotes).toEqual([SOL, OTHER]);
    vi.stubEnv('FATHOM_QUOTE_TOKENS', OTHER);
    expect(settingsOf([]).quotes).toEqual([OTHER]);
  });

  it.each([
    ['', '--quote-tokens: expected a value, not an empty'],
    [',', "--quote-tokens: expected base58 mints separated by commas, not ''"],
    [`${SOL},`, "not ''"],
    [`${SOL},0x${'a'.repeat(40)}`, `not '0x${'a'.repeat(40)}'`],
    [`${SOL},${SOL}`, '--quote-tokens: expected each mint once'],
  ])('refuse %s', (value, message) => {
    expect(() => settingsOf(['--quote-tokens', value])).toThrow(message);
  });
});
