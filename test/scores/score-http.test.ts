import { afterEach, describe, expect, it } from 'vitest';
import type { Json } from '../support/conformance.js';
import { binance, commitRows, commitTokens, orca, snapshot } from '../support/stores.js';
import { referenceScore, type PlainLadderMarket } from '../reference/score.js';
import { MarketService, NOW_S } from '../tokens/market-service.js';

const mint = (letter: string): string => letter.repeat(43);
const evm = (digit: string): string => `0x${digit.repeat(40)}`;
const DAY_S = 86_400;

let service: MarketService;
afterEach(() => service.stop());

const snap = (address: string, t: number, cells: [number, number, number][], more = {}) =>
  snapshot(t, [orca(cells)], { address, ...more });
const plain = (cells: [number, number, number][]): PlainLadderMarket => ({
  source: 'Orca',
  exchangeType: 'DEX',
  type: 'onchain_pool',
  cells: cells.map(([bin, s, r]) => ({ bin, support: s * 100, resistance: r * 100 })),
});

describe('statuses', () => {
  it('follow from record, coverage, price and score, each with a reason', async () => {
    service = await MarketService.start();
    const { store } = service;
    await commitTokens(store, [
      { address: mint('X'), coverage: 'excluded', symbol: 'XXX', price_usd: 1 },
      { address: mint('D'), coverage: 'depth_only', symbol: 'DDD', price_usd: 7 },
      { address: mint('N'), symbol: 'NOP' },
      { address: mint('P'), symbol: 'PEN', name: 'Pending', price_usd: 3 },
      { chain: 'evmchain', address: evm('e'), coverage: 'excluded' },
    ]);
    await commitRows(store, [
      snap(mint('D'), NOW_S - 5, [[0, 9000, 9000]]),
      snap(mint('X'), NOW_S - 5, [[0, 9000, 9000]]),
      snap(mint('A'), NOW_S - 5, [[-1, 9000, 0]], { price_usd: 4 }),
    ]);
    await service.settled();
    const statusOf = async (address: string) => {
      const { status, body } = await service.get(`/score/${address}`);
      expect(status).toBe(200);
      return body;
    };
    const none = { service_score: null, service_last_run: null };
    expect(await statusOf(mint('U'))).toMatchObject({
      ...none,
      status: 'pending',
      symbol: null,
      service_current_price: null,
      score_msg: 'No score yet: the token is queued and waits for data',
    });
    expect(await statusOf(evm('f'))).toMatchObject({
      ...none,
      status: 'unsupported',
      chain: 'evmchain',
      score_msg: 'No score: the token is not indexed',
    });
    expect(await statusOf(mint('X'))).toMatchObject({ ...none, status: 'unsupported' });
    expect(await statusOf(evm('e'))).toMatchObject({ ...none, status: 'unsupported' });
    expect(await statusOf(mint('D'))).toMatchObject({
      ...none,
      status: 'unscored',
      symbol: 'DDD',
      service_current_price: 2,
    });
    expect(await statusOf(mint('N'))).toMatchObject({ ...none, status: 'price_unavailable' });
    expect(await statusOf(mint('P'))).toMatchObject({
      ...none,
      status: 'pending',
      name: 'Pending',
      service_current_price: 3,
      score_msg: 'No score yet: the token waits for market depth',
    });
    expect(await statusOf(mint('A'))).toMatchObject({
      status: 'available',
      service_score: referenceScore([
        { coverage: 'full', t: NOW_S, markets: [plain([[-1, 9000, 0]])] },
      ])?.score,
      score_msg: 'Only support within 25% of the price',
      service_current_price: 4,
      service_last_run: new Date((NOW_S - 5) * 1000).toISOString(),
    });
    // Only the unknown mint waits in the queue.
    expect(service.store.queue.list().map(({ address }) => address)).toEqual([mint('U')]);
    expect(service.logged.filter((line) => line.includes('token queued'))).toHaveLength(1);
  });

  it('change as soon as the data does', async () => {
    service = await MarketService.start();
    const address = mint('A');
    await service.get(`/score/${address}`);
    await commitTokens(service.store, [{ address, price_usd: 3, symbol: 'A' }]);
    await service.settled();
    expect((await service.get(`/score/${address}`)).body).toMatchObject({
      status: 'pending',
      symbol: 'A',
      service_current_price: 3,
    });
    expect(service.store.queue.list()).toEqual([]);
    await commitRows(service.store, [snap(address, NOW_S - 9, [[0, 5000, 5000]])]);
    await service.settled();
    expect((await service.get(`/score/${address}`)).body).toMatchObject({
      status: 'available',
      service_current_price: 2,
    });
    await commitTokens(service.store, [{ address, coverage: 'excluded' }]);
    await service.settled();
    expect((await service.get(`/score/${address}`)).body).toMatchObject({
      status: 'unsupported',
      service_score: null,
    });
  });
});

