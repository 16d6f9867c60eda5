import { describe, expect, it } from 'vitest';
import { Budget, BytesInFlight } from '../../server/http/budget.js';

describe('budgets', () => {
  it('are never exceeded', () => {
    const budget = new Budget(10);
    expect([budget.take(6), budget.take(5), budget.take(4), budget.take(1)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
    budget.give(6);
    expect(budget.taken).toBe(4);
    expect(budget.take(6)).toBe(true);
  });
});

describe('bytes in flight', () => {
  it('of one key leave room for others, and of all for none', () => {
    const bytes = new BytesInFlight({ maxBytesInFlight: 10, maxBytesInFlightPerKey: 6 });
    expect([bytes.take('a', 6), bytes.take('a', 1), bytes.take('b', 4)]).toEqual([
      true,
      false,
      true,
    ]);
    expect([bytes.take('c', 1), bytes.take(null, 1), bytes.take('c', 0)]).toEqual([
      false,
      false,
      true,
    ]);
    bytes.give('a', 6);
    // What was refused has left nothing behind.
    expect([bytes.take('c', 3), bytes.take(null, 3), bytes.take('b', 1)]).toEqual([
      true,
      true,
      false,
    ]);
    for (const [key, taken] of [['b', 4] as const, ['c', 3] as const, [null, 3] as const]) {
      bytes.give(key, taken);
    }
    expect([bytes.take('a', 6), bytes.take('b', 4)]).toEqual([true, true]);
  });
});
