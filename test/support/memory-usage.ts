/** Counts of calls, kept in memory. */
import type { UsageCounter, UsageSource } from '../../storage/contract.js';

export class MemoryUsage implements UsageSource {
  private readonly counters = new Map<string, UsageCounter>();

  counter(keyId: string, month: number): UsageCounter {
    const name = `${keyId} ${month}`;
    const known = this.counters.get(name);
    if (known) return known;
    const counter = {
      calls: 0,
      add(calls: number) {
        this.calls += calls;
      },
    };
    this.counters.set(name, counter);
    return counter;
  }
}
