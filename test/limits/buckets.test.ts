import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Bucket } from '../../server/limits/buckets.js';
import { TokenBucket } from '../reference/token-bucket.js';

const MINUTE_US = 60_000_000;
/** A bucket with more parts than this rounds. */
const MAX_EXACT_PARTS = 2 ** 52;

const bucketOf = (requests: number, periodUs: number) =>
  new Bucket('general', requests, periodUs / 1_000_000);

/** Compares both at this moment; draws a request if there is one. */
function step(bucket: Bucket, reference: TokenBucket, nowUs: number, within: number): void {
  const compare = (figure: 'remaining' | 'waitUs' | 'fullInUs') => {
    const difference = Math.abs(bucket[figure](nowUs) - reference[figure](nowUs));
    expect(difference, figure).toBeLessThanOrEqual(within);
  };
  compare('remaining');
  compare('waitUs');
  compare('fullInUs');
  const admitted = bucket.waitUs(nowUs) === 0;
  if (within === 0) expect(reference.request(nowUs)).toBe(admitted);
  else if (admitted && reference.remaining(nowUs) > 0) reference.request(nowUs);
  if (admitted) bucket.draw(nowUs);
  compare('remaining');
}

describe('a bucket', () => {
  it('is a token bucket in exact arithmetic up to 2^52 parts, and within one unit above', () => {
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
        const bucket = bucketOf(requests, periodUs);
        const reference = new TokenBucket(requests, periodUs);
        const within = requests * periodUs < MAX_EXACT_PARTS ? 0 : 1;
        let nowUs = startUs;
        for (const gapUs of gaps) {
          nowUs += gapUs;
          step(bucket, reference, nowUs, within);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('does not drift: a million requests at 7 per minute take exactly as long as expected', () => {
    const bucket = bucketOf(7, MINUTE_US);
    const reference = new TokenBucket(7, MINUTE_US);
    let nowUs = 12_345;
    const requests = 1_000_000;
    let agreed = 0;
    for (let i = 0; i < requests; i++) {
      nowUs += bucket.waitUs(nowUs);
      bucket.draw(nowUs);
      if (reference.request(nowUs)) agreed++;
    }
    expect(agreed).toBe(requests);
    // The first seven at once, every other one after a seventh of a minute.
    expect(nowUs).toBe(12_345 + Math.ceil(((requests - 7) * MINUTE_US) / 7));
    expect(bucket.fullInUs(nowUs)).toBe(reference.fullInUs(nowUs));
  });
});
