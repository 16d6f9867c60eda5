import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GcraBucket } from '../../server/limits/gcra.js';
import { TokenBucket } from '../reference/token-bucket.js';

const MINUTE_US = 60_000_000;

/** Whether both say the same at this moment, and draw the same. */
function step(gcra: GcraBucket, reference: TokenBucket, nowUs: number): boolean {
  expect(gcra.remaining(nowUs)).toBe(reference.remaining(nowUs));
  expect(gcra.waitUs(nowUs)).toBe(reference.waitUs(nowUs));
  expect(gcra.fullInUs(nowUs)).toBe(reference.fullInUs(nowUs));
  const admitted = gcra.admits(nowUs);
  expect(reference.request(nowUs)).toBe(admitted);
  if (admitted) gcra.draw(nowUs);
  expect(gcra.remaining(nowUs)).toBe(reference.remaining(nowUs));
  return admitted;
}

describe('a GCRA bucket', () => {
  it('is a token bucket in exact arithmetic', () => {
    const gap = fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 0, max: 3_000_000 }),
      fc.integer({ min: 0, max: 2 * MINUTE_US }),
    );
    const figures = fc.record({
      requests: fc.oneof(
        fc.constantFrom(1, 6, 7, 12, 60, 600, 59_999_999),
        fc.integer({ min: 1, max: 1_000_000_000 }),
      ),
      periodUs: fc.constantFrom(1_000_000, MINUTE_US, 86_400_000_000),
      startUs: fc.integer({ min: 0, max: 10 * 365 * 86_400 * 1_000_000 }),
      gaps: fc.array(gap, { maxLength: 60 }),
    });
    fc.assert(
      fc.property(figures, ({ requests, periodUs, startUs, gaps }) => {
        const gcra = new GcraBucket(requests, periodUs);
        const reference = new TokenBucket(requests, periodUs);
        let nowUs = startUs;
        for (const gapUs of gaps) {
          nowUs += gapUs;
          step(gcra, reference, nowUs);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('admits again exactly when it said, not a microsecond sooner', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), fc.nat(MINUTE_US), (requests, startUs) => {
        const gcra = new GcraBucket(requests, MINUTE_US);
        for (let i = 0; i < requests; i++) gcra.draw(startUs);
        const waitUs = gcra.waitUs(startUs);
        expect(waitUs).toBe(Math.ceil(MINUTE_US / requests));
        expect(gcra.admits(startUs + waitUs - 1)).toBe(false);
        expect(gcra.admits(startUs + waitUs)).toBe(true);
      }),
    );
  });

  it('does not drift: a million requests as fast as 7 a minute take exactly so long', () => {
    const gcra = new GcraBucket(7, MINUTE_US);
    const reference = new TokenBucket(7, MINUTE_US);
    let nowUs = 12_345;
    const requests = 1_000_000;
    let agreed = 0;
    for (let i = 0; i < requests; i++) {
      nowUs += gcra.waitUs(nowUs);
      gcra.draw(nowUs);
      if (reference.request(nowUs)) agreed++;
    }
    expect(agreed).toBe(requests);
    // The first seven at once, every other one after a seventh of a minute.
    expect(nowUs).toBe(12_345 + Math.ceil(((requests - 7) * MINUTE_US) / 7));
    expect(gcra.fullInUs(nowUs)).toBe(reference.fullInUs(nowUs));
  });

  it('lets through no more than its limit and one refill within any minute', () => {
    const gcra = new GcraBucket(12, MINUTE_US);
    const admitted: number[] = [];
    for (let nowUs = 0; nowUs < 5 * MINUTE_US; nowUs += 250_000) {
      if (!gcra.admits(nowUs)) continue;
      gcra.draw(nowUs);
      admitted.push(nowUs);
    }
    // The whole minute at once, then one every five seconds.
    expect(admitted.length).toBe(12 + 59);
  });
});
