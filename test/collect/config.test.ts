/** The configuration of fathom collect: one clear error for each mistake. */
import { expect, it } from 'vitest';
import { EXAMPLE, parseConfig } from '../../collect/config.js';
import { readExchangeMarket } from '../../collect/exchange-market.js';
import { JsonFields } from '../../storage/import/fields.js';
import { documentNamed } from '../docs/documents.js';
import { SOL } from '../storage/import-helpers.js';

const SOURCE = { id: 'a', kind: 'exchange', exchange: 'kraken', symbol: 'SOL/USD' };
const TOKEN = { token: `mainchain:${SOL}`, sources: [SOURCE] };
const withSource = (...sources: object[]) => ({ tokens: [{ ...TOKEN, sources }] });
const many = (n: number) =>
  Array.from({ length: n }, (_, i) => ({ ...SOURCE, id: `s${i}`, symbol: `S${i}/USD` }));

it.each([
  ['not JSON', '{', 'c: expected JSON'],
  ['no object', '[]', 'c: expected an object'],
  ['no tokens', {}, 'c: tokens: expected a list'],
  ['an empty list', { tokens: [] }, 'c: tokens: expected at least one'],
  [
    'an unknown field',
    { ...withSource(SOURCE), evry: '1s' },
    'c: evry: unknown; did you mean every?',
  ],
  [
    'a wrong interval',
    { ...withSource(SOURCE), every: '1 minute' },
    'c: every: expected a duration',
  ],
  [
    'too short an interval',
    { ...withSource(...many(20)), every: '1s' },
    'c: every: expected at least 2s for 20 sources',
  ],
  [
    'a token without its chain',
    { tokens: [{ ...TOKEN, token: SOL }] },
    'c: tokens[0].token: expected CHAIN:ADDRESS',
  ],
  [
    'a token twice',
    { tokens: [TOKEN, { ...TOKEN, sources: [{ ...SOURCE, id: 'b' }] }] },
    'is given twice',
  ],
  ['an id twice', withSource(SOURCE, SOURCE), 'c: tokens: the id a is given twice'],
  [
    'a price of no source',
    { tokens: [{ ...TOKEN, price: 'b' }] },
    'c: tokens[0].price: expected the id of one of its sources (a)',
  ],
  [
    'an unknown kind',
    withSource({ ...SOURCE, kind: 'exchnge' }),
    'c: tokens[0].sources[0].kind: expected',
  ],
  [
    'an unknown exchange',
    withSource({ ...SOURCE, exchange: 'krakn' }),
    'c: tokens[0].sources[0].exchange: unknown: krakn; expected kraken?',
  ],
  [
    'an unknown field of a source',
    withSource({ ...SOURCE, quote: 1 }),
    'c: tokens[0].sources[0].quote: unknown; did you mean quote_usd?',
  ],
  [
    'no symbol',
    withSource({ ...SOURCE, symbol: '' }),
    'c: tokens[0].sources[0].symbol: expected a text',
  ],
  [
    'a price of 0',
    withSource({ ...SOURCE, quote_usd: 0 }),
    'c: tokens[0].sources[0].quote_usd: expected a number above 0, or the id of a source',
  ],
  [
    'a price of nowhere',
    withSource({ ...SOURCE, quote_usd: 'x' }),
    'quote_usd of a: no source has the id x',
  ],
  [
    'prices in a circle',
    withSource({ ...SOURCE, quote_usd: 'b' }, { ...SOURCE, id: 'b', quote_usd: 'a' }),
    'the price of a rests on itself',
  ],
  [
    'contracts without their size',
    withSource({ ...SOURCE, exchange: 'okx', symbol: 'SOL-USDT-SWAP' }),
    'c: tokens[0].sources[0].contract_size: the sizes of okx SOL-USDT-SWAP are numbers of contracts: expected contract_size',
  ],
  [
    'both sizes',
    withSource({ ...SOURCE, contract_size: 1, contract_usd: 1 }),
    'expected it or contract_usd, not both',
  ],
  [
    'a wrong address',
    withSource({ ...SOURCE, url: 'http://x' }),
    'c: tokens[0].sources[0].url: expected an address that begins with ws:// or wss://',
  ],
  [
    'poll without REST',
    withSource({ ...SOURCE, mode: 'poll' }),
    'c: tokens[0].sources[0].mode: poll is known for binance',
  ],
  [
    'an exchange of captures',
    withSource({ ...SOURCE, exchange: 'dydx-v3' }),
    'dydx-v3 is known only in captures',
  ],
  ...[
    ['okx', 'btc-usdt-swap'],
    ['bybit', 'solusd'],
    ['deribit', 'btc-perpetual'],
  ].map(([exchange, symbol]): [string, object, string] => [
    `contracts in lower case: ${symbol}`,
    withSource({ ...SOURCE, exchange, symbol }),
    `the sizes of ${exchange} ${symbol.toUpperCase()} are numbers of contracts`,
  ]),
  [
    'a quote currency without a price',
    withSource({ ...SOURCE, symbol: 'SOL/BTC' }),
    'c: tokens[0].sources[0].quote_usd: SOL/BTC does not end in USD, USDT or USDC: expected the USD price',
  ],
  [
    'a type that the exchange does not have',
    withSource({ ...SOURCE, type: 'cex_perp' }),
    'c: tokens[0].sources[0].type: kraken SOL/USD can only be cex_spot',
  ],
])('refuses %s', (_, document, message) => {
  const text = typeof document === 'string' ? document : JSON.stringify(document);
  expect(() => parseConfig(text, 'c')).toThrow(message);
});

it.each([
  ['coinbase', 'sol-usd', 'SOL-USD', 'cex_spot'],
  ['bitstamp', 'SOLUSD', 'solusd', 'cex_spot'],
  ['hyperliquid', 'kPEPE', 'kPEPE', 'cex_perp'],
  ['okx', 'btc-usdt-swap', 'BTC-USDT-SWAP', 'cex_perp'],
  ['okx', 'SOL-USDT', 'SOL-USDT', 'cex_spot'],
  ['deribit', 'btc_usdc', 'BTC_USDC', 'cex_spot'],
])('%s %s is stored as %s, %s', (exchange, given, symbol, type) => {
  const fields = new JsonFields('c', { exchange, symbol: given, contract_size: 1, quote_usd: 1 });
  expect(readExchangeMarket(fields, 'a')).toMatchObject({ symbol, type });
});

it.each(['SOLUSD', 'SOL-USDT-SWAP', 'SOLUSD_PERP', 'SOL_USDC-PERPETUAL', 'FI_XBTUSD_240628'])(
  '%s is quoted in dollars',
  (symbol) => {
    const fields = new JsonFields('c', { exchange: 'gemini', symbol });
    expect(readExchangeMarket(fields, 'a').symbol).toBe(symbol);
  },
);

it('reads the example, comments and all, and that of the document', () => {
  const { everyS, tokens } = parseConfig(EXAMPLE, 'c');
  expect([everyS, tokens[0].price, tokens[0].sources.map(({ quoteUsd }) => quoteUsd)]).toEqual([
    60,
    'kraken',
    [1, 1, 1, 1, 1],
  ]);
  const { blocks } = documentNamed('docs/collect.md');
  const shown = blocks.find(({ info }) => info === 'json')!;
  expect(parseConfig(shown.text, 'c').tokens[0].sources.length).toBe(3);
});
