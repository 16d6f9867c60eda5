import { describe, expect, it } from 'vitest';
import type { LimitedEndpoint } from '../../server/api/endpoint.js';
import { ApiError, type Headers } from '../../server/http/errors.js';
import { type LimitClock, UNLIMITED } from '../../server/limits/buckets.js';
import { Limiter } from '../../server/limits/limiter.js';
import { Account, STREAM } from '../../server/live/account.js';
import { MemoryUsage } from '../support/memory-sources.js';
import type { KeyRecord } from '../../storage/contract.js';
import { keyRecord } from './key-record.js';

const NOV_20_MS = Date.UTC(2026, 10, 20, 12);
const DEC_1_S = Date.UTC(2026, 11, 1) / 1000;

/** A clock set by the test. */
class SimulatedClock implements LimitClock {
  us = 5_000_000;
  ms = NOV_20_MS;
  steadyUs = () => this.us;
  wallMs = () => this.ms;
  pass(seconds: number) {
    this.us += seconds * 1_000_000;
    this.ms += seconds * 1000;
  }
}

const endpoint = (...rateBuckets: LimitedEndpoint['rateBuckets']): LimitedEndpoint => ({
  method: 'GET',
  path: '/score/:address',
  tier: 'premium',
  quotaCost: 1,
  rateBuckets,
});
const GENERAL = endpoint('general');
const WHALE = endpoint('general', 'whale-get');
const BULK = endpoint('general', 'whale-post');

function setUp() {
  const clock = new SimulatedClock();
  const usage = new MemoryUsage();
  return { clock, usage, limiter: new Limiter({ usage, clock }) };
}
const named = (headers: Headers) => Object.fromEntries(headers) as Record<string, string>;

/** The refusal, with its headers by name. */
function refusal(action: () => unknown) {
  try {
    action();
  } catch (error) {
    const { status, body, headers } = error as ApiError;
    expect(error).toBeInstanceOf(ApiError);
    return { status, body, headers: named(headers) };
  }
  throw new Error('was admitted');
}

it('the use of a key is recorded once an hour, whatever the outcome of the call', () => {
  const { clock, usage, limiter } = setUp();
  for (let i = 0; i < 12; i++) limiter.check(keyRecord(), GENERAL).settle(304);
  expect(() => limiter.check(keyRecord(), GENERAL)).toThrow(ApiError);
  expect(usage.uses).toEqual([['key_1', NOV_20_MS / 1000]]);
  clock.pass(3600);
  expect(() => limiter.check(keyRecord(), { ...GENERAL, tier: 'enterprise' })).toThrow(
    'needs an enterprise key; this one is premium',
  );
  expect(usage.uses).toEqual([
    ['key_1', NOV_20_MS / 1000],
    ['key_1', NOV_20_MS / 1000 + 3600],
  ]);
});

