import { describe, expect, it } from 'vitest';
import { UsageError } from '../../storage/errors.js';
import { IMPORT_FORMATS, type ImportFormat, kindOfFormat } from '../../storage/import/formats.js';

import { optionsOf, type RawImportFlags, SOL, TOKEN } from './import-helpers.js';

const WETH = '0xC02aaa39b223FE8D0A0e5C4F27eAD9083C756Cc2';

describe('import options', () => {
  it('have the documented defaults', () => {
    expect(optionsOf('binance-stream', { token: SOL })).toEqual(optionsOf('binance-stream', TOKEN));
    expect(optionsOf('binance-stream', TOKEN)).toEqual({
      token: { chain: 'mainchain', address: SOL },
      quoteUsd: 1,
      quoteUsdByAddress: new Map(),
      decimalsByAddress: new Map(),
      everyS: 60,
    });
  });

  it('read every flag', () => {
    const flags = { source: 'Binance', pair: 'A/B', type: 'cex_perp', 'contract-usd': '100' };
    const options = optionsOf('tardis-incremental-l2', {
      ...flags,
      token: `evmchain:${WETH}`,
      'quote-usd': ['0.5'],
      every: '1s',
    });
    expect(options).toEqual({
      token: { chain: 'evmchain', address: WETH.toLowerCase() },
      source: 'Binance',
      pair: 'A/B',
      type: 'cex_perp',
      quoteUsd: 0.5,
      quoteUsdByAddress: new Map(),
      decimalsByAddress: new Map(),
      everyS: 1,
      contractUsd: 100,
    });
    const quotes = [`${WETH}=3e3`, `${SOL}=150.5`];
    const pools = optionsOf('clmm-pools', { ...TOKEN, 'quote-usd': quotes });
    expect([...pools.quoteUsdByAddress]).toEqual([
      [WETH.toLowerCase(), 3000],
      [SOL, 150.5],
    ]);
  });

  it.each([
    ['60', 60],
    ['60s', 60],
    ['5m', 300],
    ['1h', 3600],
    ['1d', 86_400],
  ])('take --every %s', (every, seconds) => {
    expect(optionsOf('binance-stream', { ...TOKEN, every }).everyS).toBe(seconds);
  });

  it.each([
    ['1601683200', 1601683200],
    ['2020-10-03T00:00:00Z', 1601683200],
    ['2020-10-03T02:00:00.9+02:00', 1601683200],
  ])('take --at %s', (at, seconds) => {
    expect(optionsOf('cp-pairs', { ...TOKEN, at }).atS).toBe(seconds);
  });

  const wrong: [string, ImportFormat, RawImportFlags][] = [
    ['--token', 'binance-stream', {}],
    ['--token', 'clmm-pools', { at: '1' }],
    ['--token', 'binance-stream', { token: `otherchain:${SOL}` }],
    ['--token', 'binance-stream', { token: `evmchain:${SOL}` }],
    ['--token', 'wormhole-csv', TOKEN],
    ['--at', 'binance-stream', { ...TOKEN, at: '1601683200' }],
    ['--at', 'cp-pairs', { ...TOKEN, at: '1601683200000' }],
    ['--at', 'cp-pairs', { ...TOKEN, at: '2020-10-03T00:00:00' }],
    ['--at', 'cp-pairs', { ...TOKEN, at: '2021-02-30T00:00:00Z' }],
    ['--at', 'cp-pairs', { ...TOKEN, at: '2020-10-03T25:00:00Z' }],
    ['--every', 'dlmm-bins', { ...TOKEN, every: '60s' }],
    ['--every', 'binance-stream', { ...TOKEN, every: '0' }],
    ['--every', 'binance-stream', { ...TOKEN, every: '25h' }],
    ['--every', 'binance-stream', { ...TOKEN, every: '1.5s' }],
    ['--every', 'binance-stream', { ...TOKEN, every: '100ms' }],
    ['--contract-usd', 'cp-pairs', { ...TOKEN, 'contract-usd': '1' }],
    ['--contract-usd', 'binance-stream', { ...TOKEN, 'contract-usd': '-1' }],
    ['--contract-size', 'binance-stream', { ...TOKEN, 'contract-size': '0' }],
    [
      '--contract-usd and --contract-size',
      'binance-stream',
      { ...TOKEN, 'contract-usd': '1', 'contract-size': '1' },
    ],
    ['--quote-usd', 'binance-stream', { ...TOKEN, 'quote-usd': `${WETH}=1` }],
    ['--quote-usd', 'binance-stream', { ...TOKEN, 'quote-usd': ['1', '2'] }],
    ['--quote-usd', 'binance-stream', { ...TOKEN, 'quote-usd': '0' }],
    ['--quote-usd', 'cp-pairs', { ...TOKEN, 'quote-usd': '1' }],
    ['--quote-usd', 'cp-pairs', { ...TOKEN, 'quote-usd': `${WETH}=NaN` }],
    ['--quote-usd', 'cp-pairs', { ...TOKEN, 'quote-usd': [`${WETH}=1`, `${WETH}=2`] }],
    ['--type', 'binance-stream', { ...TOKEN, type: 'onchain_pool' }],
    ['--source', 'binance-stream', { ...TOKEN, source: '!!' }],
    ['--pair', 'binance-stream', { ...TOKEN, pair: '' }],
    ['--pair', 'clmm-pools', { ...TOKEN, pair: 'A/B' }],
    ['--token', 'solscan-holders', { at: '1' }],
    ['--token', 'solscan-holders', { token: `evmchain:${WETH}`, at: '1' }],
    ['--token', 'jupiter-dca', { token: `evmchain:${WETH}` }],
    ['--at', 'solscan-holders', TOKEN],
    ['--at', 'jupiter-limit-orders', { at: '1' }],
    ['--quote-usd', 'solscan-holders', { ...TOKEN, at: '1', 'quote-usd': '1' }],
    ['--decimals', 'jupiter-limit-orders', { decimals: `${SOL}=x` }],
    ['--decimals', 'jupiter-limit-orders', { decimals: [`${SOL}=9`, `${SOL}=9`] }],
    ['--decimals', 'clmm-pools', { ...TOKEN, decimals: `${SOL}=9` }],
    ['--exchange', 'capture', TOKEN],
    ['--exchange', 'binance-stream', { ...TOKEN, exchange: 'binance' }],
    ['--quote-usd-file', 'capture', { ...TOKEN, exchange: 'okx', 'quote-usd-file': 'x' }],
  ];
  it.each(wrong)('refuse a wrong %s of %s: %o', (flag, format, flags) => {
    const parse = () => optionsOf(format, flags);
    expect(parse).toThrow(UsageError);
    expect(parse).toThrow(new RegExp(`^${flag}: `));
  });

  it('are known for every format', () => {
    for (const format of IMPORT_FORMATS) {
      const kind = kindOfFormat(format);
      const flags = kind === 'tokens' ? {} : kind === 'holders' ? { ...TOKEN, at: '1' } : TOKEN;
      const more = format === 'capture' ? { exchange: 'kraken' } : {};
      expect(optionsOf(format, { ...flags, ...more }).everyS).toBe(60);
    }
  });
});
