/** Books whose sizes are contracts (docs/definitions.md#imports). */
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fixture, importAll, Scratch, shared, TOKEN } from './import-helpers.js';

const scratch = new Scratch();

const FLAGS = { ...TOKEN, every: '1s' };
const T0 = 1_700_000_000;
const FLAGS_NAMED =
  'give --contract-usd N (USD of one contract) or --contract-size N (units of the coin in one contract)';

/** A book of 7 contracts at 50,000 and 3 at 50,010, as Tardis has it. */
function tardisBook(exchange: string, symbol: string): string {
  const side = (name: string, price: number, amount: number) =>
    `${exchange},${symbol},${T0 * 1e6},${T0 * 1e6},true,${name},${price},${amount}\n`;
  const header = 'exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount\n';
  return scratch.file('book.csv', header + side('bid', 50_000, 7) + side('ask', 50_010, 3));
}

const importBook = async (exchange: string, symbol: string, flags = {}) => {
  const file = tardisBook(exchange, symbol);
  const { rows } = await importAll('tardis-incremental-l2', [file], { ...FLAGS, ...flags });
  return rows[0].markets[0].book;
};

const IN_CONTRACTS: [string, string][] = [
  ['binance-delivery', 'BTCUSD_PERP'],
  ['bitmex', 'XBTUSD'],
  ['bitmex', 'ADAUSDT'],
  ['BitMEX', 'XBTUSD'],
  ['bybit', 'BTCUSD'],
  ['bybit', 'ETHUSDM24'],
  ['cryptofacilities', 'PI_XBTUSD'],
  ['cryptofacilities', 'fi_xbtusd_210924'],
  ['deribit', 'BTC-PERPETUAL'],
  ['deribit', 'ETH-27DEC24'],
  ['huobi-dm-linear-swap', 'BTC-USDT'],
  ['okex-swap', 'BTC-USDT-SWAP'],
];
const IN_COINS: [string, string][] = [
  ['binance-futures', 'BTCUSDT_240927'],
  ['bybit', 'BTCUSDT'],
  ['bybit', 'BTCPERP'],
  ['cryptofacilities', 'PF_XBTUSD'],
  ['deribit', 'BTC_USDC-PERPETUAL'],
  ['deribit', 'BTC-27DEC24-60000-C'],
  ['deribit', 'BTC_USDC'],
  ['binance', 'BTCUSDT'],
];

describe('sizes', () => {
  it.each(IN_CONTRACTS)('of %s %s are contracts, whose value is needed', async (source, symbol) => {
    const refused = importBook(source, symbol);
    await expect(refused).rejects.toThrow(`book.csv:2: the sizes of ${source} ${symbol} are`);
    await expect(refused).rejects.toThrow(FLAGS_NAMED);
    await expect(importBook(source, symbol, { source: 'Other' })).rejects.toThrow(FLAGS_NAMED);
  });

  it.each(IN_COINS)('of %s %s are coins', async (source, symbol) => {
    expect(await importBook(source, symbol)).toEqual({ bids: [[50_000, 7]], asks: [[50_010, 3]] });
  });

  it('are USD over the price with --contract-usd: 7 contracts of 100 USD are 700 USD', async () => {
    const { bids, asks } = await importBook('binance-delivery', 'X', { 'contract-usd': '100' });
    expect([bids, asks]).toEqual([[[50_000, 0.014]], [[50_010, 300 / 50_010]]]);
    // Quoted in a currency worth 2 USD, a contract is still 100 USD.
    const flags = { 'contract-usd': '100', 'quote-usd': '2' };
    expect((await importBook('deribit', 'X', flags)).bids).toEqual([[100_000, 0.007]]);
  });

  it('are coins times --contract-size: 7 contracts of 0.5 coins are 3.5 coins', async () => {
    const { bids, asks } = await importBook('okex-swap', 'X', { 'contract-size': '0.5' });
    expect([bids, asks]).toEqual([[[50_000, 3.5]], [[50_010, 1.5]]]);
    const flags = { 'contract-size': '0.5', 'quote-usd': '2' };
    expect((await importBook('okex-swap', 'X', flags)).bids).toEqual([[100_000, 3.5]]);
  });
});

describe('a COIN-M stream', () => {
  const files = [
    fixture('binance_coinm_excerpt.stream'),
    shared('cex/binance/coinm_BTCUSD_PERP_20240808.stream.gz'),
  ];
  it.each(files.filter((file) => existsSync(file)))('is refused without them: %s', async (file) => {
    const refused = importAll('binance-stream', [file], { ...FLAGS, source: 'Binance' });
    await expect(refused).rejects.toThrow(
      `${file}:1: the sizes of binance-delivery BTCUSD_PERP are numbers of contracts ` +
        `(100 USD each for BTC, 10 USD for other coins): ${FLAGS_NAMED}`,
    );
  });

  const update = (s: string) => {
    const data = { e: 'depthUpdate', E: T0 * 1000, s, U: 1, u: 1, pu: 0, b: [], a: [] };
    return scratch.file('cm.stream', `1 ${JSON.stringify(data)}\n`);
  };
  it.each(['ETHUSD_PERP', 'BTCUSD_240927', 'BNBUSD_240927'])('shows in %s', async (symbol) => {
    const refused = importAll('binance-stream', [update(symbol)], FLAGS);
    await expect(refused).rejects.toThrow(`binance-delivery ${symbol}`);
  });
  it.each(['BTCUSDT', 'BTCUSDT_240927', 'BTCBUSD_210129'])('is not in %s', async (symbol) => {
    const { rows } = await importAll('binance-stream', [update(symbol)], FLAGS);
    expect(rows).toEqual([]);
  });
});
