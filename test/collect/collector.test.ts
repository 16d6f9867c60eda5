/** The loop of fathom collect: time, commits, and what becomes of sources that fail. */
import { describe, expect, it } from 'vitest';
import { binSnapshotRows } from '../../compute/ingest/snapshots.js';
import { type CollectClock, Collector } from '../../collect/collector.js';
import { CommitQueue } from '../../collect/commit-queue.js';
import type { CollectConfig } from '../../collect/config.js';
import { RestClient } from '../../collect/rest.js';
import type { Missing, Sample, Source, SourceContext } from '../../collect/source.js';
import {
  DamagedDataError,
  DiskFullError,
  RefusalError,
  StoreUnavailableError,
} from '../../storage/errors.js';
import { SOL } from '../storage/import-helpers.js';

const BASE_MS = 1_760_000_000_000;

/** A clock that a test moves: sleeping passes the time. */
class FakeClock implements CollectClock {
  steady = 0;
  stepped = 0;
  /** Called after each sleep. */
  onSlept: () => void = () => undefined;

  wallMs = (): number => BASE_MS + this.steady + this.stepped;
  steadyMs = (): number => this.steady;
  async sleep(ms: number, stop?: AbortSignal): Promise<void> {
    // Whatever is ready comes first.
    await new Promise((turn) => setImmediate(turn));
    if (stop?.aborted === true) return;
    this.steady += ms;
    this.onSlept();
  }
}

const sampleAt = (price: number, pair = 'SOL/USD'): Sample => ({
  price,
  body: (quoteUsd) => ({
    book: { bids: [[price * quoteUsd * 0.99, 1]], asks: [[price * quoteUsd * 1.01, 1]] },
  }),
  address: null,
  pair,
  ageMs: 0,
});

function fakeSource(
  id: string,
  sample: (t: number) => Sample | Missing | Promise<Sample | Missing>,
) {
  const source: Source = {
    name: id,
    venue: id,
    exchangeType: 'CEX',
    type: 'cex_spot',
    losses: 'nothing',
    compared: null,
    start: () => undefined,
    sample,
    stop: () => undefined,
  };
  return source;
}

interface Row {
  t: number;
  price_usd: number;
  markets: { source: string; book: { bids: number[][] } }[];
}

function collectorOf(
  sources: Source[],
  {
    everyS = 60,
    price = null,
    quotes = {},
    commit,
  }: {
    everyS?: number;
    price?: string | null;
    quotes?: Record<string, number | string>;
    commit?: (lines: readonly string[]) => Promise<void>;
  } = {},
) {
  const clock = new FakeClock();
  const rows: Row[] = [];
  const log: string[] = [];
  const context: SourceContext = {
    everyS,
    rest: new RestClient(),
    log: (text) => log.push(text),
    onResync: () => undefined,
  };
  const config: CollectConfig = {
    everyS,
    tokens: [
      {
        token: { chain: 'mainchain', address: SOL },
        price,
        sources: sources.map((source) => ({
          id: source.name,
          quoteUsd: quotes[source.name] ?? null,
          open: () => source,
        })),
      },
    ],
  };
  const store = (lines: readonly string[]): Promise<void> => {
    rows.push(...lines.map((line) => JSON.parse(line)));
    return Promise.resolve();
  };
  const collector = new Collector({ config, clock, context, commit: commit ?? store });
  /** Runs until so many milliseconds have passed on the clock. */
  const runFor = async (ms: number): Promise<void> => {
    const stopping = new AbortController();
    const end = clock.steady + ms;
    clock.onSlept = () => {
      if (clock.steady >= end) stopping.abort();
    };
    await collector.run(stopping.signal);
  };
  return { collector, clock, rows, log, runFor };
}

