/** Lets only so much work go on at one time; what comes beyond it waits, in its order. */
export class WorkLimit {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.free = atOnce;
  }

  /** Runs `work` as soon as there is room for it. */
  async use<T>(work: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free--;
    // Its place is handed over, not given back and taken again.
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.free++;
      else next();
    }
  }
}
