import type { Database } from '../duckdb/database.js';

/** Hands out segment ids, each once in a store's life in this process. */
export class SegmentIds {
  private constructor(private last: number) {}

  static async load(database: Database): Promise<SegmentIds> {
    const [[last]] = await database.rows('SELECT max(segment_id) FROM segments');
    return new SegmentIds((last as number | null) ?? 0);
  }

  next(): number {
    return ++this.last;
  }
}
