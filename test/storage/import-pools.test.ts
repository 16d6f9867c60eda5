import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  faultsOf,
  fixture,
  hasShared,
  importAll,
  Scratch,
  shared,
  type Parsed,
  SOL,
  TOKEN,
} from './import-helpers.js';

const scratch = new Scratch();

const WETH = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2';
const WBTC = '0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599';
const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const USDC_SOL = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const JOE = '0x6e84a6216ea6dacc71ee8e6b0a5b7322eebc0fdd';
const AT = '2020-10-03T00:00:00Z';
const evm = (address: string) => ({ token: `evmchain:${address}` });

const read = (file: string): Parsed[] => {
  const raw = readFileSync(file);
  const text = (raw[0] === 0x1f ? gunzipSync(raw) : raw).toString().trim();
  return text.split('\n').map((line) => JSON.parse(line));
};
const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
const edit = (line: object, change: object) => JSON.stringify({ ...line, ...change });

/** Amounts of both tokens that a pool's ticks imply (human units), by the white paper's formulas. */
function amountsOf(clmm: Record<string, Parsed>): [number, number] {
  const price = Number(clmm.sqrt_price_x96) / 2 ** 96;
  let [liquidity, amount0, amount1] = [0n, 0, 0];
  clmm.ticks.forEach(([tick, net]: [number, string], i: number) => {
    liquidity += BigInt(net);
    if (i + 1 === clmm.ticks.length) return;
    const low = 1.0001 ** (tick / 2);
    const high = 1.0001 ** (clmm.ticks[i + 1][0] / 2);
    const from = Math.max(low, Math.min(price, high));
    amount0 += Number(liquidity) * (1 / from - 1 / high);
    amount1 += Number(liquidity) * (from - low);
  });
  expect(liquidity).toBe(0n);
  return [amount0 / 10 ** clmm.decimals0, amount1 / 10 ** clmm.decimals1];
}

