/** Rows of the hours in sight, reread after commits and when an hour begins. */
import { hourOf, hoursInSight } from '../../compute/lp/hours.js';
import type { Clock } from '../clock.js';

export class HoursInSight<T> {
  private rows: T | null = null;
  /** The clock's hour when the rows were read. */
  private hourS = 0;
  private stale = true;

  /** @param load reads the rows of the hours that start at `firstHourS` to `lastHourS`, epoch seconds */
  constructor(
    private readonly clock: Clock,
    private readonly load: (firstHourS: number, lastHourS: number) => Promise<T>,
  ) {}

  /** Marks the rows as changed by a commit. */
  change(): void {
    this.stale = true;
  }

  /** Whether another hour has begun since the rows were read. */
  isOfAnotherHour(): boolean {
    return this.rows !== null && hourOf(this.clock.nowS()) !== this.hourS;
  }

  async read(nowS: number): Promise<T> {
    const hourS = hourOf(nowS);
    if (!this.stale && this.rows !== null && hourS === this.hourS) return this.rows;
    this.stale = false;
    try {
      const { firstHourS, lastHourS } = hoursInSight(nowS);
      this.rows = await this.load(firstHourS, lastHourS);
      this.hourS = hourS;
      return this.rows;
    } catch (error) {
      this.stale = true;
      throw error;
    }
  }
}
