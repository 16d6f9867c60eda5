/**
 * The setting `plans`: a JSON object that changes figures of the plans; what it leaves out stays.
 *
 *     {"premium": {"monthly_quota": 250000, "rates": {
 *        "general": {"requests": 30}, "whale-get": {"requests": 2, "seconds": 1},
 *        "dca-pressure": "general"}},
 *      "enterprise": {"monthly_quota": "unlimited", "rates": {"market-depth": {"requests": "unlimited"}}}}
 *
 * `depth` is "live" or "delayed": whether market depth is the newest, or 15 minutes old. `rates` has
 * an entry a bucket: so many requests within so many seconds (60 where left out), or
 * "general" for a bucket that draws on that one.
 */
import { UsageError } from '../../storage/errors.js';
import { KEY_TIERS } from '../../storage/seams.js';
import { RATE_BUCKETS, type RateBucket } from '../api/endpoint.js';
import {
  DEFAULT_PLANS,
  SHARED_BUCKET,
  type BucketRule,
  type Plan,
  type Plans,
  type RateRule,
} from './plans.js';

const MAX_REQUESTS = 1_000_000_000;
const MAX_PERIOD_S = 86_400;
const DEFAULT_PERIOD_S = 60;
const MAX_MONTHLY_QUOTA = 1_000_000_000;

type Fields = Readonly<Record<string, unknown>>;

/**
 * The plans with the changes of a JSON text.
 * @param from names the setting in errors
 * @throws UsageError that names the field and what it may be
 */
export function parsePlans(text: string, from: string, defaults: Plans = DEFAULT_PLANS): Plans {
  const tiers = fieldsOf(parseJson(text, from), from, KEY_TIERS);
  const changed = KEY_TIERS.map((tier) => [
    tier,
    readPlan(tiers[tier], `${from}: ${tier}`, defaults[tier]),
  ]);
  return Object.fromEntries(changed) as Plans;
}

function readPlan(value: unknown, at: string, before: Plan): Plan {
  if (value === undefined) return before;
  const {
    monthly_quota: quota,
    depth,
    rates,
  } = fieldsOf(value, at, ['monthly_quota', 'depth', 'rates']);
  return {
    ...before,
    ...(depth === undefined ? {} : { delayedDepth: isDelayed(depth, `${at}.depth`) }),
    monthlyQuota:
      quota === undefined
        ? before.monthlyQuota
        : limitOf(quota, `${at}.monthly_quota`, MAX_MONTHLY_QUOTA),
    rates: rates === undefined ? before.rates : readRates(rates, `${at}.rates`, before.rates),
  };
}

/** What `depth` says of a plan's market depth. */
function isDelayed(value: unknown, at: string): boolean {
  if (value !== 'live' && value !== 'delayed') return fail(at, '"live" or "delayed"');
  return value === 'delayed';
}

function readRates(value: unknown, at: string, before: Plan['rates']): Plan['rates'] {
  const given = fieldsOf(value, at, RATE_BUCKETS);
  const rates: Record<RateBucket, BucketRule> = { ...before };
  for (const bucket of RATE_BUCKETS) {
    if (given[bucket] !== undefined) rates[bucket] = readRule(given[bucket], at, bucket);
  }
  return rates as Plan['rates'];
}

function readRule(value: unknown, at: string, bucket: RateBucket): BucketRule {
  const field = `${at}.${bucket}`;
  if (bucket !== SHARED_BUCKET && value === SHARED_BUCKET) return SHARED_BUCKET;
  const { requests, seconds = DEFAULT_PERIOD_S } = fieldsOf(value, field, ['requests', 'seconds']);
  const rule: RateRule = {
    requests: limitOf(requests, `${field}.requests`, MAX_REQUESTS),
    periodS: wholeOf(seconds, MAX_PERIOD_S) ?? fail(`${field}.seconds`, wholeText(MAX_PERIOD_S)),
  };
  return rule;
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

function fieldsOf(value: unknown, at: string, names: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return fail(at, `an object with ${names.join(', ')}`);
  }
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  if (unknown !== undefined) return fail(`${at}.${unknown}`, `one of ${names.join(', ')}`);
  return value as Fields;
}

function parseJson(text: string, from: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return fail(from, 'JSON');
  }
}

function fail(at: string, expected: string): never {
  throw new UsageError(`${at}: expected ${expected}`);
}