describe('legs of one asset', () => {
  const main = mint('A');
  const leg = evm('a');
  const mainCells: [number, number, number][] = [
    [-3, 4000, 0],
    [2, 0, 3000],
  ];
  const legCells: [number, number, number][] = [
    [-3, 50_000, 0],
    [1, 0, 100],
  ];
  const legsScore = (legs: [number, [number, number, number][]][]) =>
    referenceScore(legs.map(([t, cells]) => ({ coverage: 'full', t, markets: [plain(cells)] })));

  it('share one score from their merged depth, and the mint answers for the 0x leg', async () => {
    service = await MarketService.start();
    await commitTokens(service.store, [
      { address: main, symbol: 'AAA', asset: 'a', price_usd: 1 },
      { chain: 'evmchain', address: leg, symbol: 'AAAe', asset: 'a', price_usd: 1 },
    ]);
    await commitRows(service.store, [
      snap(main, NOW_S - 60, mainCells),
      snap(leg, NOW_S - 30, legCells, { price_usd: 9 }),
    ]);
    await service.settled();
    const expected = legsScore([
      [NOW_S - 60, mainCells],
      [NOW_S - 30, legCells],
    ]);
    const { body: byMint } = await service.get(`/score/${main}`);
    expect(byMint).toMatchObject({ address: main, service_score: expected?.score });
    const { body: byLeg } = await service.get(`/score/${leg.toUpperCase().replace('0X', '0x')}`);
    expect(byLeg).toEqual(byMint);

    const { body: batch } = await service.post({ addresses: [leg, main, leg, 'no address'] });
    const item = { service_score: expected?.score, status: 'available' };
    expect(batch).toEqual({
      count: 3,
      tokens: [
        { address: leg, chain: 'evmchain', symbol: 'AAAe', data_time: NOW_S - 30, ...item },
        { address: main, chain: 'mainchain', symbol: 'AAA', data_time: NOW_S - 60, ...item },
        { address: leg, chain: 'evmchain', symbol: 'AAAe', data_time: NOW_S - 30, ...item },
      ],
      invalid_addresses: ['no address'],
    });

    const boards = await Promise.all(
      ['mainchain', 'evmchain', 'all'].map((chain) => service.get(`/top-scores?chain=${chain}`)),
    );
    const rows = boards.map(({ body }) =>
      body.tokens.map((row: Json) => [row.address, row.service_current_price]),
    );
    expect(rows).toEqual([[[main, 2]], [[leg, 9]], [[main, 2]]]);
  });

  it('are left out if more than 24 hours older than the newest', async () => {
    service = await MarketService.start();
    await commitTokens(service.store, [
      { address: main, asset: 'a' },
      { chain: 'evmchain', address: leg, asset: 'a' },
    ]);
    const scoreWith = async (t: number) => {
      await commitRows(service.store, [snap(leg, t, legCells)]);
      await service.settled();
      return (await service.get(`/score/${main}`)).body.service_score;
    };
    await commitRows(service.store, [snap(main, NOW_S - 10, mainCells)]);
    const alone = legsScore([[NOW_S - 10, mainCells]])?.score;
    const both = legsScore([
      [0, mainCells],
      [0, legCells],
    ])?.score;
    expect(alone).not.toBe(both);
    expect(await scoreWith(NOW_S - 10 - DAY_S - 1)).toBe(alone);
    expect(await scoreWith(NOW_S - 10 - DAY_S)).toBe(both);
  });

  it('keep their own status, and lose the score with the asset', async () => {
    service = await MarketService.start();
    await commitTokens(service.store, [
      { address: main, asset: 'a', coverage: 'depth_only' },
      { chain: 'evmchain', address: leg, asset: 'a' },
      { address: mint('Z'), price_usd: 5 },
    ]);
    await commitRows(service.store, [
      snap(main, NOW_S - 10, mainCells),
      snap(leg, NOW_S - 20, legCells),
    ]);
    await service.settled();
    const statuses = async () =>
      (await service.post({ addresses: [main, leg, mint('Z')] })).body.tokens.map((row: Json) => [
        row.status,
        row.service_score,
      ]);
    const own = legsScore([[0, legCells]])?.score;
    expect(await statuses()).toEqual([
      ['unscored', null],
      ['available', own],
      ['pending', null],
    ]);
    // The leg that has a score puts the asset on the merged board.
    const { body: all } = await service.get('/top-scores?chain=all');
    expect(all.tokens.map((row: Json) => row.address)).toEqual([leg]);

    // The 0x leg moves to the other asset and has its score from now on.
    await commitTokens(service.store, [
      { address: main, asset: 'a' },
      { chain: 'evmchain', address: leg, asset: 'z' },
      { address: mint('Z'), price_usd: 5, asset: 'z' },
    ]);
    await service.settled();
    expect(await statuses()).toEqual([
      ['available', legsScore([[0, mainCells]])?.score],
      ['available', own],
      ['available', own],
    ]);
  });
});

