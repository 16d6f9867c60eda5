/** Rows of a file of an export, made batch by batch while DuckDB writes them. */
import type { GivenBatch, GivenColumn, GivenTable } from '../duckdb/given-columns.js';

/** A column of numbers without nulls. */
export const number = (name: string, type: GivenColumn['type']): GivenColumn => ({
  name,
  type,
  nullable: false,
});

/** A table that is read once. */
export class BatchTable implements GivenTable {
  /** Rows that were read. */
  rowCount = 0;

  constructor(
    readonly columns: readonly GivenColumn[],
    private readonly batches: Iterator<GivenBatch, void>,
  ) {}

  next(): GivenBatch | null {
    const batch = this.batches.next();
    if (batch.done === true) return null;
    this.rowCount += batch.value.rowCount;
    return batch.value;
  }
}
