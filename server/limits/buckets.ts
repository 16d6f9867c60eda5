/** The state of one key's limits: its rate buckets and its calls this month. */
import type { CallCounter, KeyRecord, UsageCounter, UsageSource } from '../../storage/contract.js';
import { wallMs } from '../../storage/wall-clock.js';
import type { LimitedEndpoint, RateBucket } from '../api/endpoint.js';
import { SHARED_BUCKET, type Plan } from './plans.js';

/**
 * Stands for 'unlimited' in headers, which hold numbers: above every limit that can be configured, and
 * within 32 bits for clients that need that.
 */
export const UNLIMITED = 2_147_483_647;
const US_PER_S = 1_000_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The clock of limits: always the system's, even with `--as-of`. */
export interface LimitClock {
  /** Whole microseconds of a monotonic clock, for rates. */
  steadyUs(): number;
  /** Epoch milliseconds, for months and resets. */
  wallMs(): number;
}

export const systemLimitClock: LimitClock = {
  steadyUs: () => Math.floor(performance.now() * 1000),
  wallMs,
};

/**
 * A bucket of `requests` that starts full and refills evenly within its period.
 *
 * The level is in units of 1/periodUs of a request: a request takes `periodUs` units, and each
 * microsecond adds `requests` units. All numbers are whole, so nothing is rounded while a full bucket,
 * `requests * periodUs` units, is below 2^52 (75 million requests a minute). Above, the error is less
 * than 1e-15 of a full bucket.
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

  /** Draws one request, which admits() has admitted at the same time. */
  draw(nowUs: number): void {
    this.level = this.levelAt(nowUs) - this.periodUs;
    this.atUs = nowUs;
  }

  /** Requests left at `nowUs`. */
  remaining(nowUs: number): number {
    return Math.floor(this.levelAt(nowUs) / this.periodUs);
  }

  /** Microseconds until the next request is admitted, rounded up; 0: now. */
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
    // An unlimited bucket is always full, and its arithmetic would give NaN.
    if (this.level === this.full) return this.full;
    return Math.min(this.level + (nowUs - this.atUs) * this.requests, this.full);
  }
}

/** A limit as headers show it. */
export function limitText(limit: number): string {
  return String(limit === Infinity ? UNLIMITED : limit);
}

/**
 * A key's calls in a UTC month: those charged, and those held by calls in progress. A call holds its
 * cost from its admission to its end: parallel calls cannot exceed the quota together.
 */
export class MonthAccount {
  readonly startMs: number;
  /** The first moment of the next month. */
  readonly endMs: number;
  /** As 202611. */
  readonly month: number;
  private readonly counter: UsageCounter;
  private heldCalls = 0;
  private dayStartMs = -Infinity;
  /** Of that day. */
  private readonly counters = new Map<LimitedEndpoint, CallCounter>();

  /** @param wallMs any time in the month */
  constructor(
    private readonly keyId: string,
    wallMs: number,
    private readonly usage: UsageSource,
  ) {
    const date = new Date(wallMs);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    this.startMs = Date.UTC(year, month);
    this.endMs = Date.UTC(year, month + 1);
    this.month = year * 100 + month + 1;
    this.counter = usage.counter(keyId, this.month);
  }

  /** Calls charged. */
  get used(): number {
    return this.counter.calls;
  }

  /** Counts the calls to an endpoint on the UTC day of `wallMs`, a time in the month. */
  ofDay(wallMs: number, endpoint: LimitedEndpoint): CallCounter {
    if (wallMs < this.dayStartMs || wallMs >= this.dayStartMs + DAY_MS) {
      this.dayStartMs = Math.floor(wallMs / DAY_MS) * DAY_MS;
      this.counters.clear();
    }
    let counter = this.counters.get(endpoint);
    if (counter === undefined) {
      const day = this.month * 100 + (this.dayStartMs - this.startMs) / DAY_MS + 1;
      const name = `${endpoint.method} ${endpoint.path}`;
      counter = this.usage.days.counter(this.keyId, day, name);
      this.counters.set(endpoint, counter);
    }
    return counter;
  }

  /** Holds `calls` of a quota of `limit`; if they exceed it, holds nothing and returns false. */
  hold(calls: number, limit: number): boolean {
    if (this.counter.calls + this.heldCalls + calls > limit) return false;
    this.heldCalls += calls;
    return true;
  }

  /** Ends a hold, and charges its calls if `charged`. */
  release(calls: number, charged: boolean): void {
    this.heldCalls -= calls;
    if (charged && calls > 0) this.counter.add(calls);
  }
}

/** A key's buckets, each created at its first use, and its account of the month. */
export class KeyLimits {
  private account: MonthAccount | null = null;
  /** Start of the hour of the last call (epoch seconds). */
  private usedHourS = 0;
  private buckets = new Map<RateBucket, Bucket>();
  /** Buckets by an endpoint's list of their names. */
  private drawn = new WeakMap<readonly RateBucket[], readonly Bucket[]>();

  constructor(
    public record: KeyRecord,
    public plan: Plan,
    private readonly usage: UsageSource,
  ) {}

  /** Notes that the key was used at a time. */
  use(wallMs: number): void {
    const hourS = Math.floor(wallMs / HOUR_MS) * (HOUR_MS / 1000);
    if (hourS === this.usedHourS) return;
    this.usedHourS = hourS;
    this.usage.use(this.record.id, hourS);
  }

  /** Adopts a changed record of the key. If its limits changed, its buckets start full. */
  adopt(record: KeyRecord, plan: Plan): void {
    const before = this.record;
    this.record = record;
    this.plan = plan;
    const { tier, requestsPerMinute } = record;
    if (tier === before.tier && requestsPerMinute === before.requestsPerMinute) return;
    this.buckets = new Map();
    this.drawn = new WeakMap();
  }

  /** The buckets that a request draws on, each once. */
  drawnBy(names: readonly RateBucket[]): readonly Bucket[] {
    let drawn = this.drawn.get(names);
    if (drawn === undefined) {
      drawn = [...new Set(names.map((name) => this.bucket(name)))];
      this.drawn.set(names, drawn);
    }
    return drawn;
  }

  /** The account of the month of `wallMs`; calls admitted earlier keep theirs. */
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
