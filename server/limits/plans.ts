/** The limits of each tier (docs/definitions.md#plans), and of keys with individual limits. */
import { allOf, UsageError } from '../../storage/errors.js';
import { KEY_TIERS, type KeyRecord, type KeyTier } from '../../storage/contract.js';
import { RATE_BUCKETS, type RateBucket } from '../api/endpoint.js';

/** A bucket of `requests` that starts full and refills evenly over the period. */
interface RateRule {
  /** Infinity: unlimited. */
  readonly requests: number;
  readonly periodS: number;
}

/** Requests of a bucket without a rule draw on this one. */
export const SHARED_BUCKET = 'general' satisfies RateBucket;
type BucketRule = RateRule | typeof SHARED_BUCKET;

export interface Plan {
  /** Calls in a UTC month; Infinity: unlimited. */
  readonly monthlyQuota: number;
  /** Whether market depth is always delayed; default: it is live. */
  readonly delayedDepth?: boolean;
  readonly rates: Readonly<
    { general: RateRule } & Record<Exclude<RateBucket, typeof SHARED_BUCKET>, BucketRule>
  >;
}

export type Plans = Readonly<Record<KeyTier, Plan>>;

const perMinute = (requests: number): RateRule => ({ requests, periodS: 60 });

/** The same in both plans; a key's own requests per minute do not replace them. */
const WHALE_RATES = { 'whale-get': { requests: 1, periodS: 1 }, 'whale-post': perMinute(6) };

export const DEFAULT_PLANS: Plans = {
  premium: {
    monthlyQuota: 100_000,
    rates: {
      general: perMinute(12),
      'market-depth': perMinute(60),
      'dca-pressure': perMinute(6),
      ...WHALE_RATES,
    },
  },
  enterprise: {
    monthlyQuota: 1_000_000,
    rates: {
      general: perMinute(600),
      'market-depth': perMinute(Infinity),
      'dca-pressure': SHARED_BUCKET,
      ...WHALE_RATES,
    },
  },
};

/**
 * A key's plan: its tier's, with the key's own limits. Its requests per minute replace the plan's rates,
 * including unlimited ones, except those of /whale-activity.
 */
export function planOfKey(plans: Plans, key: KeyRecord): Plan {
  const plan = plans[key.tier];
  const { requestsPerMinute, monthlyQuota } = key;
  const own = (rule: BucketRule): BucketRule =>
    requestsPerMinute === null || rule === SHARED_BUCKET ? rule : perMinute(requestsPerMinute);
  return {
    ...plan,
    monthlyQuota: monthlyQuota ?? plan.monthlyQuota,
    rates: {
      ...plan.rates,
      general: requestsPerMinute === null ? plan.rates.general : perMinute(requestsPerMinute),
      'market-depth': own(plan.rates['market-depth']),
      'dca-pressure': own(plan.rates['dca-pressure']),
    },
  };
}

const MAX_REQUESTS = 1_000_000_000;
const MAX_PERIOD_S = 86_400;
const DEFAULT_PERIOD_S = 60;
const MAX_MONTHLY_QUOTA = 1_000_000_000;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads the setting `plans`: a JSON object that overrides parts of the plans.
 *
 *     {"premium": {"monthly_quota": 250000, "rates": {
 *        "general": {"requests": 30}, "whale-get": {"requests": 2, "seconds": 1},
 *        "dca-pressure": "general"}},
 *      "enterprise": {"monthly_quota": "unlimited", "rates": {"market-depth": {"requests": "unlimited"}}}}
 *
 * `depth` is "live" or "delayed" (market depth at least 15 minutes old). `rates` has an entry per
 * bucket: `requests` per `seconds` (default 60), or "general" to draw on that bucket.
 *
 * @param from names the setting in errors
 * @throws UsageError that names the field and what was expected
 */
export function parsePlans(text: string, from: string): Plans {
  return readFields(parseJson(text, from), from, KEY_TIERS, (tiers) => {
    const plan = (tier: KeyTier) => () =>
      [tier, readPlan(tiers[tier], `${from}: ${tier}`, DEFAULT_PLANS[tier])] as const;
    return Object.fromEntries(allOf(KEY_TIERS.map(plan))) as Plans;
  });
}

