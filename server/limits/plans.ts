/** What each tier may do (data.md 4, 'Plans'), and what a key with figures of its own may. */
import type { KeyRecord, KeyTier } from '../../storage/seams.js';
import type { RateBucket } from '../api/endpoint.js';

/** A bucket of so many requests, which starts full and refills evenly within the period. */
export interface RateRule {
  /** Infinity: unlimited. */
  readonly requests: number;
  readonly periodS: number;
}

/** A bucket without a figure of its own: its requests draw on the one named. */
export const SHARED_BUCKET = 'general' satisfies RateBucket;
export type BucketRule = RateRule | typeof SHARED_BUCKET;

export interface Plan {
  /** Calls in a UTC month; Infinity: unlimited. */
  readonly monthlyQuota: number;
  /** Market depth is the delayed one, whatever a request asks for; left out: it is live. */
  readonly delayedDepth?: boolean;
  readonly rates: Readonly<
    { general: RateRule } & Record<Exclude<RateBucket, typeof SHARED_BUCKET>, BucketRule>
  >;
}

export type Plans = Readonly<Record<KeyTier, Plan>>;

const perMinute = (requests: number): RateRule => ({ requests, periodS: 60 });

/** The same in both plans, and not replaced by a key's own requests a minute. */
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
 * A key's plan: its tier's, with the figures that the key has of its own. Its requests a minute take
 * the place of each figure that its plan has for an endpoint or for the rest, unlimited ones too.
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
