/** Checks the limits of every key, once per call. */
import type { LRUCache } from 'lru-cache';
import { countedCache } from '../../storage/counted-cache.js';
import type { CallCounter, KeyRecord, KeyTier, UsageSource } from '../../storage/contract.js';
import type { PlanCheck, PlanGrant } from '../api/endpoint.js';
import { ApiError, type Headers } from '../http/errors.js';
import { type Bucket, type LimitClock, limitText, systemLimitClock, US_PER_S } from './buckets.js';
import { type DrawnBuckets, KeyLimits } from './key-limits.js';
import type { MonthAccount } from './month-account.js';
import { connectionsOf, DEFAULT_PLANS, planOfKey, type Plans } from './plans.js';

/** Keys whose limits are in memory; beyond this, the least recently used are dropped. */
const MAX_LIMITED_KEYS = 100_000;
/** Retry-After of a call that exceeds the quota only because of calls in progress. */
const IN_PROGRESS_WAIT_S = 1;
/** A tier includes those below it. */
const TIER_RANKS: Readonly<Record<KeyTier, number>> = { premium: 0, enterprise: 1 };

interface LimiterOptions {
  usage: UsageSource;
  plans?: Plans;
  clock?: LimitClock;
  maxKeys?: number;
}

/** What a key has used in a UTC month. */
interface MonthOfKey {
  tier: KeyTier;
  /** A number such as 202611. */
  month: number;
  used: number;
  /** Calls a month; Infinity: unlimited. */
  limit: number;
  /** When the next month begins. */
  endMs: number;
}

export class Limiter {
  readonly usage: UsageSource;
  private readonly plans: Plans;
  private readonly clock: LimitClock;
  private readonly keys: LRUCache<string, KeyLimits>;

  constructor({
    usage,
    plans = DEFAULT_PLANS,
    clock = systemLimitClock,
    maxKeys = MAX_LIMITED_KEYS,
  }: LimiterOptions) {
    this.usage = usage;
    this.plans = plans;
    this.clock = clock;
    this.keys = countedCache(maxKeys);
  }

  /** Keys whose limits are in memory. */
  get size(): number {
    return this.keys.size;
  }

  /**
   * Draws on all of the endpoint's rate buckets or on none, and holds the call's cost of the quota. A
   * call that exceeds a rate draws on nothing; a call of too low a tier does draw on the buckets.
   * @throws ApiError 401, 403, 429
   */
  readonly check: PlanCheck = (key, endpoint) => {
    const { clock } = this;
    const nowUs = clock.steadyUs();
    const limits = this.limitsOf(key);
    const { tier, monthlyQuota } = limits.plan;
    const drawn = limits.drawnBy(endpoint.rateBuckets);
    const wallMs = clock.wallMs();
    limits.use(wallMs);
    const account = limits.accountAt(wallMs);
    const dayCounter = account.dayCounter(wallMs, endpoint);
    const call = new LimitedCall(tier, monthlyQuota, drawn, account, dayCounter, clock);
    const { buckets } = drawn;
    const waitUs = longestWaitUs(buckets, nowUs);
    if (waitUs > 0) {
      throw tooMany('Rate limit exceeded', Math.ceil(waitUs / US_PER_S), call.headers());
    }
    for (let i = 0; i < buckets.length; i++) buckets[i].draw(nowUs);
    if (TIER_RANKS[tier] < TIER_RANKS[endpoint.tier]) {
      const message = `This endpoint needs an ${endpoint.tier} key; this one is ${tier}`;
      throw new ApiError(403, null, message, { headers: call.headers() });
    }
    // A call charged by its tokens holds one call until they are counted.
    if (!call.hold(endpoint.quotaCost === 0 ? 0 : 1)) throw call.overQuota(1, call.headers());
    return call;
  };

  /** The current month of a key. @throws ApiError 401 */
  monthOf(key: KeyRecord): MonthOfKey {
    const limits = this.limitsOf(key);
    const { month, used, endMs } = limits.accountAt(this.clock.wallMs());
    return { tier: limits.plan.tier, month, used, limit: limits.plan.monthlyQuota, endMs };
  }

  /** The most live connections that a key may have at once. @throws ApiError 401 */
  maxConnections(key: KeyRecord): number {
    return connectionsOf(this.limitsOf(key).plan);
  }

  /** @throws ApiError 401 if the key's plan is not configured */
  private limitsOf(key: KeyRecord): KeyLimits {
    const limits = this.keys.get(key.id);
    if (limits?.record === key) return limits;
    const plan = planOfKey(this.plans, key);
    if (plan === null) {
      const message = `The plan of this key, ${key.tier}, is not configured on this server`;
      throw new ApiError(401, null, message, { headers: [['WWW-Authenticate', 'ApiKey']] });
    }
    if (limits !== undefined) {
      limits.adopt(key, plan);
      return limits;
    }
    const added = new KeyLimits(key, plan, this.usage);
    this.keys.set(key.id, added);
    return added;
  }
}