describe('the loop', () => {
  it('stamps each snapshot with a multiple of the interval', async () => {
    const { rows, runFor } = collectorOf([fakeSource('a', () => sampleAt(100))], { everyS: 10 });
    await runFor(35_000);
    expect(rows.map(({ t }) => t)).toEqual([1_760_000_010, 1_760_000_020, 1_760_000_030]);
    expect(rows[0]).toMatchObject({ price_usd: 100, markets: [{ source: 'a' }] });
  });

  it('a broken source is left out, and said once; the others go on', async () => {
    const b = fakeSource('b', (t) => {
      if (t === 1_760_000_020) throw new Error('broken');
      return t === 1_760_000_030 ? { missing: 'broken' } : sampleAt(101);
    });
    const { rows, log, runFor } = collectorOf([fakeSource('a', () => sampleAt(100)), b], {
      everyS: 10,
    });
    await runFor(45_000);
    expect(rows.map(({ markets }) => markets.map(({ source }) => source).join())).toEqual([
      'a,b',
      'a',
      'a',
      'a,b',
    ]);
    expect(log).toEqual(['a: whole', 'b: whole', 'b: left out: broken', 'b: whole']);
  });

  it('a source that does not answer is left out, and holds up nothing', async () => {
    const never = fakeSource('slow', () => new Promise(() => undefined));
    const { rows, log, runFor } = collectorOf([fakeSource('a', () => sampleAt(100)), never], {
      everyS: 10,
    });
    await runFor(25_000);
    expect(rows.length).toBe(2);
    expect(log).toContain('slow: left out: no answer within 5 s');
  });

  it('a stop does not wait for sources that do not answer', async () => {
    const { collector, clock } = collectorOf([
      fakeSource('slow', () => new Promise(() => undefined)),
    ]);
    // The wait for the answer never ends by itself.
    clock.sleep = (ms, stop) =>
      new Promise((done) => {
        if (stop?.aborted) return done();
        stop?.addEventListener('abort', () => done());
        if (ms === 1_000) setImmediate(done);
      });
    const stopping = new AbortController();
    setTimeout(() => stopping.abort(), 20);
    await collector.once(1e9, stopping.signal);
    expect(collector.statuses[0].missing).toBe('no answer before the end');
  });

  it('--once stamps the second of the sample, not a multiple that has passed', async () => {
    const asked: number[] = [];
    const late = fakeSource('late', (t) => {
      asked.push(t);
      return asked.length < 3 ? { missing: 'no book yet' } : sampleAt(100);
    });
    const { collector, clock, rows } = collectorOf([late], { everyS: 86_400 });
    clock.steady = 12_345;
    await collector.once(20_000, new AbortController().signal);
    const nowS = Math.floor(clock.wallMs() / 1000);
    expect(rows.map(({ t }) => t)).toEqual([asked[2]]);
    expect(nowS - asked[2]).toBeLessThan(60);
  });

  it('a market that the store refuses costs its own source alone, and is tried again later', async () => {
    // The check of the store itself. At quote_usd 1 the second book would exceed what a snapshot holds, too.
    const store = (lines: readonly string[]): Promise<void> => {
      const { faults } = binSnapshotRows(
        lines.map((line) => JSON.parse(line)),
        { firstLine: 1, mode: 'merge' },
      );
      if (faults.length > 0) {
        return Promise.reject(new RefusalError(`${faults[0].field}: ${faults[0].message}`));
      }
      stored.push(...lines.map((line) => JSON.parse(line) as Row));
      return Promise.resolve();
    };
    const stored: Row[] = [];
    const bookAt = (price: number, size: number): Sample => ({
      ...sampleAt(price, 'SOL/X'),
      body: (quoteUsd) => ({
        book: { bids: [[price * quoteUsd * 0.99, size]], asks: [[price * quoteUsd * 1.01, 1]] },
      }),
    });
    const tooLarge = fakeSource('too-large', () => bookAt(100, 1e15));
    const inPennies = fakeSource('large-in-pennies', () => bookAt(1e15, 9));
    const { log, runFor, collector } = collectorOf(
      [fakeSource('a', () => sampleAt(100)), tooLarge, inPennies],
      { everyS: 10, commit: store, quotes: { 'large-in-pennies': 1e-13 } },
    );
    await runFor(625_000);
    // Where one was refused, the others were stored alone: they are merged.
    const byTime = new Map<number, string[]>();
    for (const { t, markets } of stored) {
      byTime.set(t, [...(byTime.get(t) ?? []), ...markets.map(({ source }) => source)]);
    }
    expect(new Set([...byTime.values()].map((sources) => sources.join()))).toEqual(
      new Set(['a,large-in-pennies']),
    );
    expect(byTime.size).toBe(62);
    // Twice in ten minutes.
    expect(log.filter((text) => text.startsWith('too-large: left out'))).toEqual(
      Array(2).fill(expect.stringMatching(/: the store refuses it: .*at most .* cents/)),
    );
    expect(log.filter((text) => text.startsWith('a snapshot was refused')).length).toBe(2);
    expect(collector.queue.counts).toEqual({ stored: 62, refused: 0, dropped: 0 });
  });

  it('a duration of more than 25 days ends when it is over', async () => {
    const { collector, rows, clock } = collectorOf([fakeSource('a', () => sampleAt(100))], {
      everyS: 86_400,
    });
    const sleep = clock.sleep.bind(clock);
    clock.sleep = (ms, stop) => sleep(ms * 1_000, stop);
    const fromMs = clock.wallMs();
    await collector.run(new AbortController().signal, 30 * 86_400_000);
    expect(rows.length).toBe(30);
    expect(clock.wallMs() - fromMs).toBeGreaterThanOrEqual(30 * 86_400_000);
  });

  it('intervals that pass while it is held up are counted and said', async () => {
    let held = false;
    const { collector, clock, rows, log, runFor } = collectorOf(
      [
        fakeSource('a', (t) => {
          if (t === 1_760_000_020 && !held) clock.steady += 35_000;
          held ||= t === 1_760_000_020;
          return sampleAt(100);
        }),
      ],
      { everyS: 10 },
    );
    await runFor(75_000);
    expect(rows.map(({ t }) => t - 1_760_000_000)).toEqual([10, 20, 60, 70]);
    expect(collector.counts).toEqual({ sampled: 4, missed: 3, snapshots: 4 });
    expect(log).toContain('3 intervals were missed: the collector was held up');
  });

  it('another reason is said, at most once a minute, its figures aside', async () => {
    const reason = (t: number): string => {
      if (t <= 1_760_000_030) return `${t} refused`;
      return t <= 1_760_000_050 ? 'banned' : `silent for ${t} s`;
    };
    const { log, runFor } = collectorOf([fakeSource('a', (t) => ({ missing: reason(t) }))], {
      everyS: 10,
    });
    await runFor(125_000);
    expect(log).toEqual([
      'a: left out: 1760000010 refused',
      'a: left out: silent for 1760000070 s',
    ]);
  });

  it('the price is that of the named source, otherwise of the first one', async () => {
    const b = fakeSource('b', (t) => (t === 1_760_000_020 ? { missing: 'x' } : sampleAt(200)));
    const { rows, runFor } = collectorOf([fakeSource('a', () => sampleAt(100)), b], {
      everyS: 10,
      price: 'b',
    });
    await runFor(25_000);
    expect(rows.map((row) => row.price_usd)).toEqual([200, 100]);
  });

  it('quote_usd may be another source: without it, the market is left out', async () => {
    const eth = fakeSource('eth', (t) =>
      t === 1_760_000_020 ? { missing: 'x' } : sampleAt(3_000, 'ETH/USD'),
    );
    const inEth = fakeSource('in-eth', () => sampleAt(0.05, 'SOL/ETH'));
    const { rows, runFor } = collectorOf([eth, inEth], { everyS: 10, quotes: { 'in-eth': 'eth' } });
    await runFor(25_000);
    expect(rows.length).toBe(1);
    expect(rows[0].markets[1].book.bids[0][0]).toBeCloseTo(0.05 * 3_000 * 0.99);
  });

  it('a clock that steps: no moment comes twice, and the step is said', async () => {
    let step: () => void = () => undefined;
    const a = fakeSource('a', () => {
      step();
      return sampleAt(100);
    });
    const { rows, log, clock, runFor } = collectorOf([a], { everyS: 10 });
    // Back by half a second while the first moment is sampled, later forward by an hour, then back by an hour.
    let steps = 0;
    step = () => {
      if (steps++ === 0) clock.stepped = -500;
    };
    const sleep = clock.sleep.bind(clock);
    clock.sleep = async (ms, stop) => {
      await sleep(ms, stop);
      if (clock.steady >= 45_000) clock.stepped = 0;
      else if (clock.steady >= 25_000) clock.stepped = 3_600_000;
    };
    await runFor(60_500);
    const times = rows.map(({ t }) => t - 1_760_000_000);
    expect(new Set(times).size).toBe(times.length);
    expect(times).toEqual([10, 20, 3630, 3640, 50, 60]);
    expect(log.filter((text) => text.includes('stepped'))).toEqual([
      'the clock stepped forward by 3601 s',
      'the clock stepped back by 3600 s',
    ]);
  });

  it('a day: every minute has its snapshot or a word on why not, and nothing piles up', async () => {
    // A source that fails for a while now and then, and another that comes and goes at random places.
    const failing = (t: number): boolean => Math.floor(t / 60) % 97 < 3;
    const a = fakeSource('a', (t) => (failing(t) ? { missing: 'lost' } : sampleAt(100 + (t % 7))));
    const { collector, rows, log, runFor } = collectorOf([a]);
    await runFor(86_400_000 + 1_000);
    const expected = Array.from(
      { length: 1_440 },
      (_, i) => 1_760_000_040 - (1_760_000_040 % 60) + i * 60,
    ).filter((t) => t >= 1_760_000_000);
    const stored = new Set(rows.map(({ t }) => t));
    const missing = expected.filter((t) => !stored.has(t));
    expect(missing.every(failing)).toBe(true);
    expect(rows.length + missing.length).toBe(expected.length);
    // Each gap is said when it begins and when it ends.
    const gaps = missing.filter((t) => !missing.includes(t - 60)).length;
    expect(log.filter((text) => text.includes('left out')).length).toBe(gaps);
    expect(log.filter((text) => text === 'a: whole').length).toBeGreaterThanOrEqual(gaps);
    expect(collector.queue.counts).toEqual({ stored: rows.length, refused: 0, dropped: 0 });
  });
});