/** Plans in the form that parsePlans() reads. */
export function plansDocument(plans: Plans): object {
  const limit = (value: number) => (value === Infinity ? 'unlimited' : value);
  const rule = (of: BucketRule) =>
    of === SHARED_BUCKET ? of : { requests: limit(of.requests), seconds: of.periodS };
  const plan = ({ monthlyQuota, delayedDepth = false, rates }: Plan) => ({
    monthly_quota: limit(monthlyQuota),
    depth: delayedDepth ? 'delayed' : 'live',
    rates: Object.fromEntries(RATE_BUCKETS.map((bucket) => [bucket, rule(rates[bucket])])),
  });
  return Object.fromEntries(KEY_TIERS.map((tier) => [tier, plan(plans[tier])]));
}

function readPlan(value: unknown, at: string, before: Plan): Plan {
  if (value === undefined) return before;
  const plan = { ...before };
  const read = ({ monthly_quota: quota, depth, rates }: Fields) =>
    allOf([
      () => {
        if (depth !== undefined) plan.delayedDepth = isDelayed(depth, `${at}.depth`);
      },
      () => {
        const quotaAt = `${at}.monthly_quota`;
        if (quota !== undefined) plan.monthlyQuota = limitOf(quota, quotaAt, MAX_MONTHLY_QUOTA);
      },
      () => {
        if (rates !== undefined) plan.rates = readRates(rates, `${at}.rates`, before.rates);
      },
    ]);
  readFields(value, at, ['monthly_quota', 'depth', 'rates'], read);
  return plan;
}

function isDelayed(value: unknown, at: string): boolean {
  if (value !== 'live' && value !== 'delayed') return fail(at, '"live" or "delayed"');
  return value === 'delayed';
}

function readRates(value: unknown, at: string, before: Plan['rates']): Plan['rates'] {
  const rates: Record<RateBucket, BucketRule> = { ...before };
  const read = (given: Fields) =>
    allOf(
      RATE_BUCKETS.map((bucket) => () => {
        if (given[bucket] !== undefined) rates[bucket] = readRule(given[bucket], at, bucket);
      }),
    );
  readFields(value, at, RATE_BUCKETS, read);
  return rates as Plan['rates'];
}

function readRule(value: unknown, at: string, bucket: RateBucket): BucketRule {
  const field = `${at}.${bucket}`;
  if (bucket !== SHARED_BUCKET && value === SHARED_BUCKET) return SHARED_BUCKET;
  return readFields(value, field, ['requests', 'seconds'], (given) => {
    const { requests, seconds = DEFAULT_PERIOD_S } = given;
    const [limit, periodS] = allOf([
      () => limitOf(requests, `${field}.requests`, MAX_REQUESTS),
      () => wholeOf(seconds, MAX_PERIOD_S) ?? fail(`${field}.seconds`, wholeText(MAX_PERIOD_S)),
    ]);
    return { requests: limit, periodS };
  });
}

/** A whole number, or Infinity for "unlimited". */
function limitOf(value: unknown, at: string, max: number): number {
  if (value === 'unlimited') return Infinity;
  return wholeOf(value, max) ?? fail(at, `${wholeText(max)} or "unlimited"`);
}

function wholeOf(value: unknown, max: number): number | null {
  const whole = typeof value === 'number' && Number.isInteger(value);
  return whole && value >= 1 && value <= max ? value : null;
}

const wholeText = (max: number) => `a whole number from 1 to ${max}`;

/** Reads the fields of a JSON object. @throws UsageError also if it has others than these */
export function readFields<T>(
  value: unknown,
  at: string,
  names: readonly string[],
  read: (fields: Fields) => T,
): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return fail(at, `an object with ${names.join(', ')}`);
  }
  const unknown = Object.keys(value).filter((name) => !names.includes(name));
  const refusals = unknown.map((name) => () => fail(`${at}.${name}`, `one of ${names.join(', ')}`));
  return allOf([() => read(value as Fields), ...refusals])[0];
}

/** @throws UsageError */
export function parseJson(text: string, from: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return fail(from, 'JSON');
  }
}

function fail(at: string, expected: string): never {
  throw new UsageError(`${at}: expected ${expected}`);
}
