/** Bounds the logger's lines about one cause: clients can cause some of them as often as they like. */

/** After this time each cause has its lines again, and a line says how many were left out. */
export const REPEATS_PERIOD_MS = 60_000;
/** Causes told apart in a period; lines of any further cause are only counted. */
export const MAX_CAUSES = 100;
/** Characters of a cause that count. */
const MAX_CAUSE_CHARS = 1000;

/** What was left out; `of` is null for causes beyond MAX_CAUSES. */
export interface LeftOut {
  of: string | null;
  count: number;
}

export class Repeats {
  private causes = new Map<string, { of: string; lines: number; leftOut: number }>();
  /** Lines of causes beyond MAX_CAUSES. */
  private others = 0;
  private period: NodeJS.Timeout | null = null;

  /** @param onLeftOut called at the end of a period, once for each cause with more lines than it may have */
  constructor(private readonly onLeftOut: (leftOut: LeftOut) => void) {}

  /**
   * Counts a line. @returns whether to write it
   * @param cause what its repetitions have in common
   * @param of the line's message
   * @param most lines of the cause in a period
   */
  take(cause: string, of: string, most: number): boolean {
    this.period ??= setTimeout(() => this.endPeriod(), REPEATS_PERIOD_MS).unref();
    const key = cause.slice(0, MAX_CAUSE_CHARS);
    let known = this.causes.get(key);
    if (known === undefined) {
      if (this.causes.size >= MAX_CAUSES) {
        this.others++;
        return false;
      }
      this.causes.set(key, (known = { of, lines: 0, leftOut: 0 }));
    }
    if (known.lines < most) {
      known.lines++;
      return true;
    }
    known.leftOut++;
    return false;
  }

  private endPeriod(): void {
    const { causes, others } = this;
    this.period = null;
    this.causes = new Map();
    this.others = 0;
    for (const { of, leftOut } of causes.values()) {
      if (leftOut > 0) this.onLeftOut({ of, count: leftOut });
    }
    if (others > 0) this.onLeftOut({ of: null, count: others });
  }
}
