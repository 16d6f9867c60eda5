/** The limits of each tier (docs/definitions.md#plans), and of keys with individual limits. */
import { recordOf } from '../../compute/collections.js';
import { DAY_S } from '../../compute/time.js';
import { allOf, UsageError } from '../../storage/errors.js';
import { KEY_TIERS, type KeyRecord, type KeyTier } from '../../storage/contract.js';
import { RATE_BUCKETS, type RateBucket } from '../api/endpoint.js';
import { parseJson } from '../json-text.js';

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
  /** What the plan's keys may request. */
  readonly tier: KeyTier;
  /** Calls in a UTC month; Infinity: unlimited. */
  readonly monthlyQuota: number;
  /** Whether market depth is always delayed; default: it is live. */
  readonly delayedDepth?: boolean;
  /** Live connections of a key at once; default: those of its tier. */
  readonly connections?: number;
  readonly rates: Readonly<
    { general: RateRule } & Record<Exclude<RateBucket, typeof SHARED_BUCKET>, BucketRule>
  >;
}

/** By name: a plan for each tier, and the operator's own. */
export type Plans = Readonly<Record<KeyTier, Plan>> & Readonly<Partial<Record<string, Plan>>>;

/** Live connections of a key at once, if its plan does not set them. */
const TIER_CONNECTIONS: Readonly<Record<KeyTier, number>> = { premium: 10, enterprise: 100 };

/** The most live connections that a plan's key may have at once. */
export const connectionsOf = ({ tier, connections }: Plan): number =>
  connections ?? TIER_CONNECTIONS[tier];

const perMinute = (requests: number): RateRule => ({ requests, periodS: 60 });

/** The same in both plans; a key's own requests per minute do not replace them. */
const WHALE_RATES = { 'whale-get': { requests: 1, periodS: 1 }, 'whale-post': perMinute(6) };

export const DEFAULT_PLANS: Plans = {
  premium: {
    tier: 'premium',
    monthlyQuota: 100_000,
    rates: {
      general: perMinute(12),
      'market-depth': perMinute(60),
      'dca-pressure': perMinute(6),
      ...WHALE_RATES,
    },
  },
  enterprise: {
    tier: 'enterprise',
    monthlyQuota: 1_000_000,
    rates: {
      general: perMinute(600),
      'market-depth': perMinute(Infinity),
      'dca-pressure': SHARED_BUCKET,
      ...WHALE_RATES,
    },
  },
};

/** A key's limits; null in place of a number: unlimited. */
export interface LimitsDocument {
  /** Requests a minute of the buckets that differ from `general`. */
  readonly minute: Readonly<
    Partial<Record<RateBucket, number | null>> & { general: number | null }
  >;
  /** Requests a month. */
  readonly month: number | null;
  /** Live connections at once. */
  readonly connections: number;
}

export function limitsDocument(plan: Plan): LimitsDocument {
  const orNull = (value: number): number | null => (value === Infinity ? null : value);
  const perMinuteOf = ({ requests, periodS }: RateRule) => orNull((60 * requests) / periodS);
  const { general } = plan.rates;
  const own = RATE_BUCKETS.flatMap((bucket) => {
    const rule = plan.rates[bucket];
    const isGeneral = rule === SHARED_BUCKET || perMinuteOf(rule) === perMinuteOf(general);
    return isGeneral ? [] : [[bucket, perMinuteOf(rule)] as const];
  });
  return {
    minute: { general: perMinuteOf(general), ...Object.fromEntries(own) },
    month: orNull(plan.monthlyQuota),
    connections: connectionsOf(plan),
  };
}

/** A key's plan, with the key's own limits; null: the plan is not configured. */
export function planOfKey(plans: Plans, key: KeyRecord): Plan | null {
  const plan = Object.hasOwn(plans, key.tier) ? plans[key.tier] : undefined;
  return plan === undefined ? null : withLimits(plan, key);
}

/**
 * A plan with other limits; null: those of the plan. Requests per minute replace the plan's rates, including unlimited
 * ones, except those of /whale-activity.
 */
