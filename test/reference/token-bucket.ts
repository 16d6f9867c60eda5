/**
 * A token bucket in exact rational arithmetic: `capacity` tokens, full at first, refilled with `capacity`
 * tokens per period, one token per request. The level is kept in `1/periodUs`-ths of a token.
 */
export class TokenBucket {
  private readonly capacity: bigint;
  private readonly periodUs: bigint;
  private level: bigint;
  private atUs: bigint | null = null;

  constructor(capacity: number, periodUs: number) {
    this.capacity = BigInt(capacity);
    this.periodUs = BigInt(periodUs);
    this.level = this.capacity * this.periodUs;
  }

  request(nowUs: number): boolean {
    this.refill(nowUs);
    if (this.level < this.periodUs) return false;
    this.level -= this.periodUs;
    return true;
  }

  remaining(nowUs: number): number {
    this.refill(nowUs);
    return Number(this.level / this.periodUs);
  }

  /** Microseconds until a whole token is there, rounded up. */
  waitUs(nowUs: number): number {
    this.refill(nowUs);
    return this.level >= this.periodUs ? 0 : this.untilLevel(this.periodUs);
  }

  fullInUs(nowUs: number): number {
    this.refill(nowUs);
    return this.untilLevel(this.capacity * this.periodUs);
  }

  private untilLevel(level: bigint): number {
    return Number((level - this.level + this.capacity - 1n) / this.capacity);
  }

  private refill(nowUs: number): void {
    const now = BigInt(nowUs);
    const full = this.capacity * this.periodUs;
    this.level += this.atUs === null ? 0n : (now - this.atUs) * this.capacity;
    if (this.level > full) this.level = full;
    this.atUs = now;
  }
}