it('explain=true adds what recomputing the score needs, and changes nothing else', async () => {
  service = await MarketService.start();
  const address = mint('A');
  const cells: [number, number, number][] = [
    [-20, 700, 0],
    [-1, 1500, 0],
    [5, 0, 2500.5],
  ];
  await commitRows(service.store, [
    snapshot(NOW_S - 3, [orca(cells), binance([[0, 100, 0]])], { address }),
  ]);
  await service.settled();
  const { body: without } = await service.get(`/score/${address}`);
  const { body } = await service.get(`/score/${address}?explain=true`);
  const { explain, ...rest } = body;
  expect(rest).toEqual(without);
  expect(explain.formula_version).toBe('fathom.score.1');
  // A client's own arithmetic on the parts alone.
  let support = 0;
  let resistance = 0;
  for (const { bin, weight, ...side } of explain.weights) {
    expect(weight).toBeCloseTo(1 - Math.abs(1.01 ** bin - 1) / 0.25, 12);
    support += weight * side.support;
    resistance += weight * side.resistance;
  }
  expect(support).toBeCloseTo(explain.support, 8);
  expect(resistance).toBeCloseTo(explain.resistance, 8);
  const { depth, balance } = explain.components;
  expect(depth.value).toBeCloseTo(Math.log10((support + resistance) / 1000) / 5, 10);
  expect(balance.value).toBeCloseTo(
    1 - Math.abs(support - resistance) / (support + resistance),
    10,
  );
  expect(depth.points + balance.points).toBeCloseTo(explain.unrounded, 10);
  expect(body.service_score).toBe(Math.round(explain.unrounded * 10) / 10);
  expect(explain.legs).toEqual([
    { chain: 'mainchain', address, t: NOW_S - 3, tier: 'raw', price_usd: 2 },
  ]);
  const { body: unknown } = await service.get(`/score/${mint('U')}?explain=true`);
  expect(unknown).toMatchObject({ status: 'pending', explain: null });
});

describe('POST /score', () => {
  it('queues unknown mints once per request, and refuses the whole request on a mismatch', async () => {
    service = await MarketService.start();
    const [unknown, other] = [mint('U'), mint('V')];
    const { body } = await service.post({ addresses: [unknown, evm('1'), unknown] });
    expect(body.tokens.map((row: Json) => row.status)).toEqual([
      'pending',
      'unsupported',
      'pending',
    ]);
    expect(service.store.queue.list()).toMatchObject([{ address: unknown, requests: 1 }]);
    const refused = await service.post({ addresses: [other, evm('1')], chain: 'evmchain' });
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({
      error_code: 'chain_mismatch',
      mismatched_addresses: [other],
    });
    expect(service.store.queue.list()).toHaveLength(1);
  });

  it('does not queue what cannot be a mint', async () => {
    service = await MarketService.start();
    const addresses = ['z'.repeat(44), '1'.repeat(33), 'z'.repeat(32)];
    const { body } = await service.post({ addresses });
    expect(body.tokens.map((row: Json) => row.status)).toEqual(addresses.map(() => 'unsupported'));
    const one = await service.get(`/score/${addresses[0]}`);
    expect(one.body).toMatchObject({
      status: 'unsupported',
      score_msg: expect.stringContaining('32 bytes'),
    });
    expect(service.store.queue.list()).toEqual([]);
  });
});