function withLimits(
  plan: Plan,
  { requestsPerMinute, monthlyQuota }: Pick<KeyRecord, 'requestsPerMinute' | 'monthlyQuota'>,
): Plan {
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
const MAX_PERIOD_S = DAY_S;
const DEFAULT_PERIOD_S = 60;
const MAX_MONTHLY_QUOTA = 1_000_000_000;
const MAX_CONNECTIONS = 1_000_000;
/** An operator's own plans. */
const MAX_OWN_PLANS = 100;
const PLAN_NAME = /^[a-z][a-z0-9_-]{0,31}$/;
type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads the setting `plans`: a JSON object that overrides parts of the tiers' plans and adds others.
 *
 *     {"premium": {"monthly_quota": 250000, "rates": {
 *        "general": {"requests": 30}, "whale-get": {"requests": 2, "seconds": 1},
 *        "dca-pressure": "general"}},
 *      "enterprise": {"monthly_quota": "unlimited", "rates": {"market-depth": {"requests": "unlimited"}}},
 *      "gold": {"tier": "premium", "rpm": 300, "quota": 100000, "connections": 20}}
 *
 * `depth` is "live" or "delayed" (market depth at least 15 minutes old). `rates` has an entry per
 * bucket: `requests` per `seconds` (default 60), or "general" to draw on that bucket. A plan of another name begins
 * with that of its `tier`; `rpm` and `quota` replace its figures like those of a key.
 *
 * @param from names the setting in errors
 * @throws UsageError that names the field and what was expected
 */
export function parsePlans(text: string, from: string): Plans {
  const given = objectOf(parseJson(text, from), from, 'an object with plans by their names');
  const names = Object.keys(given);
  const own = names.filter((name) => !isTier(name));
  if (own.length > MAX_OWN_PLANS) fail(from, `at most ${MAX_OWN_PLANS} plans`);
  const tiers: Record<KeyTier, Plan> = { ...DEFAULT_PLANS };
  const others: Record<string, Plan> = {};
  // In this order: the others begin with the plans of their tiers.
  allOf([
    ...KEY_TIERS.map((tier) => () => {
      tiers[tier] = readPlan(given[tier], `${from}: ${tier}`, DEFAULT_PLANS[tier]);
    }),
    ...own.map((name) => () => {
      others[name] = readOwnPlan(name, given[name], from, tiers);
    }),
  ]);
  return { ...tiers, ...others };
}

const isTier = (name: string): name is KeyTier => KEY_TIERS.some((tier) => tier === name);

/** Plans in the form that parsePlans() reads. */
export function plansDocument(plans: Plans): object {
  const limit = (value: number) => (value === Infinity ? 'unlimited' : value);
  const rule = (of: BucketRule) =>
    of === SHARED_BUCKET ? of : { requests: limit(of.requests), seconds: of.periodS };
  const document = (name: string, plan: Plan) => ({
    ...(isTier(name)
      ? { monthly_quota: limit(plan.monthlyQuota) }
      : { tier: plan.tier, quota: limit(plan.monthlyQuota) }),
    connections: connectionsOf(plan),
    depth: plan.delayedDepth === true ? 'delayed' : 'live',
    rates: recordOf(RATE_BUCKETS, (bucket) => rule(plan.rates[bucket])),
  });
  return Object.fromEntries(
    Object.entries(plans).map(([name, each]) => [name, document(name, each as Plan)]),
  );
}

/** How each field of a plan in the setting changes the plan; `at` names the field. @throws UsageError */
type ReadField = (plan: Plan, value: unknown, at: string) => Plan;

const READ_FIELD: Readonly<Record<string, ReadField>> = {
  monthly_quota: (plan, value, at) => withLimits(plan, quotaOnly(value, at)),
  rpm: (plan, value, at) =>
    withLimits(plan, { ...NO_LIMITS, requestsPerMinute: limitOf(value, at, MAX_REQUESTS) }),
  quota: (plan, value, at) => withLimits(plan, quotaOnly(value, at)),
  connections: (plan, value, at) => ({
    ...plan,
    connections: wholeOf(value, MAX_CONNECTIONS) ?? fail(at, wholeText(MAX_CONNECTIONS)),
  }),
  depth: (plan, value, at) => ({ ...plan, delayedDepth: isDelayed(value, at) }),
  rates: (plan, value, at) => ({ ...plan, rates: readRates(value, at, plan.rates) }),
};
const NO_LIMITS = { requestsPerMinute: null, monthlyQuota: null };
const quotaOnly = (value: unknown, at: string) => ({
  ...NO_LIMITS,
  monthlyQuota: limitOf(value, at, MAX_MONTHLY_QUOTA),
});

/** A plan with the given ones of these fields, in this order. @throws UsageError with a line for each fault */
function withFields(before: Plan, given: Fields, at: string, names: readonly string[]): Plan {
  let plan = before;
  const named = names.filter((name) => given[name] !== undefined);
  allOf(named.map((name) => () => (plan = READ_FIELD[name](plan, given[name], `${at}.${name}`))));
  return plan;
}

function readPlan(value: unknown, at: string, before: Plan): Plan {
  if (value === undefined) return before;
  const names = ['monthly_quota', 'connections', 'depth', 'rates'];
  return readFields(value, at, names, (given) => withFields(before, given, at, names));
}

function readOwnPlan(
  name: string,
  value: unknown,
  from: string,
  tiers: Readonly<Record<KeyTier, Plan>>,
): Plan {
  const at = `${from}: ${name}`;
  const names = ['rpm', 'quota', 'connections', 'depth', 'rates'];
  const read = (given: Fields): Plan => {
    const tier = KEY_TIERS.find((known) => known === given.tier);
    const readTier = () => tier ?? fail(`${at}.tier`, ONE_OF_TIERS);
    const readOthers = () => withFields(tiers[tier ?? 'premium'], given, at, names);
    return allOf<unknown>([readTier, readOthers])[1] as Plan;
  };
  const readName = () =>
    PLAN_NAME.test(name) ||
    fail(at, "a plan's name of 1 to 32 of a-z, 0-9, dash and underscore, a letter first");
  const readPlanOf = () => readFields(value, at, ['tier', ...names], read);
  return allOf<unknown>([readName, readPlanOf])[1] as Plan;
}

const ONE_OF_TIERS = KEY_TIERS.map((tier) => JSON.stringify(tier)).join(' or ');

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
  const fields = objectOf(value, at, `an object with ${names.join(', ')}`);
  const unknown = Object.keys(fields).filter((name) => !names.includes(name));
  const refusals = unknown.map((name) => () => fail(`${at}.${name}`, `one of ${names.join(', ')}`));
  return allOf([() => read(fields), ...refusals])[0];
}

function objectOf(value: unknown, at: string, expected: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  return fail(at, expected);
}

function fail(at: string, expected: string): never {
  throw new UsageError(`${at}: expected ${expected}`);
}
