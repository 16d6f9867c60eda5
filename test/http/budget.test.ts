import { describe, expect, it } from 'vitest';
import { Budget, BytesInFlight } from '../../server/http/budget.js';

it('budgets are never exceeded', () => {
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

describe('bytes in flight', () => {
  it('of one key leave room for others, and of all leave none', () => {
    const bytes = new BytesInFlight({
      maxBytesInFlight: 10,
      maxBytesInFlightPerKey: 6,
      maxKeylessBytesInFlight: 3,
    });
    expect([bytes.take('a', 6), bytes.take('a', 1), bytes.take('b', 4)]).toEqual([
      'taken',
      'full for the key',
      'taken',
    ]);
    expect([bytes.take('c', 1), bytes.take('c', 0)]).toEqual(['full', 'taken']);
    bytes.give('a', 6);
    // Refused requests have left nothing behind.
    expect([bytes.take('c', 6), bytes.take('b', 1)]).toEqual(['taken', 'full']);
    bytes.give('b', 4);
    bytes.give('c', 6);
    expect([bytes.take('a', 6), bytes.take('b', 4)]).toEqual(['taken', 'taken']);
    expect(bytes.taken).toBe(10);
  });

  it('of clients without a key are counted separately', () => {
    const bytes = new BytesInFlight({
      maxBytesInFlight: 10,
      maxBytesInFlightPerKey: 10,
      maxKeylessBytesInFlight: 3,
    });
    expect([bytes.take(null, 3), bytes.take(null, 1), bytes.take('a', 10)]).toEqual([
      'taken',
      'full',
      'taken',
    ]);
    expect(bytes.take('b', 1)).toBe('full');
    bytes.give(null, 3);
    expect([bytes.take('b', 1), bytes.take(null, 1)]).toEqual(['full', 'taken']);
  });
});
