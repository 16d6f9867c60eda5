/** Updates of an order book that wait for the snapshot on which they build, oldest first. */
export class WaitingUpdates<U> {
  protected updates: U[] = [];
  private levels = 0;

  /**
   * @param mostLevels beyond so many, the oldest updates are dropped
   * @param levelsOf of an update; an empty one takes memory too
   */
  constructor(
    private readonly mostLevels: number,
    private readonly levelsOf: (update: U) => number,
  ) {}

  get first(): U | undefined {
    return this.updates[0];
  }

  get isEmpty(): boolean {
    return this.updates.length === 0;
  }

  /** Adds an update; returns how many old ones it drops. The newest one stays, however large. */
  add(update: U): number {
    this.updates.push(update);
    this.levels += this.levelsOf(update);
    let dropped = 0;
    while (this.levels > this.mostLevels && dropped < this.updates.length - 1) {
      this.levels -= this.levelsOf(this.updates[dropped++]);
    }
    this.updates.splice(0, dropped);
    return dropped;
  }

  /** Empties the list. */
  take(): U[] {
    const { updates } = this;
    [this.updates, this.levels] = [[], 0];
    return updates;
  }
}
