import { describe, expect, it } from 'vitest';
import { RATE_BUCKETS } from '../../server/api/endpoint.js';
import {
  DEFAULT_PLANS,
  parsePlans,
  type Plan,
  planOfKey,
  plansDocument,
} from '../../server/limits/plans.js';
import type { KeyRecord } from '../../storage/contract.js';
import { keyRecord } from './key-record.js';

const figures = (fields: Partial<KeyRecord>, plans = DEFAULT_PLANS) => {
  const { monthlyQuota, rates } = planOfKey(plans, keyRecord(fields)) as Plan;
  const rows = RATE_BUCKETS.map((bucket) => {
    const rule = rates[bucket];
    return [bucket, rule === 'general' ? rule : `${rule.requests} in ${rule.periodS} s`];
  });
  return { monthlyQuota, ...Object.fromEntries(rows) };
};

const WHALES = { 'whale-get': '1 in 1 s', 'whale-post': '6 in 60 s' };

describe("a key's plan", () => {
  it('is its tier if the key has no figures of its own', () => {
    expect(figures({})).toEqual({
      monthlyQuota: 100_000,
      general: '12 in 60 s',
      'market-depth': '60 in 60 s',
      'dca-pressure': '6 in 60 s',
      ...WHALES,
    });
    expect(figures({ tier: 'enterprise' })).toEqual({
      monthlyQuota: 1_000_000,
      general: '600 in 60 s',
      'market-depth': 'Infinity in 60 s',
      // 600 per minute for everything else, of which it is part.
      'dca-pressure': 'general',
      ...WHALES,
    });
  });

  it("replaces each of the plan's requests per minute, but not the whale limits", () => {
    const own = { general: '3 in 60 s', 'market-depth': '3 in 60 s', ...WHALES };
    expect(figures({ requestsPerMinute: 3 })).toEqual({
      monthlyQuota: 100_000,
      ...own,
      'dca-pressure': '3 in 60 s',
    });
    expect(figures({ tier: 'enterprise', requestsPerMinute: 3, monthlyQuota: 5 })).toEqual({
      monthlyQuota: 5,
      ...own,
      'dca-pressure': 'general',
    });
  });

  it('can be unlimited', () => {
    expect(figures({ requestsPerMinute: Infinity, monthlyQuota: Infinity })).toMatchObject({
      monthlyQuota: Infinity,
      general: 'Infinity in 60 s',
      'dca-pressure': 'Infinity in 60 s',
      ...WHALES,
    });
  });
});

describe('the setting plans', () => {
  it('changes only what it names', () => {
    const plans = parsePlans(
      JSON.stringify({
        premium: {
          monthly_quota: 'unlimited',
          connections: 25,
          depth: 'delayed',
          rates: {
            general: { requests: 30 },
            'whale-get': { requests: 5, seconds: 2 },
            'dca-pressure': 'general',
          },
        },
      }),
      'FATHOM_PLANS',
    );
    expect(plans.enterprise).toEqual(DEFAULT_PLANS.enterprise);
    expect([plans.premium.delayedDepth, plans.premium.connections]).toEqual([true, 25]);
    expect(figures({}, plans)).toEqual({
      monthlyQuota: Infinity,
      general: '30 in 60 s',
      'market-depth': '60 in 60 s',
      'dca-pressure': 'general',
      'whale-get': '5 in 2 s',
      'whale-post': '6 in 60 s',
    });
  });

  it('adds plans, which begin with the plan of their tier', () => {
    const text =
      '{"gold": {"tier": "premium", "rpm": 300, "quota": 5, "connections": 20}, "free": {"tier": "enterprise", "depth": "delayed"}, "premium": {"rates": {"whale-get": {"requests": 3}}}}';
    const plans = parsePlans(text, 'FATHOM_PLANS');
    expect(Object.keys(plans)).toEqual(['premium', 'enterprise', 'gold', 'free']);
    expect([plans.gold?.tier, plans.gold?.connections]).toEqual(['premium', 20]);
    expect(figures({ tier: 'gold' }, plans)).toEqual({
      monthlyQuota: 5,
      general: '300 in 60 s',
      'market-depth': '300 in 60 s',
      'dca-pressure': '300 in 60 s',
      'whale-get': '3 in 60 s',
      'whale-post': '6 in 60 s',
    });
    expect(plans.free).toEqual({ ...DEFAULT_PLANS.enterprise, delayedDepth: true });
    expect(planOfKey(plans, keyRecord({ tier: 'silver' }))).toBeNull();
    expect(planOfKey(plans, keyRecord({ tier: 'toString' }))).toBeNull();
    const again = parsePlans(JSON.stringify(plansDocument(plans)), 'again');
    expect(plansDocument(again)).toEqual(plansDocument(plans));
    expect(plansDocument(plans)).toMatchObject({
      premium: { connections: 10 },
      enterprise: { connections: 100 },
      gold: { connections: 20 },
      free: { connections: 100 },
    });
    expect(again.gold).toMatchObject({ tier: 'premium', connections: 20, monthlyQuota: 5 });
  });

  it.each([
    ['{', 'FATHOM_PLANS: expected JSON'],
    ['{"gold":{"tier":"premium"},"gold":{}}', 'FATHOM_PLANS: gold: given twice'],
    ['[]', 'FATHOM_PLANS: expected an object with plans by their names'],
    ['{"gold":{}}', 'FATHOM_PLANS: gold.tier: expected "premium" or "enterprise"'],
    ['{"gold":{"tier":"gold"}}', 'gold.tier: expected "premium" or "enterprise"'],
    ['{"gold":{"tier":"premium","rpm":0}}', 'gold.rpm: expected a whole number from 1'],
    ['{"gold":{"tier":"premium","quota":"no"}}', 'gold.quota: expected a whole number from 1'],
    ['{"gold":{"tier":"premium","connections":-1}}', 'gold.connections: expected a whole number'],
    ['{"gold":{"tier":"premium","monthly_quota":5}}', 'gold.monthly_quota: expected one of tier'],
    ['{"Gold!":{"tier":"premium"}}', "FATHOM_PLANS: Gold!: expected a plan's name"],
    ['{"premium":7}', 'premium: expected an object with monthly_quota, connections, depth, rates'],
    [
      '{"premium":{"quota":7}}',
      'premium.quota: expected one of monthly_quota, connections, depth, rates',
    ],
    ['{"premium":{"depth":"old"}}', 'premium.depth: expected "live" or "delayed"'],
    ['{"premium":{"monthly_quota":0}}', 'premium.monthly_quota: expected a whole number from 1'],
    ['{"premium":{"monthly_quota":"7"}}', 'or "unlimited"'],
    ['{"premium":{"rates":{"generl":{}}}}', 'rates.generl: expected one of general, market-depth'],
    ['{"premium":{"rates":{"general":"general"}}}', 'rates.general: expected an object'],
    ['{"premium":{"rates":{"general":{}}}}', 'rates.general.requests: expected a whole number'],
    ['{"premium":{"rates":{"general":{"requests":1.5}}}}', 'requests: expected a whole number'],
    [
      '{"premium":{"rates":{"general":{"requests":1,"seconds":0}}}}',
      'rates.general.seconds: expected a whole number from 1 to 86400',
    ],
  ])('%s is refused', (text, message) => {
    expect(() => parsePlans(text, 'FATHOM_PLANS')).toThrow(message);
  });
});
