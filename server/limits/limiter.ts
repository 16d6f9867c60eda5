/** The limits of every key: asked once a call, and told of its end. */
import type { KeyRecord, KeyTier, UsageSource } from '../../storage/seams.js';
import type { PlanCheck, PlanGrant } from '../api/plan.js';
import { ApiError } from '../http/errors.js';
import type { Headers } from '../http/exchange.js';
import { systemLimitClock, type LimitClock } from './clock.js';
import { limitHeaders, type DrawnBucket } from './headers.js';
import { KeyLimits } from './key-limits.js';
import { DEFAULT_PLANS, type Plans } from './plans.js';
import type { MonthAccount } from './quota.js';

/** Keys whose limits are in memory: above this the ones that were made first are forgotten. */
export const MAX_LIMITED_KEYS = 100_000;
const US_PER_S = 1_000_000;
/** When a call may come again that only calls in progress keep from its quota. */
const IN_PROGRESS_WAIT_S = 1;
/** A tier may call what the ones below it may. */
const TIER_RANKS: Readonly<Record<KeyTier, number>> = { premium: 0, enterprise: 1 };
/** Idle keys are looked for when there are twice as many as were left the last time. */
const MIN_SWEEP_KEYS = 1024;

export interface LimiterOptions {
  usage: UsageSource;
  plans?: Plans;
  clock?: LimitClock;
}

export class Limiter {
  private readonly usage: UsageSource;
  private readonly plans: Plans;
  private readonly ownClock: LimitClock;
  private readonly keys = new Map<string, KeyLimits>();
  private sweepAt = MIN_SWEEP_KEYS;

  constructor({ usage, plans = DEFAULT_PLANS, clock = systemLimitClock }: LimiterOptions) {
    this.usage = usage;
    this.plans = plans;
    this.ownClock = clock;
  }

  /** Keys whose limits are in memory. */
  get size(): number {
    return this.keys.size;
  }

  /**
   * Draws on the endpoint's rate buckets, on each or on none, and holds the call's cost of the
   * quota. A call of a tier that is too low has drawn on its rate, one that is over it has not.
   * @throws ApiError 429, 403
   */
  readonly check: PlanCheck = (key, endpoint) => {
    const clock = this.ownClock;
    const nowUs = clock.steadyUs();
    const limits = this.limitsOf(key, nowUs);
    const drawn = limits.drawnBy(endpoint.rateBuckets);
    const account = limits.quota.at(clock.wallMs());
    const call = new LimitedCall(limits.monthlyQuota, drawn, account, clock);
    const waitUs = longestWaitUs(drawn, nowUs);
    if (waitUs > 0) {
      throw tooMany('Rate limit exceeded', Math.ceil(waitUs / US_PER_S), call.headers());
    }
    for (let i = 0; i < drawn.length; i++) drawn[i].bucket?.draw(nowUs);
    if (TIER_RANKS[key.tier] < TIER_RANKS[endpoint.tier]) {
      const message = `This endpoint needs an ${endpoint.tier} key, this one is ${key.tier}`;
      throw new ApiError(403, null, message, { headers: call.headers() });
    }
    // Of a call that costs what its tokens are, one is held until they are counted.
    if (!call.hold(1)) throw call.overQuota(1, call.headers());
    return call;
  };

  private limitsOf(key: KeyRecord, nowUs: number): KeyLimits {
    let limits = this.keys.get(key.id);
    if (limits === undefined) {
      if (this.keys.size >= this.sweepAt) this.sweep(nowUs);
      limits = new KeyLimits(key, this.plans, this.usage);
      this.keys.set(key.id, limits);
    } else {
      limits.adopt(key);
    }
    return limits;
  }

  /** Forgets the keys whose limits are as if they had never called. */
  private sweep(nowUs: number): void {
    for (const [id, limits] of this.keys) if (limits.isIdle(nowUs)) this.keys.delete(id);
    for (const id of this.keys.keys()) {
      if (this.keys.size < MAX_LIMITED_KEYS) break;
      this.keys.delete(id);
    }
    this.sweepAt = Math.min(Math.max(2 * this.keys.size, MIN_SWEEP_KEYS), MAX_LIMITED_KEYS);
  }
}

/** A call that was admitted, until its end. */
class LimitedCall implements PlanGrant {
  private held = 0;

  constructor(
    private readonly quota: number,
    private readonly drawn: readonly DrawnBucket[],
    private readonly account: MonthAccount,
    private readonly clock: LimitClock,
  ) {}

  /** Holds so many calls in place of what was held, or says that the quota has less left. */
  hold(calls: number): boolean {
    if (!this.account.hold(calls - this.held, this.quota)) return false;
    this.held = calls;
    return true;
  }

  costs(tokens: number): void {
    // The headers come with the reply, as for any call that was admitted.
    if (!this.hold(tokens)) throw this.overQuota(tokens, []);
  }

  settle(status: number | null): Headers {
    this.account.release(this.held, status !== null && status >= 200 && status < 300);
    this.held = 0;
    return status === null ? [] : this.headers();
  }

  headers(): Headers {
    return limitHeaders(this.drawn, this.account, this.quota, this.clock);
  }

  /** Calls in progress may give back what they hold; what is charged is gone for the month. */
  overQuota(calls: number, headers: Headers): ApiError {
    const { account, quota, clock } = this;
    const waitMs = account.month.endMs - clock.wallMs();
    const waitS = account.used + calls <= quota ? IN_PROGRESS_WAIT_S : Math.ceil(waitMs / 1000);
    return tooMany('Monthly quota exceeded', waitS, headers);
  }
}

/** The time until every bucket admits a request; 0: now. */
function longestWaitUs(drawn: readonly DrawnBucket[], nowUs: number): number {
  let longest = 0;
  for (let i = 0; i < drawn.length; i++) {
    const waitUs = drawn[i].bucket?.waitUs(nowUs) ?? 0;
    if (waitUs > longest) longest = waitUs;
  }
  return longest;
}

function tooMany(what: string, waitS: number, headers: Headers): ApiError {
  const seconds = Math.max(waitS, 1);
  const message = `${what}: retry in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}`;
  return new ApiError(429, null, message, {
    headers: [['Retry-After', String(seconds)], ...headers],
  });
}
