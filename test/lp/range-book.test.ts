/** How the ranges of tokens follow their depth: in a bounded share of the time, and never far behind. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { loggerInto } from '../support/logger.js';
import { RangeBook } from '../../server/lp/range-book.js';

const BUSY = 'B'.repeat(40);
const QUIET = 'Q'.repeat(40);

describe('the ranges of tokens', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => vi.useRealTimers());

  /** A book whose reads take `tookMs`, and the reads' tokens and times. */
  function bookOf(tookMs: number) {
    const reads: { address: string; atMs: number }[] = [];
    const logged: string[] = [];
    const plan = async () => {
      await new Promise((resolve) => setTimeout(resolve, tookMs));
      return { snapshots: [], segmentIds: [], markets: [], nextT: null };
    };
    const book = new RangeBook({
      depth: { token: () => ({ tokenId: 1 }), plan } as never,
      workers: {} as never,
      clock: { nowS: () => 1_794_659_696 },
      logger: loggerInto(logged),
      onChange: ({ address }) => reads.push({ address, atMs: performance.now() }),
    });
    return { book, reads, logged };
  }

  async function close(book: RangeBook): Promise<void> {
    const closed = book.close();
    await vi.advanceTimersByTimeAsync(20_000);
    await closed;
  }

  it('are read at once if they are new, or if a board waits for them', async () => {
    const { book, reads } = bookOf(50);
    await book.wantPrices(new Set([BUSY, QUIET]));
    let ready = false;
    void book.ready('prices', { first: false }).then(() => (ready = true));
    await vi.advanceTimersByTimeAsync(99);
    expect(ready).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(ready).toBe(true);
    expect(reads.map(({ address }) => address)).toEqual([BUSY, QUIET]);
    await close(book);
  });

  it('are waited for by a first board for five seconds, by a later one for half of one', async () => {
    const { book } = bookOf(20_000);
    await book.wantPrices(new Set([BUSY]));
    const waitedMs: number[] = [];
    for (const first of [true, false]) {
      const startMs = performance.now();
      void book.ready('prices', { first }).then(() => waitedMs.push(performance.now() - startMs));
    }
    await vi.advanceTimersByTimeAsync(10_000);
    expect(waitedMs).toEqual([500, 5000]);
    await close(book);
  });

  it('take an eleventh of the time if depth keeps arriving, and do not delay others', async () => {
    const { book, reads } = bookOf(50);
    await book.wantPrices(new Set([BUSY, QUIET]));
    await vi.advanceTimersByTimeAsync(1000);
    reads.length = 0;
    for (let ms = 0; ms < 20_000; ms += 10) {
      book.touch([BUSY]);
      if (ms === 10_000) book.touch([QUIET]);
      await vi.advanceTimersByTimeAsync(10);
    }
    const busy = reads.filter(({ address }) => address === BUSY);
    expect(busy.length).toBeGreaterThanOrEqual(35);
    // A burst at first, then a read every 550 ms.
    expect(busy.length).toBeLessThanOrEqual(42);
    const quiet = reads.filter(({ address }) => address === QUIET);
    expect(quiet).toHaveLength(1);
    expect(quiet[0].atMs - busy[0].atMs).toBeLessThan(10_500);
    await close(book);
  });

  it('are at most 15 s behind, however long a read takes', async () => {
    const { book, reads } = bookOf(4_000);
    await book.wantPrices(new Set([BUSY]));
    for (let ms = 0; ms < 200_000; ms += 100) {
      book.touch([BUSY]);
      await vi.advanceTimersByTimeAsync(100);
    }
    const gaps = reads.slice(1).map(({ atMs }, i) => atMs - reads[i].atMs);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(15_000 + 4_000 + 100);
    expect(reads.length).toBeLessThanOrEqual(14);
    await close(book);
  });

  it('leave readers three times the duration of a read before the next token', async () => {
    const { book, reads } = bookOf(50);
    const tokens = [BUSY, QUIET, 'R'.repeat(40)];
    await book.wantPrices(new Set(tokens));
    await vi.advanceTimersByTimeAsync(1000);
    reads.length = 0;
    book.touch(tokens);
    await vi.advanceTimersByTimeAsync(1000);
    expect(reads.map(({ address }) => address)).toEqual(tokens);
    expect(reads[1].atMs - reads[0].atMs).toBe(200);
    expect(reads[2].atMs - reads[1].atMs).toBe(200);
    await close(book);
  });
});