describe('clmm-pools', () => {
  it('make one snapshot from the states of one time, in the excerpt', async () => {
    const file = fixture('clmm_excerpt.ndjson');
    const { rows, report } = await importAll('clmm-pools', [file], TOKEN);
    const states = read(file).filter((state) => state.token0.address === SOL);
    const times = [...new Set(states.map((state) => state.t))].sort();
    expect(rows.map((row) => row.t)).toEqual(times);
    expect(faultsOf(rows)).toEqual([]);
    for (const row of rows) {
      const here = states.filter((state) => state.t === row.t);
      expect(row.markets.map((market) => market.address)).toEqual(here.map((s) => s.pool));
      const price = (Number(here[0].sqrt_price_x64) / 2 ** 64) ** 2 * 1000;
      expect(row.price_usd / price).toBeCloseTo(1, 9);
      expect(row.markets[0]).toMatchObject({
        source: 'orca_whirlpool',
        exchange_type: 'DEX',
        type: 'onchain_pool',
        pair: 'SOL/USDC',
        clmm: { token: 0, quote_usd: 1, decimals0: 9, decimals1: 6, ticks: here[0].ticks },
      });
    }
    expect(report.messages).toBe(6);
    expect(report.leftOut.count).toBe(0);
  });

  it('take a token on side 1, a time and prices from flags, and venues by name', async () => {
    const file = fixture('clmm_excerpt.ndjson');
    const usdt = '0xDAC17F958D2ee523a2206206994597C13D831ec7';
    const flags = { ...evm(usdt), at: AT, 'quote-usd': `${USDC}=0.5`, source: 'Mine' };
    const { rows } = await importAll('clmm-pools', [file], flags);
    expect(rows.length).toBe(1);
    const { t, address, price_usd, markets } = rows[0];
    expect([t, address]).toEqual([1601683200, usdt.toLowerCase()]);
    expect(price_usd).toBeCloseTo(0.5 / 1.0006, 3);
    expect(markets[0]).toMatchObject({ source: 'Mine', pair: 'USDC/USDT', clmm: { token: 1 } });
  });

  it('leave out and report what has no price, has no time, or is repeated', async () => {
    const [state] = read(fixture('clmm_excerpt.ndjson')).filter((s) => s.token0.address === SOL);
    const odd = { ...state.token1, address: WETH, symbol: 'WETH' };
    const file = scratch.file(
      'states.ndjson',
      [
        edit(state, { token1: odd, pool: 'P1' }),
        edit(state, { t: null, pool: 'P2' }),
        edit(state, { token1: state.token0, pool: 'P3' }),
        edit(state, { sqrt_price_x96: '0', pool: 'P4' }),
        edit(state, {}),
        edit(state, { sqrt_price_x96: '1' }),
        edit(state, { pool: null }),
        edit(state, { pool: null }),
      ].join('\n\n'),
    );
    const { rows, report } = await importAll('clmm-pools', [file], TOKEN);
    expect(rows.map((row) => row.markets.length)).toEqual([2]);
    expect(report.leftOut.first.map(({ where, reason }) => [where.slice(-3), reason])).toEqual([
      ['n:1', `no price for WETH: --quote-usd ${WETH.toLowerCase()}=N`],
      ['n:3', 'the state has no time: --at TIME'],
      ['n:5', 'both sides are the token'],
      [':7', 'the pool has no price'].map((x, i) => (i === 0 ? 'n:7' : x)),
      [':11', `a second state of the pool at ${state.t}: the first is kept`],
      [':15', `a second state of the pool at ${state.t}: the first is kept`],
    ]);
    const priced = await importAll('clmm-pools', [file], {
      ...TOKEN,
      at: String(state.t),
      'quote-usd': `${WETH}=3000`,
    });
    expect(priced.rows.map((row) => row.markets.length)).toEqual([4]);
    expect(priced.rows[0].price_usd / rows[0].price_usd).toBeCloseTo(3000, 6);
  });

  const damages: [string, object, string][] = [
    ['t', { t: 1649289599000 }, 't: expected an integer'],
    ['a token', { token1: null }, 'token1: expected an object'],
    [
      'decimals',
      { token0: { address: SOL, decimals: '9' } },
      'token0.decimals: expected an integer',
    ],
    [
      'the price',
      { sqrt_price_x96: 12 },
      'sqrt_price_x96: expected an integer as a decimal string',
    ],
    ['a tick', { ticks: [[1, 5]] }, 'ticks[0]: expected an integer and 1 decimal string'],
    [
      'the order',
      {
        ticks: [
          [2, '5'],
          [1, '-5'],
        ],
      },
      'ticks[1]: expected ids ascending',
    ],
    ['the protocol', { protocol: undefined }, 'protocol: expected a text'],
  ];
  it.each(damages)('are refused if %s is damaged', async (_, change, message) => {
    const [, state] = read(fixture('clmm_excerpt.ndjson'));
    const file = scratch.file('bad.ndjson', `\n${edit(state, change)}`);
    await expect(importAll('clmm-pools', [file], TOKEN)).rejects.toThrow(
      `bad.ndjson:2: ${message}`,
    );
    const cut = scratch.file('cut.ndjson', JSON.stringify(state).slice(0, 200));
    await expect(importAll('clmm-pools', [cut], TOKEN)).rejects.toThrow(
      'cut.ndjson:1: the line: expected one whole JSON object',
    );
  });

  it.runIf(hasShared)(
    'imply the balances of WBTC/WETH, whatever the case of addresses',
    async () => {
      const file = shared('clmm/evm/clmm_pools.ndjson');
      const [pool] = read(file);
      const { rows } = await importAll('clmm-pools', [file], {
        ...evm(WBTC),
        at: AT,
        'quote-usd': [`${WETH}=3000`],
      });
      const [first] = rows[0].markets;
      expect(first.address).toBe(pool.pool);
      const [amount0, amount1] = amountsOf(first.clmm);
      expect((amount0 * 1e8) / Number(pool.balance0)).toBeCloseTo(0.91, 2);
      expect((amount1 * 1e18) / Number(pool.balance1)).toBeCloseTo(0.99, 2);
      expect(rows.map((row) => row.t)).toEqual([1601683200, 1777002467]);
      expect(rows[0].markets.map((market) => market.pair)).toEqual(['WBTC/WETH', 'WBTC/USDC']);
      expect(faultsOf(rows)).toEqual([]);
    },
  );

  it.runIf(hasShared)('give the known prices of SOL from every Whirlpool', async () => {
    const file = shared('clmm/solana/whirlpools_decoded.ndjson.gz');
    const { rows, report } = await importAll('clmm-pools', [file], TOKEN);
    const isPriced = (s: Parsed) => /^(USDC|USDT)$/.test(s.token0.symbol + s.token1.symbol);
    const sides = (s: Parsed) => [s.token0.address, s.token1.address];
    const stable = (a: string) => a === USDC_SOL || a.startsWith('Es9vMFrzaCERm');
    const states = read(file);
    const held = states.filter((s) => sides(s).includes(SOL));
    const usable = held.filter((s) => sides(s).some(stable));
    expect(isPriced(usable[0])).toBe(false);
    expect(sum(rows.map((row) => row.markets.length))).toBe(usable.length);
    expect(report.leftOut.count).toBe(held.length - usable.length);
    expect(rows.map((row) => row.t)).toEqual([...new Set(usable.map((s) => s.t))].sort());
    const known = [124.68, 33.93, 41.07, 33.63, 14.04, 23.76];
    const times = [1649289599, 1656520006, 1659483571, 1664449004, 1670228709, 1675205025];
    times.forEach((t, i) => {
      const row = rows.find((snapshot) => snapshot.t === t)!;
      const prices = row.markets.map(({ clmm }) => {
        const price = (Number(clmm.sqrt_price_x96) / 2 ** 96) ** 2;
        return clmm.token === 0 ? price * 1000 : 1000 / price;
      });
      const nearest = Math.min(...prices.map((price) => Math.abs(price / known[i] - 1)));
      expect(nearest).toBeLessThan(0.005);
    });
    expect(faultsOf(rows)).toEqual([]);
  });
});

