/** The state of one key's limits: its rate buckets and its calls of the month. */
import type { KeyRecord, UsageCounter, UsageSource } from '../../storage/contract.js';
import type { RateBucket } from '../api/endpoint.js';
import { SHARED_BUCKET, planOfKey, type Plan, type Plans } from './plans.js';

/**
 * How the headers, which hold numbers, say that a limit is unlimited: above every figure that can be
 * configured, and small enough for a client that keeps 32 bits.
 */
export const UNLIMITED = 2_147_483_647;
const US_PER_S = 1_000_000;

/** The clocks of limits: the system's own, whatever `--as-of` says of market data. */
export interface LimitClock {
  /** Whole microseconds of a clock that never jumps: what rates are measured by. */
  steadyUs(): number;
  /** Milliseconds since 1970: what decides the month, and what resets are told in. */
  wallMs(): number;
}

export const systemLimitClock: LimitClock = {
  steadyUs: () => Math.floor(performance.now() * 1000),
  wallMs: () => Date.now(),
};

/**
 * A bucket of `requests` that starts full and refills evenly within its period.
 *
 * The level counts parts of a request, `periodUs` to one: a request takes `periodUs` parts and each
 * microsecond brings `requests` of them. All figures are whole numbers, so nothing is rounded while a
 * full bucket, `requests * periodUs` parts, is below 2^52 (75 million requests a minute). Above, it
 * is off by less than 1e-15 of the full bucket.
 */
export class Bucket {
  readonly requests: number;
  readonly limitText: string;
  /** `"general";q=12;w=60` */
  readonly policyText: string;
  private readonly periodUs: number;
  private readonly full: number;
  private level: number;
  private atUs = 0;

  /** @param requests a whole number from 1, or Infinity; @param periodS whole seconds from 1 */
  constructor(
    readonly name: RateBucket,
    requests: number,
    periodS: number,
  ) {
    this.requests = requests;
    this.periodUs = periodS * US_PER_S;
    this.full = requests * this.periodUs;
    this.level = this.full;
    this.limitText = limitText(requests);
    this.policyText = `"${name}";q=${this.limitText};w=${periodS}`;
  }

  /** Whether a request at `nowUs` is within the limit. Draws nothing. */
  admits(nowUs: number): boolean {
    return this.levelAt(nowUs) >= this.periodUs;
  }

  /** Draws one request, which admits() has admitted at the same moment. */
  draw(nowUs: number): void {
    this.level = this.levelAt(nowUs) - this.periodUs;
    this.atUs = nowUs;
  }

  /** Requests that would be admitted at `nowUs`, one after the other. */
  remaining(nowUs: number): number {
    return Math.floor(this.levelAt(nowUs) / this.periodUs);
  }

  /** Microseconds until the next request will be admitted, rounded up; 0: now. */
  waitUs(nowUs: number): number {
    return this.timeUntil(this.periodUs, nowUs);
  }

  /** Microseconds until the bucket is full, rounded up. */
  fullInUs(nowUs: number): number {
    return this.timeUntil(this.full, nowUs);
  }

  private timeUntil(level: number, nowUs: number): number {
    const now = this.levelAt(nowUs);
    return now >= level ? 0 : Math.ceil((level - now) / this.requests);
  }

  private levelAt(nowUs: number): number {
    // One that is full stays so: this is also what makes an unlimited one work.
    if (this.level === this.full) return this.full;
    return Math.min(this.level + (nowUs - this.atUs) * this.requests, this.full);
  }
}

/** A limit as the headers have it. */
export function limitText(limit: number): string {
  return String(limit === Infinity ? UNLIMITED : limit);
}

/**
 * A UTC month of a key: charged calls, and those held by calls in progress. A call holds its cost from
 * its admission to its end, so that parallel calls cannot overshoot the quota.
 */
export class MonthAccount {
  readonly startMs: number;
  /** The first moment of the next month. */
  readonly endMs: number;
  private readonly counter: UsageCounter;
  private heldCalls = 0;

  /** @param wallMs a moment of the month */
  constructor(keyId: string, wallMs: number, usage: UsageSource) {
    const date = new Date(wallMs);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    this.startMs = Date.UTC(year, month);
    this.endMs = Date.UTC(year, month + 1);
    // Months are stored as people write them: 202611.
    this.counter = usage.counter(keyId, year * 100 + month + 1);
  }

  /** Calls charged. */
  get used(): number {
    return this.counter.calls;
  }

  /** Holds `calls` of a quota of `limit`, or nothing and says false. */
  hold(calls: number, limit: number): boolean {
    if (this.counter.calls + this.heldCalls + calls > limit) return false;
    this.heldCalls += calls;
    return true;
  }

  /** Ends a hold: its calls are charged, or given back. */
  release(calls: number, charged: boolean): void {
    this.heldCalls -= calls;
    if (charged && calls > 0) this.counter.add(calls);
  }
}

/** A key's buckets, each made when it is first drawn on, and its account of the month. */
export class KeyLimits {
  private plan: Plan;
  private account: MonthAccount | null = null;
  private buckets = new Map<RateBucket, Bucket>();
  /** The buckets of each endpoint, by its list of their names. */
  private drawn = new WeakMap<readonly RateBucket[], readonly Bucket[]>();

  constructor(
    private record: KeyRecord,
    private readonly plans: Plans,
    private readonly usage: UsageSource,
  ) {
    this.plan = planOfKey(plans, record);
  }

  /** Calls a month; Infinity: unlimited. */
  get monthlyQuota(): number {
    return this.plan.monthlyQuota;
  }

  /** Takes the key as it is now. Buckets start anew where its figures have changed. */
  adopt(record: KeyRecord): void {
    const before = this.record;
    if (record === before) return;
    this.record = record;
    this.plan = planOfKey(this.plans, record);
    const { tier, requestsPerMinute } = record;
    if (tier === before.tier && requestsPerMinute === before.requestsPerMinute) return;
    this.buckets = new Map();
    this.drawn = new WeakMap();
  }

  /** The buckets that a request to an endpoint with these draws on, each once. */
  drawnBy(names: readonly RateBucket[]): readonly Bucket[] {
    let drawn = this.drawn.get(names);
    if (drawn === undefined) {
      drawn = [...new Set(names.map((name) => this.bucket(name)))];
      this.drawn.set(names, drawn);
    }
    return drawn;
  }

  /** The account of the month of `wallMs`; calls admitted in another month stay with theirs. */
  accountAt(wallMs: number): MonthAccount {
    const { account } = this;
    if (account !== null && wallMs >= account.startMs && wallMs < account.endMs) return account;
    this.account = new MonthAccount(this.record.id, wallMs, this.usage);
    return this.account;
  }

  private bucket(name: RateBucket): Bucket {
    const found = this.buckets.get(name);
    if (found !== undefined) return found;
    const rule = this.plan.rates[name];
    if (rule === SHARED_BUCKET) return this.bucket(SHARED_BUCKET);
    const bucket = new Bucket(name, rule.requests, rule.periodS);
    this.buckets.set(name, bucket);
    return bucket;
  }
}
