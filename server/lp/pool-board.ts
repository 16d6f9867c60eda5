/** The board of DLMM pools as it stands: what requests look up. */
import type { BoardPeriod, DlmmBoard, DlmmSort } from '../../compute/lp/dlmm-board.js';
import type { DlmmPeriod } from '../../compute/lp/hours.js';
import type { PoolBook } from './pool-book.js';

const NO_ROW = -1;

/** A pool on the board: row `row` of a period. */
export interface BoardRow {
  period: BoardPeriod;
  row: number;
}

export interface RowQuery {
  period: DlmmPeriod;
  sort: DlmmSort;
  /** USD; a row's TVL is this at the least. */
  minTvlUsd: number;
  /** Pools that hold this mint, on either side; null: all. */
  mint: string | null;
  maxRows: number;
}

/** Nothing of it changes: other data are another board. */
export class PoolBoard {
  /** Row of the period by pool, where it has been asked for. */
  private readonly rows = new Map<DlmmPeriod, Int32Array>();

  /**
   * @param revision differs from board to board
   * @param board of the book's pools; null where no pool has an hour in sight
   */
  constructor(
    readonly revision: number,
    readonly book: PoolBook,
    private readonly board: DlmmBoard | null,
  ) {}

  /** The best rows, by `sort` descending, those without a value last, ties by address. */
  best({ period: name, sort, minTvlUsd, mint, maxRows }: RowQuery): BoardRow[] {
    const period = this.board?.periods[name];
    if (period === undefined) return [];
    const wanted = mint === null ? null : new Set(this.book.ofMint.get(mint) ?? []);
    const found: BoardRow[] = [];
    for (const row of period.order[sort]) {
      if (found.length === maxRows) break;
      if (!(period.tvl[row] >= minTvlUsd)) continue;
      if (wanted === null || wanted.has(period.pool[row])) found.push({ period, row });
    }
    return found;
  }

  /** A pool's row of a period; null where it has no hour in it. */
  rowOf(name: DlmmPeriod, pool: number): BoardRow | null {
    const period = this.board?.periods[name];
    if (period === undefined) return null;
    let rows = this.rows.get(name);
    if (rows === undefined) {
      rows = new Int32Array(this.book.pools.length).fill(NO_ROW);
      for (let row = 0; row < period.pool.length; row++) rows[period.pool[row]] = row;
      this.rows.set(name, rows);
    }
    return rows[pool] === NO_ROW ? null : { period, row: rows[pool] };
  }

  /** The period's columns; null where no pool is on the board. */
  period(name: DlmmPeriod): BoardPeriod | null {
    return this.board?.periods[name] ?? null;
  }

  /** Pools of the store that share the pool's base token, itself included. */
  poolsOfBase(pool: number): number {
    return this.board?.poolsOfBase[this.book.columns.base[pool]] ?? 0;
  }
}
