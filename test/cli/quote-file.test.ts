/** `--quote-usd-file` of fathom import. */
import { expect, it } from 'vitest';
import { readQuoteFile } from '../../server/cli/quote-file.js';
import { importOptions } from '../../server/cli/import-options.js';
import { readWords } from '../../server/cli/flags.js';
import { DESCRIBING } from '../../server/cli/import-options.js';
import { Scratch, SOL } from '../storage/import-helpers.js';

const scratch = new Scratch();
const WETH = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2';

it('gives prices by address, with or without a header', async () => {
  const file = scratch.file('prices.csv', `address,usd\n${SOL},150.5\n\n${WETH}, 3000\r\n`);
  expect(await readQuoteFile(file)).toEqual(
    new Map([
      [SOL, 150.5],
      [WETH.toLowerCase(), 3000],
    ]),
  );
  const bare = scratch.file('bare.csv', `${SOL},1e2`);
  expect(await readQuoteFile(bare)).toEqual(new Map([[SOL, 100]]));
});

it.each([
  ['no price', `${SOL}`, ':1: expected ADDRESS,USD'],
  ['a price of 0', `${SOL},0`, ':1: expected ADDRESS,USD'],
  ['a price in words', `${SOL},1\n${WETH},much`, ':2: expected ADDRESS,USD'],
  ['a third field', `${SOL},1,2`, ':1: expected ADDRESS,USD'],
  ['no address', 'SOL,1', ':1: expected ADDRESS,USD'],
  ['an address twice', `${WETH},1\n${WETH.toLowerCase()},2`, ':2: 0xc02aaa39b'],
])('refuses %s', async (name, text, message) => {
  await expect(readQuoteFile(scratch.file(`${name}.csv`, text))).rejects.toThrow(message);
});

it('is preceded by a flag', () => {
  const { flags } = readWords([`--token=mainchain:${SOL}`, `--quote-usd=${WETH}=2`], {
    flags: DESCRIBING,
    words: {},
  });
  const prices = new Map([
    [WETH.toLowerCase(), 1],
    [SOL, 7],
  ]);
  const token = { chain: 'mainchain', address: SOL } as const;
  const { quoteUsdByAddress } = importOptions('clmm-pools', { ...flags, token }, prices);
  expect([...quoteUsdByAddress]).toEqual([
    [WETH.toLowerCase(), 2],
    [SOL, 7],
  ]);
});
