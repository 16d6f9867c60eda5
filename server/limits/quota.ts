/**
 * One key's calls of the month. A call holds its cost from its admission to its end, so that calls
 * side by side cannot overshoot; at its end what it held is charged or given back.
 */
import type { UsageCounter, UsageSource } from '../../storage/seams.js';
import { utcMonth, type UtcMonth } from './clock.js';

/** A month of a key: charged calls, and those held by calls in progress. */
export class MonthAccount {
  readonly month: UtcMonth;
  private readonly counter: UsageCounter;
  private ownHeld = 0;

  constructor(month: UtcMonth, counter: UsageCounter) {
    this.month = month;
    this.counter = counter;
  }

  /** Calls charged. */
  get used(): number {
    return this.counter.calls;
  }

  get held(): number {
    return this.ownHeld;
  }

  /** Holds `calls` of a quota of `limit`, or nothing and says false. */
  hold(calls: number, limit: number): boolean {
    if (this.counter.calls + this.ownHeld + calls > limit) return false;
    this.ownHeld += calls;
    return true;
  }

  /** Ends a hold: its calls are charged, or given back. */
  release(calls: number, charged: boolean): void {
    this.ownHeld -= calls;
    if (charged && calls > 0) this.counter.add(calls);
  }
}

/** A key's account of the current month. */
export class KeyQuota {
  private readonly keyId: string;
  private readonly usage: UsageSource;
  private current: MonthAccount | null = null;

  constructor(keyId: string, usage: UsageSource) {
    this.keyId = keyId;
    this.usage = usage;
  }

  /** The month of `wallMs`; calls that were admitted in another one stay with theirs. */
  at(wallMs: number): MonthAccount {
    const current = this.current;
    if (current !== null && wallMs >= current.month.startMs && wallMs < current.month.endMs) {
      return current;
    }
    const month = utcMonth(wallMs);
    this.current = new MonthAccount(month, this.usage.counter(this.keyId, month.id));
    return this.current;
  }

  /** Nothing is held: the account can be forgotten, and made again from the counters. */
  get idle(): boolean {
    return this.current === null || this.current.held === 0;
  }
}