describe('rates on a simulated clock', () => {
  it('allow a whole minute’s requests at once, then as the bucket refills', () => {
    const { clock, limiter } = setUp();
    for (let left = 11; left >= 0; left--) {
      const headers = named(limiter.check(keyRecord(), GENERAL).settle(200));
      expect(headers['X-RateLimit-Remaining']).toBe(String(left));
    }
    clock.pass(1.5);
    const { status, body, headers } = refusal(() => limiter.check(keyRecord(), GENERAL));
    expect(status).toBe(429);
    expect(body).toEqual({ error: 'Rate limit exceeded: retry in 4 seconds' });
    expect(headers).toEqual({
      'Retry-After': '4',
      'X-API-Tier': 'premium',
      'X-RateLimit-Limit': '12',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(Math.ceil(NOV_20_MS / 1000 + 60)),
      'X-Quota-Limit': '100000',
      'X-Quota-Used': '12',
      'X-Quota-Remaining': '99988',
      'X-Quota-Reset': String(DEC_1_S),
      'RateLimit-Policy': '"general";q=12;w=60',
      RateLimit: '"general";r=0;t=59',
    });
    clock.pass(3.5);
    expect(named(limiter.check(keyRecord(), GENERAL).settle(200))['X-RateLimit-Remaining']).toBe(
      '0',
    );
    expect(() => limiter.check(keyRecord(), GENERAL)).toThrow(ApiError);
  });

  it('are independent of the wall clock', () => {
    const { clock, limiter } = setUp();
    for (let i = 0; i < 12; i++) limiter.check(keyRecord(), GENERAL).settle(200);
    clock.ms += 3_600_000;
    expect(() => limiter.check(keyRecord(), GENERAL)).toThrow(ApiError);
    clock.ms -= 7_200_000;
    clock.us += 5_000_000;
    limiter.check(keyRecord(), GENERAL).settle(200);
  });

  it('are charged together or not at all, and the tighter one is reported', () => {
    const { clock, limiter } = setUp();
    const first = named(limiter.check(keyRecord(), WHALE).settle(200));
    expect(first).toMatchObject({
      'X-RateLimit-Limit': '1',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(NOV_20_MS / 1000 + 1),
      'RateLimit-Policy': '"general";q=12;w=60, "whale-get";q=1;w=1',
      RateLimit: '"general";r=11;t=5, "whale-get";r=0;t=1',
    });
    for (let i = 0; i < 20; i++) {
      expect(refusal(() => limiter.check(keyRecord(), WHALE)).headers['Retry-After']).toBe('1');
    }
    // None of the refused ones drew on the general bucket.
    expect(named(limiter.check(keyRecord(), GENERAL).settle(200))['X-RateLimit-Remaining']).toBe(
      '10',
    );
    for (let i = 0; i < 10; i++) limiter.check(keyRecord(), GENERAL).settle(200);
    clock.pass(1);
    // Now the general one is tighter, and the other stays full.
    const { headers } = refusal(() => limiter.check(keyRecord(), WHALE));
    expect(headers).toMatchObject({
      'Retry-After': '4',
      'X-API-Tier': 'premium',
      'X-RateLimit-Limit': '12',
      RateLimit: '"general";r=0;t=59, "whale-get";r=1;t=0',
    });
  });

  it('are separate by key and by endpoint', () => {
    const { limiter } = setUp();
    for (let i = 0; i < 12; i++) limiter.check(keyRecord(), GENERAL).settle(200);
    limiter.check(keyRecord({ id: 'key_2' }), GENERAL).settle(200);
    const depth = named(limiter.check(keyRecord(), endpoint('market-depth')).settle(200));
    expect(depth).toMatchObject({ 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '59' });
    for (let i = 0; i < 6; i++) limiter.check(keyRecord(), endpoint('dca-pressure')).settle(200);
    expect(() => limiter.check(keyRecord(), endpoint('dca-pressure'))).toThrow(ApiError);
  });

  it('give Enterprise one bucket for everything but market depth, which is unlimited', () => {
    const { limiter } = setUp();
    const enterprise = keyRecord({ tier: 'enterprise' });
    for (let i = 0; i < 300; i++) {
      limiter.check(enterprise, GENERAL).settle(200);
      limiter.check(enterprise, endpoint('dca-pressure')).settle(200);
    }
    expect(() => limiter.check(enterprise, GENERAL)).toThrow(ApiError);
    for (let i = 0; i < 1000; i++) limiter.check(enterprise, endpoint('market-depth')).settle(200);
    expect(named(limiter.check(enterprise, endpoint('market-depth')).settle(200))).toMatchObject({
      'X-RateLimit-Limit': String(UNLIMITED),
      'X-RateLimit-Remaining': String(UNLIMITED),
      'X-RateLimit-Reset': String(NOV_20_MS / 1000),
      'RateLimit-Policy': `"market-depth";q=${UNLIMITED};w=60`,
      RateLimit: `"market-depth";r=${UNLIMITED};t=0`,
    });
  });

  it('use the key’s current figures, and do not change if they are the same', () => {
    const { limiter } = setUp();
    for (let i = 0; i < 12; i++) limiter.check(keyRecord(), GENERAL).settle(200);
    // A rotated key is another record with the same figures.
    expect(() => limiter.check(keyRecord({ hint: 'rotated' }), GENERAL)).toThrow(ApiError);
    const raised = named(limiter.check(keyRecord({ requestsPerMinute: 100 }), GENERAL).settle(200));
    expect(raised['X-RateLimit-Limit']).toBe('100');
  });

  it('keep every key within the bound, and forget the least recent one', () => {
    const { clock, usage } = setUp();
    const limiter = new Limiter({ usage, clock, maxKeys: 3 });
    const inProgress = limiter.check(keyRecord({ id: 'slow' }), GENERAL);
    for (let i = 0; i < 12; i++) limiter.check(keyRecord({ id: 'busy' }), GENERAL).settle(200);
    for (let i = 0; i < 1000; i++) {
      limiter.check(keyRecord({ id: `new_${i}` }), GENERAL).settle(200);
      expect(() => limiter.check(keyRecord({ id: 'busy' }), GENERAL)).toThrow(ApiError);
    }
    expect(limiter.size).toBe(3);
    // The call of a key that was forgotten in the meantime is charged all the same.
    inProgress.settle(200);
    expect(named(limiter.check(keyRecord({ id: 'slow' }), GENERAL).settle(200))).toMatchObject({
      'X-RateLimit-Remaining': '11',
      'X-Quota-Used': '2',
    });
  });
});

