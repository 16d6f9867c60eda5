/** Rate buckets, and the clock of limits. */
import { wallMs } from '../../storage/wall-clock.js';
import type { RateBucket } from '../api/endpoint.js';

/**
 * Stands for 'unlimited' in headers, which hold numbers: above every limit that can be configured, and
 * within 32 bits for clients that need that.
 */
export const UNLIMITED = 2_147_483_647;
export const US_PER_S = 1_000_000;

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

  /** Draws one request, for which waitUs() was 0 at the same time. */
  draw(nowUs: number): void {
    this.level = this.levelAt(nowUs) - this.periodUs;
    this.atUs = nowUs;
  }

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
