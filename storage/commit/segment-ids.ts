import type { Database } from '../duckdb/database.js';

/** Hands out segment ids, each once in a store's life in this process. */
export class SegmentIds {
  private constructor(private last: number) {}

  static async load(database: Database, listedId: number): Promise<SegmentIds> {
    const [[last]] = await database.rows('SELECT max(segment_id) FROM segments');
    // An id that is listed must not come again, even where its segment is gone.
    return new SegmentIds(Math.max((last as number | null) ?? 0, listedId));
  }

  /** The last one that was handed out. */
  get latest(): number {
    return this.last;
  }

  next(): number {
    return ++this.last;
  }
}
