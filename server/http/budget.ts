/** A count of something scarce that is taken and given back, never beyond its limit. */
export class Budget {
  private ownTaken = 0;
  readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  get taken(): number {
    return this.ownTaken;
  }

  /** Takes `amount`, or nothing and says false where it would exceed the limit. */
  take(amount: number): boolean {
    if (this.ownTaken + amount > this.limit) return false;
    this.ownTaken += amount;
    return true;
  }

  give(amount: number): void {
    this.ownTaken -= amount;
  }
}
