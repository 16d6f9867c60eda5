/** GET /score/:address?at= gives what a server said whose clock showed that time. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commitRows, commitTokens, orca, snapshot } from '../support/stores.js';
import { MarketService, NOW_S } from '../tokens/market-service.js';

const mint = (letter: string): string => letter.repeat(43);
const evm = (digit: string): string => `0x${digit.repeat(40)}`;
const [BRIDGED, ALONE, PERPS, DEPTH_ONLY, OLD] = ['A', 'B', 'C', 'D', 'E'].map(mint);
const LEG = evm('a');
const LONE_LEG = evm('b');
const TOKENS = [BRIDGED, LEG, ALONE, PERPS, DEPTH_ONLY, LONE_LEG, evm('f'), mint('U')];
const HOUR_S = 3600;
const DAY_S = 86_400;
/** Before the first snapshot; legs apart and together; fresh, stale, and more than a day apart. */
const TIMES = [80, 60, 59.5, 40, 30, 20, 3, 2, 0.5].map((hours) => NOW_S - hours * HOUR_S);

const snap = (address: string, hoursAgo: number, usd: number, more = {}) =>
  snapshot(
    NOW_S - hoursAgo * HOUR_S,
    [
      orca([
        [-1, usd, 0],
        [2, 0, 2 * usd],
      ]),
    ],
    { address, ...more },
  );

let service: MarketService;
/** What the service said when its clock showed each time. */
const answers = new Map<string, unknown>();
/** For each time and token: the last score of a series whose days extend beyond it, and the score. */
const ahead: [token: string, t: number, ofSeries: unknown, ofScore: unknown][] = [];

beforeAll(async () => {
  service = await MarketService.start();
  await service.turnTo(TIMES[0]);
  const perps = { source: 'Perps', exchange_type: 'CEX', type: 'cex_perp' } as const;
  await commitTokens(service.store, [
    { address: BRIDGED, asset: 'one', symbol: 'ONE' },
    { chain: 'evmchain', address: LEG, asset: 'one' },
    { address: DEPTH_ONLY, coverage: 'depth_only' },
    { address: ALONE, price_usd: 9 },
  ]);
  await commitRows(service.store, [
    snap(BRIDGED, 60, 5000),
    snap(BRIDGED, 30, 90_000, { price_usd: 3 }),
    snap(BRIDGED, 2, 1000, { tier: '15m' }),
    snap(LEG, 60, 700_000),
    snap(LEG, 20, 40_000),
    snap(LEG, 1, 20),
    snap(ALONE, 40, 3000),
    snap(ALONE, 0, 4000),
    snapshot(NOW_S - 50 * HOUR_S, [{ ...perps, cells: [[0, 7, 7]] }], { address: PERPS }),
    snap(DEPTH_ONLY, 45, 9000),
    snap(LONE_LEG, 35, 9000),
    snap(OLD, 366 * 24, 9000),
  ]);
  await service.settled();
  for (const t of TIMES) {
    await service.turnTo(t);
    for (const token of TOKENS) {
      for (const query of ['', '&explain=true']) {
        const { status, headers, body } = await service.get(`/score/${token}?chain=all${query}`);
        answers.set(`${token} ${t}${query}`, [status, headers.get('x-data-time'), body]);
      }
      const days = `from=${t - DAY_S}&to=${t + 2 * DAY_S}&step=1d&score=true`;
      const { body: series } = await service.get(`/depth-series/${token}?${days}`);
      if (!(series.t.at(-1) > t)) continue;
      const { body: score } = await service.get(`/score/${token}?chain=all`);
      ahead.push([token, t, series.score.at(-1), score.service_score]);
    }
  }
  await service.turnTo(NOW_S);
});
afterAll(() => service.stop());

