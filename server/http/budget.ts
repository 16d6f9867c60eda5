/** A count of something scarce that is taken and given back, never beyond its limit. */
export class Budget {
  #taken = 0;
  readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Takes `amount`, or nothing and says false where it would exceed the limit. */
  take(amount: number): boolean {
    if (this.#taken + amount > this.limit) return false;
    this.#taken += amount;
    return true;
  }

  give(amount: number): void {
    this.#taken -= amount;
  }
}
