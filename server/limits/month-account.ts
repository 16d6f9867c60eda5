/** The calls of a key in a month, charged and in progress. */
import { DAY_MS } from '../../compute/time.js';
import type { CallCounter, MonthUsage, UsageSource } from '../../storage/contract.js';
import type { LimitedEndpoint } from '../api/endpoint.js';

/**
 * A key's calls in a UTC month: those charged, and those held by calls in progress. A call holds its
 * cost from its admission to its end, so parallel calls together cannot exceed the quota.
 */
export class MonthAccount {
  readonly startMs: number;
  /** The first moment of the next month. */
  readonly endMs: number;
  /** A number such as 202611. */
  readonly month: number;
  private readonly charged: MonthUsage;
  private heldCalls = 0;
  private dayStartMs = -Infinity;
  /** The counters of that day. */
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
    this.charged = usage.month(keyId, this.month);
  }

  /** Calls charged. */
  get used(): number {
    return this.charged.calls;
  }

  /** Counts the calls to an endpoint on the UTC day of `wallMs`, a time in the month. */
  dayCounter(wallMs: number, endpoint: LimitedEndpoint): CallCounter {
    if (wallMs < this.dayStartMs || wallMs >= this.dayStartMs + DAY_MS) {
      this.dayStartMs = Math.floor(wallMs / DAY_MS) * DAY_MS;
      this.counters.clear();
    }
    let counter = this.counters.get(endpoint);
    if (counter === undefined) {
      const day = this.month * 100 + (this.dayStartMs - this.startMs) / DAY_MS + 1;
      const name = `${endpoint.method} ${endpoint.path}`;
      counter = this.usage.counter(this.keyId, day, name);
      this.counters.set(endpoint, counter);
    }
    return counter;
  }

  /**
   * Holds `calls` of a quota of `limit`; if they exceed it, holds nothing and returns false. A free call always may: the
   * quota may be exceeded already, because it was lowered or other nodes admitted calls at the same time.
   */
  hold(calls: number, limit: number): boolean {
    if (calls > 0 && this.used + this.heldCalls + calls > limit) return false;
    this.heldCalls += calls;
    return true;
  }

  /** Ends a hold; calls to charge are added to the day's counter. */
  release(calls: number): void {
    this.heldCalls -= calls;
  }
}
