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
    'c: tokens[0].sources[0].contract_size: the sizes of okx-perp SOL-USDT-SWAP are numbers of contracts: expected contract_size',
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
    ['okx', 'btc-usdt-swap', 'okx-perp'],
    ['bybit', 'solusd', 'bybit'],
    ['deribit', 'btc-perpetual', 'deribit'],
  ].map(([exchange, symbol, venue]): [string, object, string] => [
    `contracts in lower case: ${symbol}`,
    withSource({ ...SOURCE, exchange, symbol }),
    `the sizes of ${venue} ${symbol.toUpperCase()} are numbers of contracts`,
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
  ...['a\nb', 'a\u001b[2J', 'a\u202eb', 'x'.repeat(101)].map((id): [string, object, string] => [
    `the id ${JSON.stringify(id).slice(0, 20)}`,
    withSource({ ...SOURCE, id }),
    'c: tokens[0].sources[0].id: expected at most 100 printable characters',
  ]),
  ...['SOL\u001bUSD', 'SOL USD', 'SOLUSDT&limit=5', 'SOLUSDT#', '../SOL"USD'].map(
    (symbol): [string, object, string] => [
      `the symbol ${JSON.stringify(symbol)}`,
      withSource({ ...SOURCE, symbol }),
      'c: tokens[0].sources[0].symbol: expected at most 100 characters without spaces',
    ],
  ),
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

it('a byte order mark, and comments anywhere, are no part of the document', () => {
  const text = `\ufeff  // first\r\n${JSON.stringify(withSource(SOURCE), null, 2)}\n\t// last`;
  expect(parseConfig(text, 'c').tokens.length).toBe(1);
});

it.each(['\n', '\r', ' ', '\t', '\u2028'])('a megabyte of %j is read in one pass', (blank) => {
  // Each line end looked at the rest of the text: half a million times half a million characters.
  const text = `${JSON.stringify(withSource(SOURCE))}${'\n'.repeat(3)}${blank.repeat(1e6)}`;
  if (blank === '\u2028') expect(() => parseConfig(text, 'c')).toThrow('c: expected JSON');
  else expect(parseConfig(text, 'c').tokens.length).toBe(1);
});

it('spot and perpetual are two venues, as a venue has one type', () => {
  const venues = [
    ['bybit', 'SOLUSDT', 'cex_spot'],
    ['bybit', 'SOLUSDT', 'cex_perp'],
    ['bitget', 'SOLUSDT', 'cex_spot'],
    ['bitget', 'SOLUSDT', 'cex_perp'],
    ['okx', 'SOL-USDT'],
    ['okx', 'SOL-USDT-SWAP'],
    ['deribit', 'SOL_USDC'],
    ['hyperliquid', '@107'],
    ['kraken', 'SOL/USD'],
  ].map(([exchange, symbol, type]) => {
    const fields = new JsonFields('c', { exchange, symbol, type, contract_size: 1, quote_usd: 1 });
    return readExchangeMarket(fields, 'a').venue;
  });
  expect(venues).toEqual([
    'bybit-spot',
    'bybit',
    'bitget',
    'bitget-perp',
    'okx',
    'okx-perp',
    'deribit-spot',
    'hyperliquid-spot',
    'kraken',
  ]);
});

it('reads the example, comments and all, and that of the document', () => {
  const { everyS, tokens } = parseConfig(EXAMPLE, 'c');
  expect([everyS, tokens[0].price, tokens[0].sources.map(({ quoteUsd }) => quoteUsd)]).toEqual([
    60,
    'kraken',
    [1, 1, 1, 1, 1],
  ]);
  const { blocks } = documentNamed('docs/collect.md');
  const shown = blocks.find(({ info }) => info === 'json sol.json')!;
  expect(parseConfig(shown.text, 'c').tokens[0].sources.length).toBe(3);
});