describe('dlmm-bins', () => {
  const files = [fixture('dlmm_excerpt.ndjson'), shared('dlmm/dlmm_bins.ndjson')];
  it.each(files.filter((file) => existsSync(file)))('hold their reserves: %s', async (file) => {
    const pools = read(file).filter((pool) => pool.protocol.startsWith('traderjoe'));
    for (const pool of pools) {
      const flags = {
        ...evm(pool.token_x.address.toUpperCase()),
        'quote-usd': `${pool.token_y.address}=1`,
      };
      const { rows } = await importAll('dlmm-bins', [file], flags);
      const { dlmm, pair, source, address } = rows[0].markets[0];
      expect([rows.length, rows[0].t, source, address]).toEqual([
        1,
        pool.t,
        pool.protocol,
        pool.pool,
      ]);
      expect(pair).toBe(`${pool.token_x.symbol}/${pool.token_y.symbol}`);
      const ofBins = (i: number) => sum(dlmm.bins.map((bin: number[]) => bin[i]));
      const human = (raw: string, decimals: number) => Number(raw) / 10 ** decimals;
      const { reserve_x_raw: x, reserve_y_raw: y } = pool;
      expect(ofBins(1) / human(x, pool.token_x.decimals)).toBeCloseTo(1, 12);
      expect(ofBins(2) / human(y, pool.token_y.decimals)).toBeCloseTo(1, 12);
      expect(dlmm).toMatchObject({
        token: 'x',
        bin_step: pool.bin_step,
        active_id: pool.active_id,
      });
      expect(faultsOf(rows)).toEqual([]);
    }
  });

  it('give JOE its price, and USDC the inverse', async () => {
    const file = fixture('dlmm_excerpt.ndjson');
    const joe = await importAll('dlmm-bins', [file], evm(JOE));
    expect(joe.rows[0].price_usd).toBeCloseTo(0.16496, 5);
    const usdc = await importAll('dlmm-bins', [file], {
      ...evm('0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e'),
      'quote-usd': `${JOE}=0.16496`,
    });
    expect(usdc.rows[0].price_usd).toBeCloseTo(1, 4);
    expect(usdc.rows[0].markets[0].dlmm.token).toBe('y');
  });

  it('name a pair by the address if a token has no symbol', async () => {
    const flags = { ...TOKEN, 'quote-usd': 'Df6yfrKC8kZE3KNkrHERKzAetSxbrWeniQfyJY4Jpump=0.3' };
    const { rows } = await importAll('dlmm-bins', [fixture('dlmm_excerpt.ndjson')], flags);
    expect(rows[0].markets[0].pair).toBe('Df6yfrKC8kZE3KNkrHERKzAetSxbrWeniQfyJY4Jpump/SOL');
  });
});

