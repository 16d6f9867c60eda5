import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DamageError } from '../../compute/damage.js';
import { LimitOrdersByToken } from '../../server/orders/orders-by-token.js';
import { loggerInto } from '../support/logger.js';
import { MemoryOrders } from '../support/memory-sources.js';
import { limitOrder } from '../support/orders.js';
import { PATIENCE_MS } from '../support/waiting.js';

const orderOf = (tokenAddress: string, orderAddress: string, usdPrice: number) =>
  limitOrder({ tokenAddress, orderAddress, usdPrice });

let source: MemoryOrders['limit'];
let book: LimitOrdersByToken;
let logged: string[];
let changes: string[][];

beforeEach(() => {
  source = new MemoryOrders().limit;
  source.orders = [orderOf('a', '1', 5), orderOf('b', '2', 1), orderOf('a', '3', 2)];
  logged = [];
  changes = [];
  book = new LimitOrdersByToken(source, loggerInto(logged));
  book.onChange = (addresses) => changes.push([...addresses]);
});
afterEach(async () => {
  vi.useRealTimers();
  await book.close();
});

const held = (token: string): string[] | null =>
  book.get(token)?.orders.map(({ orderAddress }) => orderAddress) ?? null;

describe('orders in memory', () => {
  it('are complete after the start, by token', async () => {
    await book.start();
    expect(held('a')).toEqual(['3', '1']);
    expect(held('b')).toEqual(['2']);
    expect(held('c')).toBe(null);
    expect([...book.tokens()].sort()).toEqual(['a', 'b']);
    expect(changes).toEqual([['a', 'b']]);
  });

  it('follow commits, and stay the same objects if nothing has changed', async () => {
    await book.start();
    const before = book.get('b');
    source.orders = [orderOf('b', '2', 1), orderOf('c', '4', 1)];
    book.touch(['a', 'c']);
    await book.settled();
    expect([held('a'), held('b'), held('c')]).toEqual([null, ['2'], ['4']]);
    expect(book.get('b')).toBe(before);
    expect(changes.at(-1)).toEqual(['a', 'c']);
    expect(source.requests).toEqual([['a', 'c']]);
  });

  it('are read again if a commit occurred while all were read', async () => {
    const starting = book.start();
    source.orders = [];
    book.touch(['a']);
    await starting;
    await book.settled();
    expect(source.requests).toEqual([['a']]);
    expect(held('a')).toBe(null);
  });

  it('are read again if a commit occurred while they were read', async () => {
    await book.start();
    book.touch(['a']);
    await vi.waitUntil(() => source.requests.length === 1, { timeout: PATIENCE_MS });
    source.orders = [orderOf('a', '9', 1)];
    book.touch(['a']);
    await book.settled();
    expect(source.requests).toHaveLength(2);
    expect(held('a')).toEqual(['9']);
  });

  it('that are damaged do not prevent the server from starting, and fail requests', async () => {
    const damage = new DamageError(
      'IO Error: Corrupt database file: computed checksum 1 does not match',
    );
    vi.spyOn(source, 'all').mockImplementation(() => {
      throw damage;
    });
    await book.start();
    expect(() => book.checkReadable()).toThrow(damage);
    expect(logged.join('')).toContain('limit orders are damaged');
  });

  it('that could not be read are reported, and read later', async () => {
    await book.start();
    vi.useFakeTimers();
    source.failures.push(new Error('the disk is gone'));
    source.orders = [];
    book.touch(['a']);
    await book.settled();
    expect(held('a')).toEqual(['3', '1']);
    expect(logged.join('')).toContain('limit orders could not be read');
    // Others are not delayed.
    book.touch(['b']);
    await book.settled();
    expect([held('a'), held('b')]).toEqual([['3', '1'], null]);
    await vi.advanceTimersByTimeAsync(5_000);
    await book.settled();
    expect(held('a')).toBe(null);
  });
});
