import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { medianIntervalS, newestGaps } from '../../compute/depth/coverage.js';
import { MemoryDepth } from '../support/memory-depth.js';
import {
  MARKETS,
  MINT,
  NOW_S,
  startTestService,
  steadyStore,
  type TestService,
} from '../support/service.js';

const UNKNOWN = 'UNKnown1111111111111111111111111111111111111';
/** Ascending times, mostly evenly spaced. */
const times = fc
  .array(fc.oneof(fc.constant(60), fc.integer({ min: 1, max: 400 })), { maxLength: 1500 })
  .map((steps) => {
    let t = 1_794_000_000;
    return Uint32Array.from(steps, (step) => (t += step));
  });

/** The times in parts, cut where the pattern says. */
function partsOf(all: Uint32Array, lengths: readonly number[]): Uint32Array[] {
  const parts: Uint32Array[] = [];
  let from = 0;
  for (let n = 0; from < all.length; n++) {
    const to = from + lengths[n % lengths.length];
    parts.push(all.subarray(from, to));
    from = to;
  }
  return parts;
}
const lengths = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 9 });

/** By definition, interval by interval. */
function plainMedian(all: readonly number[]): number | null {
  const intervals = all
    .slice(1)
    .map((t, i) => t - all[i])
    .slice(-1000)
    .sort((a, b) => a - b);
  if (intervals.length === 0) return null;
  const middle = intervals.length / 2;
  return Number.isInteger(middle)
    ? (intervals[middle - 1] + intervals[middle]) / 2
    : intervals[Math.floor(middle)];
}

it('gaps are intervals longer than 3 medians of the last 1,000', async () => {
  const limits = fc.integer({ min: 1, max: 40 });
  await fc.assert(
    fc.asyncProperty(times, times, limits, lengths, async (raw, hourly, limit, cuts) => {
      const parts = { raw: partsOf(raw, cuts), '15m': [], '1h': partsOf(hourly, cuts) };
      const found = await newestGaps(parts, limit);
      const plain = [...(['raw', '1h'] as const)].flatMap((tier) => {
        const own = [...(tier === 'raw' ? raw : hourly)];
        const median = plainMedian(own);
        expect(medianIntervalS(partsOf(Uint32Array.from(own), cuts))).toBe(median);
        return own.slice(1).flatMap((to, i) => {
          const from = own[i];
          return median !== null && to - from > 3 * median ? [{ tier, from, to }] : [];
        });
      });
      plain.sort((a, b) => b.to - a.to || a.tier.length - b.tier.length || 0);
      const order = (a: { tier: string; to: number }, b: { tier: string; to: number }) =>
        b.to - a.to || Number(a.tier === '1h') - Number(b.tier === '1h');
      expect(found.gaps).toEqual(plain.sort(order).slice(0, limit));
      expect(found.truncated).toBe(plain.length > limit);
    }),
    { numRuns: 40 },
  );
});

it('gaps of a window are those that overlap it, newest first', async () => {
  const bound = fc.integer({ min: -500, max: 150_000 }).map((s) => 1_794_000_000 + s);
  const limits = fc.integer({ min: 1, max: 40 });
  await fc.assert(
    fc.asyncProperty(times, bound, bound, limits, lengths, async (raw, a, b, limit, cuts) => {
      const tiers = { raw: partsOf(raw, cuts), '15m': [], '1h': [] };
      const window = { fromS: Math.min(a, b), toS: Math.max(a, b) };
      const all = (await newestGaps(tiers, raw.length + 1)).gaps;
      const within = all.filter(({ from, to }) => to > window.fromS && from < window.toS);
      const found = await newestGaps(tiers, limit, { window });
      expect(found.gaps).toEqual(within.slice(0, limit));
      expect(found.truncated).toBe(within.length > limit);
    }),
    { numRuns: 100 },
  );
});

describe('GET /coverage/:address', () => {
  let service: TestService;
  beforeAll(async () => {
    const depth = new MemoryDepth();
    const steady = steadyStore(20, 1);
    const [market] = [MARKETS.length - 1];
    // Ten minutes are missing, the last market has depth in only one snapshot, and one snapshot is in the future.
    const snapshots = steady.snapshots
      .map((one, i) => ({
        ...one,
        t: i < 12 ? one.t - 600 : one.t,
        cells: i === 4 ? one.cells : one.cells.filter((cell) => cell.market !== market),
      }))
      .concat({ ...steady.snapshots[0], t: NOW_S + 60 });
    const hour = { ...steady.snapshots[0], tier: '1h' as const, t: NOW_S - 7200 };
    depth.add('mainchain', MINT, { ...steady, snapshots: [...snapshots, hour] });
    service = await startTestService({ depth });
  });
  afterAll(() => service.stop());

  it('describes the stored history', async () => {
    const reply = await service.get(`/coverage/${MINT}`);
    expect(reply.status).toBe(200);
    const first = NOW_S - 19 * 60 - 600;
    const covered = MARKETS.map(({ source, exchangeType, type, address, pair }, i) => ({
      source,
      exchange_type: exchangeType,
      type,
      address,
      pair,
      // The hourly snapshot has all markets.
      first_t: NOW_S - 7200,
      last_t: i === MARKETS.length - 1 ? first + 4 * 60 : NOW_S,
    }));
    expect(await reply.json()).toEqual({
      token: MINT,
      chain: 'mainchain',
      tiers: [
        { tier: 'raw', snapshot_count: 20, first_t: first, last_t: NOW_S, median_interval_s: 60 },
        {
          tier: '1h',
          snapshot_count: 1,
          first_t: NOW_S - 7200,
          last_t: NOW_S - 7200,
          median_interval_s: null,
        },
      ],
      gaps: [{ tier: 'raw', from: first + 11 * 60, to: first + 12 * 60 + 600 }],
      gaps_truncated: false,
      markets: covered,
    });
  });

  it('is empty for an unknown token', async () => {
    expect(await (await service.get(`/coverage/${UNKNOWN}`)).json()).toEqual({
      token: UNKNOWN,
      chain: 'mainchain',
      tiers: [],
      gaps: [],
      gaps_truncated: false,
      markets: [],
    });
  });
});