describe('commits', () => {
  const queueOf = (commit: (lines: readonly string[]) => Promise<void>) => {
    const log: string[] = [];
    const waits: number[] = [];
    const sleep = async (ms: number): Promise<void> => {
      waits.push(ms);
      await new Promise((done) => setTimeout(done, 1));
    };
    return { queue: new CommitQueue({ commit, log: (text) => log.push(text), sleep }), log, waits };
  };

  it('sampling never waits for one: one is in flight, what waits goes together', async () => {
    const batches: number[] = [];
    let release: () => void = () => undefined;
    const { queue } = queueOf((lines) => {
      batches.push(lines.length);
      return batches.length > 1 ? Promise.resolve() : new Promise((done) => (release = done));
    });
    for (let i = 0; i < 5; i++) queue.push([{ i }]);
    expect(batches).toEqual([1]);
    release();
    await queue.end();
    expect(batches).toEqual([1, 4]);
    expect(queue.counts).toEqual({ stored: 5, refused: 0, dropped: 0 });
  });

  it('the oldest intervals are dropped, counted and said once ten wait', async () => {
    let release: () => void = () => undefined;
    const stored: string[] = [];
    const { queue, log } = queueOf((lines) => {
      stored.push(...lines);
      return stored.length > 1 ? Promise.resolve() : new Promise((done) => (release = done));
    });
    for (let i = 0; i < 14; i++) queue.push([{ i }]);
    expect(queue.counts.dropped).toBe(3);
    release();
    await queue.end();
    expect(stored.map((line) => JSON.parse(line).i)).toEqual([0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
    expect(log.filter((text) => text.includes('dropped')).length).toBe(3);
  });

  it('no more than 64 MiB wait', async () => {
    let release: () => void = () => undefined;
    const { queue } = queueOf(() => new Promise((done) => (release = done)));
    const large = 'x'.repeat(30 * 1024 * 1024);
    queue.push([{ i: 0 }]);
    for (let i = 1; i < 5; i++) queue.push([{ i, large }]);
    expect(queue.counts.dropped).toBe(2);
    release();
    void queue.end();
    await new Promise((done) => setTimeout(done, 5));
    release();
  });

  it('one that fails is repeated until it succeeds, and said once', async () => {
    let tries = 0;
    const stored: string[] = [];
    const { queue, log, waits } = queueOf((lines) => {
      if (++tries < 4) {
        return Promise.reject(
          tries === 2 ? new DiskFullError('x') : new StoreUnavailableError('away'),
        );
      }
      stored.push(...lines);
      return Promise.resolve();
    });
    queue.push([{ i: 0 }]);
    queue.push([{ i: 1 }]);
    while (stored.length < 2) await new Promise((done) => setTimeout(done, 1));
    await queue.end();
    expect(stored.map((line) => JSON.parse(line).i)).toEqual([0, 1]);
    expect(waits).toEqual([1_000, 2_000, 4_000]);
    expect(log).toEqual(['not stored, retrying: away', 'the store takes snapshots again']);
  });

  it('a snapshot that is refused does not take the others with it', async () => {
    const stored: string[] = [];
    const { queue, log } = queueOf((lines) => {
      if (lines.some((line) => line.includes('bad')))
        return Promise.reject(new RefusalError('t: no'));
      stored.push(...lines);
      return Promise.resolve();
    });
    queue.push([{ i: 0 }, { i: 'bad' }, { i: 2 }]);
    await queue.end();
    expect(stored.length).toBe(2);
    expect(queue.counts).toEqual({ stored: 2, refused: 1, dropped: 0 });
    expect(log).toEqual(['a snapshot was refused: t: no']);
  });

  it('a fault of the store is not taken for that of a market', async () => {
    let commits = 0;
    const { queue, log } = queueOf((lines) => {
      expect(lines.length).toBe(2);
      return ++commits === 1
        ? Promise.reject(new DamagedDataError('the store is damaged'))
        : Promise.resolve();
    });
    queue.push([{ i: 0 }, { i: 1 }]);
    while (commits < 2) await new Promise((done) => setTimeout(done, 1));
    await queue.end();
    expect(queue.counts).toEqual({ stored: 2, refused: 0, dropped: 0 });
    expect(log).toEqual([
      'not stored, retrying: the store is damaged',
      'the store takes snapshots again',
    ]);
  });

  it('what is repeated after a failure counts once', async () => {
    let tries = 0;
    const { queue } = queueOf((lines) => {
      if (lines.some((line) => line.includes('bad'))) return Promise.reject(new RefusalError('no'));
      return ++tries === 2 ? Promise.reject(new StoreUnavailableError('away')) : Promise.resolve();
    });
    queue.push([{ i: 0 }, { i: 'bad' }, { i: 2 }]);
    while (tries < 4) await new Promise((done) => setTimeout(done, 1));
    await queue.end();
    expect(queue.counts).toEqual({ stored: 2, refused: 1, dropped: 0 });
  });
});