describe('GET /score/:address?at=', () => {
  it.each(TOKENS)('%s: what a server said at that time', async (token) => {
    for (const t of TIMES) {
      for (const query of ['', '&explain=true']) {
        const { status, headers, body } = await service.get(
          `/score/${token}?chain=all&at=${t}${query}`,
        );
        const now = [status, headers.get('x-data-time'), body];
        expect([t, now]).toEqual([t, answers.get(`${token} ${t}${query}`)]);
      }
    }
  });

  it('moves through statuses, scores and staleness', async () => {
    const of = async (token: string, t: number) => {
      const { body } = await service.get(`/score/${token}?at=${t}&explain=true`);
      return body;
    };
    expect(await of(BRIDGED, TIMES[0])).toMatchObject({
      status: 'price_unavailable',
      data_time: null,
    });
    expect(await of(ALONE, TIMES[0])).toMatchObject({
      status: 'pending',
      service_current_price: 9,
    });
    // The leg's snapshot of 60 hours ago is more than a day older than the mint's of 30 hours ago.
    const apart = await of(LEG, NOW_S - 30 * HOUR_S);
    expect(apart).toMatchObject({ address: BRIDGED, data_time: NOW_S - 30 * HOUR_S });
    expect(apart.explain.legs).toHaveLength(1);
    expect((await of(LEG, NOW_S - 20 * HOUR_S)).explain.legs).toHaveLength(2);
    expect((await of(BRIDGED, NOW_S - 59.5 * HOUR_S)).stale).toBeUndefined();
    expect((await of(BRIDGED, NOW_S - 40 * HOUR_S)).stale).toBe(true);
    const scores = new Set(
      await Promise.all(TIMES.map(async (t) => (await of(BRIDGED, t)).service_score as unknown)),
    );
    expect(scores.size).toBeGreaterThan(4);
  });

  it('equals the score of each point of /depth-series', async () => {
    const window = `from=${NOW_S - 65 * HOUR_S}&to=${NOW_S}&step=1h&score=true`;
    const found = new Set<number | null>();
    for (const token of TOKENS) {
      for (let repeats = 0; repeats < 2; repeats++) {
        const { body } = await service.get(`/depth-series/${token}?${window}`);
        expect(body.score).toHaveLength(body.t.length);
        for (const [i, t] of (body.t as number[]).entries()) {
          const { body: then } = await service.get(`/score/${token}?chain=all&at=${t}`);
          expect([token, t, body.score[i]]).toEqual([token, t, then.service_score]);
          found.add(then.service_score);
        }
      }
    }
    expect(found.has(null)).toBe(true);
    expect(found.size).toBeGreaterThan(6);
  });

  it('is the current score in a step of /depth-series that extends beyond now', () => {
    // The leg's next snapshot, an hour later, lies within that step.
    expect(ahead.map(([token, t]) => [token, t])).toContainEqual([BRIDGED, NOW_S - 2 * HOUR_S]);
    for (const [token, t, ofSeries, ofScore] of ahead) {
      expect([token, t, ofSeries]).toEqual([token, t, ofScore]);
    }
  });

  it('uses no snapshot that is older than 365 days by now, nor do points of /depth-series', async () => {
    for (const at of [NOW_S, NOW_S - 364 * DAY_S]) {
      const { body } = await service.get(`/score/${OLD}?at=${at}&explain=true`);
      expect(body).toMatchObject({ service_score: null, data_time: null });
    }
    const days = `from=${NOW_S - 365 * DAY_S}&to=${NOW_S}&step=1d&score=true`;
    expect((await service.get(`/depth-series/${OLD}?${days}`)).body.t).toEqual([]);
  });

  it('is the current score for now and for a future time', async () => {
    for (const token of TOKENS) {
      const { body } = await service.get(`/score/${token}?explain=true`);
      for (const at of ['now', NOW_S, NOW_S + 60]) {
        expect((await service.get(`/score/${token}?explain=true&at=${at}`)).body).toEqual(body);
      }
    }
  });
});
