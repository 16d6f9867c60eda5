import { afterEach, describe, expect, it } from 'vitest';
import type { Json } from '../support/conformance.js';
import {
  binance,
  commitRows,
  commitTokens,
  MINT as NATIVE_MINT,
  orca,
  snapshot,
  type MarketFields,
} from '../support/stores.js';
import { MarketService, NOW_S } from '../tokens/market-service.js';

const TOKEN = 'A'.repeat(40);
const QUERY = `/market-depth?token_address=${TOKEN}`;
const perps: MarketFields = {
  source: 'Perps',
  exchange_type: 'CEX',
  type: 'cex_perp',
  pair: 'A/USDT',
  cells: [[4, 0, 40]],
};
const constantProduct: MarketFields = {
  source: 'constant-product',
  exchange_type: 'DEX',
  cells: [
    [-2, 8, 0],
    [0, 3, 4],
  ],
};
const markets = [
  orca([
    [-2, 10, 0],
    [1, 0, 20.25],
  ]),
  constantProduct,
  binance([[1, 0, 11]]),
  perps,
];

let service: MarketService;
afterEach(() => service.stop());

async function withDepth(): Promise<void> {
  service = await MarketService.start();
  await commitRows(service.store, [snapshot(NOW_S - 7, markets, { address: TOKEN })]);
  await service.settled();
}

/** `[bin, support, resistance, constant product]` of a reply's levels. */
const levelsOf = (body: Json, price = 2): number[][] =>
  body.depth_data.map((level: Json) => [
    Math.round(Math.log(level.price / price) / Math.log(1.01)),
    level.support,
    level.resistance,
    level.constant_product,
  ]);

describe('GET /market-depth', () => {
  it('answers with its parameters, price and score', async () => {
    await withDepth();
    const { body } = await service.get(QUERY);
    expect(body).toMatchObject({
      query_parameters: {
        token_address: TOKEN,
        exchange_type: 'DEX',
        currency: 'USD',
        delayed: false,
        include_summary: false,
        chain: 'mainchain',
      },
      chain: 'mainchain',
      last_refresh: NOW_S - 7,
      price: 2,
    });
    expect(body.service_score).toBe((await service.get(`/score/${TOKEN}`)).body.service_score);
  });

  it('suggests the exchange type that has depth if the requested one has none', async () => {
    service = await MarketService.start();
    const [dex, cex] = ['A', 'B'].map((letter) => letter.repeat(40));
    await commitTokens(service.store, [{ address: 'C'.repeat(40), price_usd: 1 }]);
    await commitRows(service.store, [
      snapshot(NOW_S - 7, [orca([[0, 5, 5]])], { address: dex }),
      snapshot(NOW_S - 7, [binance([[0, 5, 5]]), perps], { address: cex }),
    ]);
    await service.settled();
    const of = async (token: string, more = '') => {
      const { body } = await service.get(`/market-depth?token_address=${token}${more}`);
      return [body.depth_data.length, body.hint];
    };
    expect(await of(cex)).toEqual([
      0,
      'The token has depth on CEX markets only, and exchange_type is DEX: ask with exchange_type=CEX or ALL',
    ]);
    expect(await of(cex, '&low_pct_change=5&include_summary=true')).toEqual([
      0,
      expect.stringContaining('exchange_type=CEX'),
    ]);
    expect(await of(dex, '&exchange_type=CEX')).toEqual([
      0,
      expect.stringContaining('exchange_type=DEX or ALL'),
    ]);
    // A reply that is empty for any other reason has no hint.
    expect(await of(cex, '&exchange_type=CEX')).toEqual([2, undefined]);
    expect(await of(cex, '&exchange_type=ALL&low_pct_change=5')).toEqual([0, undefined]);
    expect(await of(dex, '&low_pct_change=5')).toEqual([0, undefined]);
    expect(await of(cex, '&delayed=true')).toEqual([0, undefined]);
    expect(await of('C'.repeat(40))).toEqual([0, undefined]);
  });

  it('sums over the same range and filter', async () => {
    await withDepth();
    const of = async (more: string) =>
      (await service.get(`${QUERY}&include_summary=true${more}`)).body.summary;
    expect(await of('&exchange_type=ALL')).toEqual({
      by_exchange_type: [
        { exchange_type: 'DEX', support: 10, resistance: 20.25 },
        { exchange_type: 'CEX', support: 0, resistance: 51 },
      ],
      by_source: [
        { source: 'Binance', support: 0, resistance: 11 },
        { source: 'Orca', support: 10, resistance: 20.25 },
        { source: 'Perps', support: 0, resistance: 40 },
      ],
      constant_product: 15,
    });
    expect(await of('&low_pct_change=0&high_pct_change=0.02')).toEqual({
      by_exchange_type: [{ exchange_type: 'DEX', support: 0, resistance: 20.25 }],
      by_source: [{ source: 'Orca', support: 0, resistance: 20.25 }],
      constant_product: 7,
    });
    const { body } = await service.get(`${QUERY}&low_pct_change=0&high_pct_change=0.01`);
    expect(levelsOf(body).map(([bin]) => bin)).toEqual([0, 1]);
  });

  it('divides by the current price of the native token, or reports that there is none', async () => {
    await withDepth();
    const inSol = `${QUERY}&currency=SOL&include_summary=true`;
    const refused = await service.get(inSol);
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({ error_code: 'invalid_parameter', parameter: 'currency' });
    await commitTokens(service.store, [{ address: NATIVE_MINT, price_usd: 150 }]);
    await service.settled();
    const { body } = await service.get(inSol);
    expect(body.query_parameters.currency).toBe('SOL');
    expect(body.price).toBe(2 / 150);
    expect(levelsOf(body, 2 / 150)[0]).toEqual([-2, 10 / 150, 0, 8 / 150]);
    expect(body.summary.constant_product).toBe(15 / 150);
    // The native token's price moves, and the amounts with it.
    await commitTokens(service.store, [{ address: NATIVE_MINT, price_usd: 200 }]);
    await service.settled();
    expect((await service.get(inSol)).body.price).toBe(2 / 200);
    const unknown = await service.get(`${QUERY}&currency=EUR`);
    expect(unknown.status).toBe(400);
    expect(unknown.body.message).toContain('expected USD or SOL');
  });

  it('has no levels for a token without depth', async () => {
    service = await MarketService.start();
    await commitTokens(service.store, [{ address: TOKEN, price_usd: 3, last_refresh: 77 }]);
    await service.settled();
    const { status, body } = await service.get(`${QUERY}&include_summary=true`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      last_refresh: 77,
      price: 3,
      service_score: null,
      score_msg: 'No score yet: the token waits for market depth',
      depth_data: [],
      summary: { by_exchange_type: [], by_source: [], constant_product: 0 },
    });
  });
});