describe('cp-pairs', () => {
  const mains = [fixture('cp_excerpt.ndjson'), shared('cp/uniswap_v2_main_pairs.ndjson.gz')];
  it.each(mains.filter((file) => existsSync(file)))('are worth what %s says', async (file) => {
    const known = new Map(read(file).map((pair) => [pair.pool, pair]));
    const { rows } = await importAll('cp-pairs', [file], { ...evm(WETH), at: AT });
    expect(rows.length).toBe(1);
    expect(rows[0].price_usd).toBeCloseTo(359.1, 1);
    for (const { address, source, constant_product: pool } of rows[0].markets) {
      expect(source).toBe('uniswap-v2');
      const { reserve_token, reserve_quote, quote_usd } = pool;
      const price = (reserve_quote * quote_usd) / reserve_token;
      const sideUsd = Math.sqrt(reserve_token * reserve_quote * quote_usd) * Math.sqrt(price);
      expect(sideUsd / (Number(known.get(address).reserve_usd) / 2)).toBeCloseTo(1, 2);
    }
    expect(faultsOf(rows)).toEqual([]);
  });

  const raws = [fixture('cp_raw_excerpt.ndjson'), shared('cp/uniswap_v2_pairs_2020-10.ndjson.gz')];
  it.each(raws.filter((file) => existsSync(file)))('are read in raw units: %s', async (file) => {
    const pairs = read(file).filter((pair) =>
      [pair.token0.symbol, pair.token1.symbol].join().match(/^(WETH,USD[CT]|USD[CT],WETH)$/),
    );
    const { rows } = await importAll('cp-pairs', [file], { ...evm(WETH), at: '1601683200' });
    expect(rows[0].price_usd).toBeCloseTo(336.17, 2);
    expect(rows[0].markets.map((market) => market.address)).toEqual(pairs.map((pair) => pair.pool));
    rows[0].markets.forEach(({ constant_product: pool }, i) => {
      const { token0, reserve0_raw, reserve1_raw } = pairs[i];
      const raw =
        token0.symbol === 'WETH' ? [reserve0_raw, reserve1_raw] : [reserve1_raw, reserve0_raw];
      expect(pool.reserve_token).toBe(Number(`${raw[0]}e-18`));
      expect(pool.reserve_quote).toBe(Number(`${raw[1]}e-6`));
    });
  });

  it('without a time are left out, and with a negative reserve refused', async () => {
    const none = await importAll('cp-pairs', [fixture('cp_excerpt.ndjson')], evm(WETH));
    expect(none.rows).toEqual([]);
    expect(none.report.leftOut.first.at(0)!.reason).toBe('the state has no time: --at TIME');
    const [pair] = read(fixture('cp_excerpt.ndjson'));
    const file = scratch.file('bad.ndjson', edit(pair, { reserve0: '-1' }));
    await expect(importAll('cp-pairs', [file], { ...evm(WETH), at: AT })).rejects.toThrow(
      'bad.ndjson:1: reserve0: expected a number of at least 0',
    );
  });
});