/** An admitted call, until its end. */
class LimitedCall implements PlanGrant {
  private held = 0;

  constructor(
    private readonly tier: KeyTier,
    private readonly quota: number,
    private readonly drawn: DrawnBuckets,
    private readonly account: MonthAccount,
    private readonly dayCounter: CallCounter,
    private readonly clock: LimitClock,
  ) {}

  /** Changes the hold to `calls`; returns false if the quota has less left. */
  hold(calls: number): boolean {
    if (!this.account.hold(calls - this.held, this.quota)) return false;
    this.held = calls;
    return true;
  }

  costs(tokens: number): void {
    // settle() adds the headers, as for any admitted call.
    if (!this.hold(tokens)) throw this.overQuota(tokens, []);
  }

  settle(status: number | null): Headers {
    const charged = status !== null && status >= 200 && status < 300;
    this.account.release(this.held);
    if (charged && this.held > 0) this.dayCounter.add(this.held);
    this.held = 0;
    return status === null ? [] : this.headers();
  }

  /**
   * The plan's tier, X- headers of the tightest bucket, and the fields of draft-ietf-httpapi-ratelimit-headers-10,
   * which list every bucket that the call drew on. Resets are rounded up to whole seconds: a bucket's
   * is when it is full again, the quota's the start of the next UTC month.
   */
  headers(): Headers {
    const { account, clock, quota } = this;
    const { buckets, policyText } = this.drawn;
    const nowUs = clock.steadyUs();
    const bucket = tightest(buckets, nowUs);
    let states = stateText(buckets[0], nowUs);
    for (let i = 1; i < buckets.length; i++) states += `, ${stateText(buckets[i], nowUs)}`;
    const fullAtMs = clock.wallMs() + bucket.fullInUs(nowUs) / 1000;
    return [
      ['X-API-Tier', this.tier],
      ['X-RateLimit-Limit', bucket.limitText],
      ['X-RateLimit-Remaining', limitText(bucket.remaining(nowUs))],
      ['X-RateLimit-Reset', String(Math.ceil(fullAtMs / 1000))],
      ['X-Quota-Limit', limitText(quota)],
      ['X-Quota-Used', String(account.used)],
      ['X-Quota-Remaining', limitText(Math.max(quota - account.used, 0))],
      ['X-Quota-Reset', String(account.endMs / 1000)],
      ['RateLimit-Policy', policyText],
      ['RateLimit', states],
    ];
  }

  /**
   * Calls in progress may release what they hold; charged calls stay charged for the month. A request that costs more
   * than a month has is not told to retry.
   */
  overQuota(calls: number, headers: Headers): ApiError {
    const { account, quota, clock } = this;
    if (calls > quota) {
      const cost = `the request costs ${calls} ${calls === 1 ? 'call' : 'calls'}`;
      const message = `Monthly quota exceeded: ${cost}, the key has ${quota} a month`;
      return new ApiError(429, null, message, { headers });
    }
    const waitMs = account.endMs - clock.wallMs();
    const left = quota - account.used;
    const waitS = calls <= left ? IN_PROGRESS_WAIT_S : Math.ceil(waitMs / 1000);
    const isShort = calls > left && left > 0;
    const detail = isShort ? ` (the request costs ${calls} calls, the key has ${left} left)` : '';
    return tooMany(`Monthly quota exceeded${detail}`, waitS, headers);
  }
}

/** The time until every bucket admits a request; 0: now. */
function longestWaitUs(drawn: readonly Bucket[], nowUs: number): number {
  let longest = 0;
  for (let i = 0; i < drawn.length; i++) longest = Math.max(longest, drawn[i].waitUs(nowUs));
  return longest;
}

/** The bucket with the fewest requests left; on a tie, the one with the longer wait. */
function tightest(drawn: readonly Bucket[], nowUs: number): Bucket {
  let found = drawn[0];
  for (let i = 1; i < drawn.length; i++) {
    const [least, left] = [found.remaining(nowUs), drawn[i].remaining(nowUs)];
    const later = left === least && drawn[i].waitUs(nowUs) > found.waitUs(nowUs);
    if (left < least || later) found = drawn[i];
  }
  return found;
}

/** `"general";r=11;t=5` */
function stateText(bucket: Bucket, nowUs: number): string {
  const fullInS = Math.ceil(bucket.fullInUs(nowUs) / US_PER_S);
  return `"${bucket.name}";r=${limitText(bucket.remaining(nowUs))};t=${fullInS}`;
}

export function tooMany(what: string, waitS: number, headers: Headers): ApiError {
  const seconds = Math.max(waitS, 1);
  const message = `${what}: retry in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}`;
  return new ApiError(429, null, message, {
    headers: [['Retry-After', String(seconds)], ...headers],
  });
}
