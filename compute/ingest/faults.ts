/** One wrong field of one row, for people: `line: field: message`. */
export interface Fault {
  line: number;
  /** Path of the field, such as `markets[2].book.bids[14]`. */
  field: string;
  /** What was expected of it. */
  message: string;
}

/** Faults that are kept and reported; later ones are only counted. */
export const MAX_FAULTS = 10;

/** Collects the faults of a batch in the order they are found. */
export class FaultLog {
  readonly faults: Fault[] = [];
  count = 0;
  /** Line that faults belong to from now on. */
  line = 0;

  add(field: string, message: string): void {
    this.count++;
    if (this.faults.length < MAX_FAULTS) this.faults.push({ line: this.line, field, message });
  }
}