it('tiers 403 uses the rate but no quota', () => {
  const { limiter, usage } = setUp();
  const enterpriseOnly = { ...GENERAL, tier: 'enterprise' } as const;
  const { status, body, headers } = refusal(() => limiter.check(keyRecord(), enterpriseOnly));
  expect([status, Object.keys(body)]).toEqual([403, ['error']]);
  expect(headers).toMatchObject({ 'X-RateLimit-Remaining': '11', 'X-Quota-Used': '0' });
  limiter.check(keyRecord({ id: 'key_2', tier: 'enterprise' }), enterpriseOnly).settle(200);
  expect(usage.month('key_2', 202611).calls).toBe(1);
  for (let i = 0; i < 11; i++) refusal(() => limiter.check(keyRecord(), enterpriseOnly));
  expect(refusal(() => limiter.check(keyRecord(), enterpriseOnly)).status).toBe(429);
});

describe('the monthly quota', () => {
  const unhurried = (fields: Partial<KeyRecord>) =>
    keyRecord({ requestsPerMinute: Infinity, ...fields });

  it.each([304, 400, 404, 429, 500, 503, null])('costs nothing if a call ends in %s', (end) => {
    const { limiter, usage } = setUp();
    const calls = [200, end, 200].map((status) => ({
      status,
      call: limiter.check(keyRecord(), GENERAL),
    }));
    for (const { status, call } of calls) call.settle(status);
    expect(usage.month('key_1', 202611).calls).toBe(2);
  });

  it('is reserved for calls in progress, and returned if they fail', () => {
    const { limiter } = setUp();
    const two = unhurried({ monthlyQuota: 2 });
    const [first, second] = [limiter.check(two, GENERAL), limiter.check(two, GENERAL)];
    const busy = refusal(() => limiter.check(two, GENERAL));
    expect(busy.body).toEqual({ error: 'Monthly quota exceeded: retry in 1 second' });
    expect(busy.headers).toMatchObject({ 'Retry-After': '1', 'X-Quota-Used': '0' });
    expect(named(second.settle(200))['X-Quota-Used']).toBe('1');
    expect(named(first.settle(404))['X-Quota-Used']).toBe('1');
    expect(named(limiter.check(two, GENERAL).settle(200))).toMatchObject({
      'X-Quota-Used': '2',
      'X-Quota-Remaining': '0',
    });
    const spent = refusal(() => limiter.check(two, GENERAL));
    const waitS = DEC_1_S - NOV_20_MS / 1000;
    expect(spent.status).toBe(429);
    expect(spent.body).toEqual({ error: `Monthly quota exceeded: retry in ${waitS} seconds` });
    expect(spent.headers['Retry-After']).toBe(String(waitS));
  });

  it('admits free calls even if more is used than the quota has', () => {
    const { limiter, usage } = setUp();
    const one = unhurried({ monthlyQuota: 1 });
    usage.counter('key_1', 20261120, 'GET /a').add(3);
    expect(refusal(() => limiter.check(one, GENERAL)).status).toBe(429);
    const free = limiter.check(one, { ...GENERAL, quotaCost: 0 });
    expect(named(free.settle(200))).toMatchObject({
      'X-Quota-Used': '3',
      'X-Quota-Remaining': '0',
    });
  });

  it('does not tell a call to retry that costs more than a month has', () => {
    const { limiter } = setUp();
    const [none, three] = [0, 3].map((monthlyQuota) => unhurried({ monthlyQuota }));
    const single = refusal(() => limiter.check(none, GENERAL));
    expect([single.status, single.headers['Retry-After'], single.body]).toEqual([
      429,
      undefined,
      { error: 'Monthly quota exceeded: the request costs 1 call, the key has 0 a month' },
    ]);
    expect(single.headers['X-Quota-Limit']).toBe('0');
    const call = limiter.check(three, BULK);
    const batch = refusal(() => call.costs(4));
    expect([batch.status, batch.headers, batch.body]).toEqual([
      429,
      {},
      { error: 'Monthly quota exceeded: the request costs 4 calls, the key has 3 a month' },
    ]);
    call.costs(3);
    call.settle(200);
    // The same for what a live connection pays.
    const account = new Account(limiter.check, () => none, STREAM);
    expect(() => account.tryToPay()).toThrow('Monthly quota exceeded');
  });

  it('is charged by tokens if a call costs that much', () => {
    const { limiter, usage } = setUp();
    const ten = unhurried({ monthlyQuota: 10 });
    const call = limiter.check(ten, BULK);
    call.costs(7);
    expect(named(call.settle(200))['X-Quota-Used']).toBe('7');
    const dear = limiter.check(ten, BULK);
    const { status, headers, body } = refusal(() => dear.costs(4));
    const costs = 'the request costs 4 calls, the key has 3 left';
    const waitS = DEC_1_S - NOV_20_MS / 1000;
    expect(body).toEqual({ error: `Monthly quota exceeded (${costs}): retry in ${waitS} seconds` });
    // The reply's own headers are those of settle.
    expect([status, Object.keys(headers)]).toEqual([429, ['Retry-After']]);
    expect(named(dear.settle(429))['X-Quota-Remaining']).toBe('3');
    const exact = limiter.check(ten, BULK);
    exact.costs(3);
    exact.settle(200);
    expect(usage.month('key_1', 202611).calls).toBe(10);
    const empty = limiter.check(unhurried({ monthlyQuota: 11 }), BULK);
    empty.costs(0);
    empty.settle(200);
    expect(usage.month('key_1', 202611).calls).toBe(10);
  });

  it('is counted by days, and a call belongs to the day that admitted it', async () => {
    const { clock, usage, limiter } = setUp();
    const key = unhurried({ monthlyQuota: 10 });
    const call = () => limiter.check(key, GENERAL);
    clock.ms = Date.UTC(2026, 10, 29, 23, 59, 59, 999);
    const late = call();
    clock.ms++;
    late.settle(200);
    call().settle(200);
    clock.ms = Date.UTC(2026, 11, 1) - 1;
    const last = call();
    clock.ms++;
    last.settle(200);
    call().settle(200);
    // A clock that is set back.
    clock.ms = Date.UTC(2026, 10, 29);
    call().settle(200);
    call().settle(404);
    const days = async (month: number) =>
      (await usage.ofMonth(key.id, month)).map(({ day, calls }) => [day, calls]);
    expect(await days(202611)).toEqual([
      [20261129, 1],
      [20261130, 1],
      [20261130, 1],
      [20261129, 1],
    ]);
    expect(await days(202612)).toEqual([[20261201, 1]]);
  });

  it('starts again with the month, and a call belongs to the month that admitted it', () => {
    const { clock, limiter, usage } = setUp();
    const one = unhurried({ monthlyQuota: 1 });
    clock.ms = DEC_1_S * 1000 - 1;
    const old = limiter.check(one, GENERAL);
    expect(refusal(() => limiter.check(one, GENERAL)).headers['X-Quota-Reset']).toBe(
      String(DEC_1_S),
    );
    clock.ms += 1;
    const headers = named(limiter.check(one, GENERAL).settle(200));
    expect(headers).toMatchObject({
      'X-Quota-Used': '1',
      'X-Quota-Reset': String(Date.UTC(2027, 0, 1) / 1000),
    });
    old.settle(200);
    expect([...usage.months].map(([name, { calls }]) => [name, calls])).toEqual([
      ['key_1 202611', 1],
      ['key_1 202612', 1],
    ]);
  });

  it('can be unlimited', () => {
    const { limiter } = setUp();
    expect(
      named(limiter.check(unhurried({ monthlyQuota: Infinity }), GENERAL).settle(200)),
    ).toMatchObject({
      'X-Quota-Limit': String(UNLIMITED),
      'X-Quota-Used': '1',
      'X-Quota-Remaining': String(UNLIMITED),
    });
  });
});