describe('the clock', () => {
  const at = (t: number, usd: number) =>
    snapshot(t, [orca([[0, usd, usd]])], { address: TOKEN, price_usd: usd / 1000 });

  it('makes snapshots visible, and moves the delayed one on', async () => {
    service = await MarketService.start();
    await commitRows(service.store, [
      at(NOW_S - 1000, 2000),
      at(NOW_S - 899, 3000),
      at(NOW_S, 4000),
      at(NOW_S + 30, 5000),
    ]);
    await service.settled();
    const prices = async () => [
      (await service.get(QUERY)).body.price,
      (await service.get(`${QUERY}&delayed=true`)).body.price,
      (await service.get(`/score/${TOKEN}`)).body.service_current_price,
    ];
    expect(await prices()).toEqual([4, 2, 4]);
    await service.turnTo(NOW_S + 1);
    expect(await prices()).toEqual([4, 3, 4]);
    const before = (await service.get(`/score/${TOKEN}`)).body;
    await service.turnTo(NOW_S + 29);
    expect((await service.get(`/score/${TOKEN}`)).body).toEqual(before);
    await service.turnTo(NOW_S + 30);
    expect(await prices()).toEqual([5, 3, 5]);
    const after = (await service.get(`/score/${TOKEN}`)).body;
    expect(after.service_score).toBeGreaterThan(before.service_score);
    expect(after.service_last_run).toBe(new Date((NOW_S + 30) * 1000).toISOString());
    await service.turnTo(NOW_S + 5000);
    expect(await prices()).toEqual([5, 5, 5]);
  });

  it('delays keys with such a plan, whatever they request', async () => {
    service = await MarketService.start();
    await commitRows(service.store, [at(NOW_S - 900, 2000), at(NOW_S - 1, 3000)]);
    await service.settled();
    const { body } = await service.getDelayed(QUERY);
    expect(body).toMatchObject({ price: 2, last_refresh: NOW_S - 900 });
    expect(body.query_parameters.delayed).toBe(true);
  });

  it('serves no delayed depth before there is any', async () => {
    service = await MarketService.start();
    await commitRows(service.store, [at(NOW_S - 899, 2000)]);
    await service.settled();
    const { body } = await service.get(`${QUERY}&delayed=true`);
    expect(body).toMatchObject({ depth_data: [], last_refresh: null, price: null });
  });
});
