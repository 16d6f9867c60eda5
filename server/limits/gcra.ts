/**
 * The generic cell rate algorithm: a bucket of `requests` that refills evenly within `periodUs`,
 * kept as one moment, the theoretical arrival time (TAT): when the bucket will be full again. A
 * request moves it on by one emission interval, `periodUs / requests`, and is admitted if that leaves
 * it within one period from now.
 *
 * The interval is seldom a whole number of microseconds, so the TAT is a mixed number: whole
 * microseconds and a part in `requests`-ths of one. Nothing is ever rounded, whatever the count.
 */

/** `requests` above this take their products beyond 2^53. */
const MAX_EXACT_PRODUCT = Number.MAX_SAFE_INTEGER;

export class GcraBucket {
  readonly requests: number;
  readonly periodUs: number;
  private readonly stepUs: number;
  private readonly stepPart: number;
  private tatUs = -Infinity;
  private tatPart = 0;

  /** @param requests a whole number from 1; @param periodUs whole microseconds from 1 */
  constructor(requests: number, periodUs: number) {
    this.requests = requests;
    this.periodUs = periodUs;
    this.stepUs = Math.floor(periodUs / requests);
    this.stepPart = periodUs % requests;
  }

  /** Whether a request at `nowUs` is within the limit. Draws nothing. */
  admits(nowUs: number): boolean {
    return this.waitUs(nowUs) === 0;
  }

  /** Draws one request, which admits() has admitted at the same moment. */
  draw(nowUs: number): void {
    if (this.tatUs < nowUs) {
      this.tatUs = nowUs;
      this.tatPart = 0;
    }
    this.tatUs += this.stepUs;
    this.tatPart += this.stepPart;
    if (this.tatPart >= this.requests) {
      this.tatPart -= this.requests;
      this.tatUs += 1;
    }
  }

  /** Requests that would be admitted at `nowUs`, one after the other. */
  remaining(nowUs: number): number {
    const { requests, periodUs } = this;
    if (this.tatUs < nowUs) return requests;
    const freeUs = nowUs + periodUs - this.tatUs;
    const product = freeUs * requests;
    if (product <= MAX_EXACT_PRODUCT) return Math.floor((product - this.tatPart) / periodUs);
    return Number((BigInt(freeUs) * BigInt(requests) - BigInt(this.tatPart)) / BigInt(periodUs));
  }

  /** Microseconds until the next request will be admitted, rounded up; 0: now. */
  waitUs(nowUs: number): number {
    if (this.tatUs < nowUs) return 0;
    const part = this.tatPart + this.stepPart;
    const overUs =
      this.tatUs + this.stepUs - nowUs - this.periodUs + Math.ceil(part / this.requests);
    return Math.max(overUs, 0);
  }

  /** Microseconds until the bucket is full, rounded up. */
  fullInUs(nowUs: number): number {
    return this.tatUs < nowUs ? 0 : this.tatUs - nowUs + (this.tatPart > 0 ? 1 : 0);
  }
}
