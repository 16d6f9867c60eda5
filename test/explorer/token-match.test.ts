/** Search inside the names of tokens, without a browser. */
import { describe, expect, it } from 'vitest';
import type { FoundToken } from '../../client/index.js';
import { joined, within } from '../../explorer/frame/token-match.js';

const NAMES: readonly (readonly [string | null, string | null])[] = [
  ['WETH', 'Wrapped Ether'],
  ['WET', 'Wet Finance'],
  ['DOGE', 'Dogecoin'],
  ['CNR', 'Coiner'],
  ['BIT', 'A Coin of Bits'],
  [null, null],
];
const TOKENS = NAMES.map(
  ([symbol, name], i) => ({ address: `a${i}`, symbol, name }) as unknown as FoundToken,
);
const symbols = (tokens: readonly FoundToken[]) => tokens.map(({ symbol }) => symbol);

describe('search inside names', () => {
  it('finds the text anywhere in a symbol or name, in any case, beginnings of words first', () => {
    expect(symbols(within(TOKENS, 'coin'))).toEqual(['CNR', 'BIT', 'DOGE']);
    expect(symbols(within(TOKENS, 'ETH'))).toEqual(['WETH']);
    expect(symbols(within(TOKENS, 'wet'))).toEqual(['WETH', 'WET']);
    expect(symbols(within(TOKENS, 'fin'))).toEqual(['WET']);
    expect(within(TOKENS, 'null')).toEqual([]);
  });

  it('follows what the API has found, each token once, up to the most', () => {
    const first = [TOKENS[3]];
    expect(symbols(joined(first, within(TOKENS, 'coin'), 12))).toEqual(['CNR', 'BIT', 'DOGE']);
    expect(symbols(joined(first, within(TOKENS, 'coin'), 2))).toEqual(['CNR', 'BIT']);
  });
});
