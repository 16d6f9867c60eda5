/** Builds the board of DLMM pools from what is stored of them; the work itself is the pool's. */
import { joinRanges } from '../../compute/lp/pool-range.js';
import { hourOf, hoursInSight, thisHour } from '../../compute/lp/hours.js';
import type { ComputePool } from '../../compute/pool.js';
import type { DlmmHourColumns, LpSource } from '../../storage/contract.js';
import type { Clock } from '../clock.js';
import { Turns } from '../turns.js';
import { PoolBoard } from './pool-board.js';
import { EMPTY_BOOK, indexesOf, makePoolBook, poolsByBase, type PoolBook } from './pool-book.js';
import type { RangeBook } from './range-book.js';
import { FIRST_RANGES_WAIT_MS, RANGES_WAIT_MS } from './waits.js';

export interface PoolBoardServices {
  source: Pick<LpSource, 'dlmmPools' | 'dlmmHours'>;
  ranges: RangeBook;
  pool: Pick<ComputePool, 'run'>;
  clock: Clock;
  /** Mints, the one that is quote before all others first. */
  quotes: readonly string[];
}

export class PoolBoardBuilder {
  private book: PoolBook = EMPTY_BOOK;
  private hours: DlmmHourColumns | null = null;
  /** The clock's hour when the hours were read. */
  private hourS = 0;
  private readonly stale = { pools: true, hours: true };
  private revisions = 0;
  private waiting = false;

  constructor(private readonly services: PoolBoardServices) {}

  /** Takes note of a commit; the next build reads what has changed. */
  change({ dlmmPools, dlmmHours }: { dlmmPools: boolean; dlmmHours: boolean }): void {
    this.stale.pools ||= dlmmPools;
    this.stale.hours ||= dlmmHours;
  }

  /** Whether a build is under way that has not looked at ranges yet. */
  get waitsForRanges(): boolean {
    return this.waiting;
  }

  /** Whether the clock's hour is another one than when the hours were read. */
  isOfAnotherHour(): boolean {
    return this.hours !== null && hourOf(this.services.clock.nowS()) !== this.hourS;
  }

  /** @throws Error where the store or the pool fails; the next build starts over with that */
  async build(): Promise<{ board: PoolBoard; costMs: number }> {
    const { ranges, pool } = this.services;
    let startMs = performance.now();
    const nowS = this.services.clock.nowS();
    const hours = await this.read(nowS);
    const { book } = this;
    const revision = ++this.revisions;
    const indexes = await indexesOf(book, hours.pubkeys, new Turns());
    const thisHourS = thisHour(nowS, hourTest(indexes, hours));
    ranges.wantPools(poolsByBase(book, indexes), hoursToCome(thisHourS, nowS));
    const loadMs = performance.now() - startMs;
    this.waiting = true;
    await ranges.ready(revision === 1 ? FIRST_RANGES_WAIT_MS : RANGES_WAIT_MS);
    this.waiting = false;
    startMs = performance.now();
    const board =
      book.pools.length === 0 || hours.hour.length === 0
        ? null
        : await pool.run('dlmmBoard', {
            pools: book.columns,
            hours,
            ranges: joinRanges(ranges.poolRanges(thisHourS), thisHourS),
            thisHourS,
          });
    const costMs = loadMs + performance.now() - startMs;
    return { board: new PoolBoard(revision, book, board), costMs };
  }

  private async read(nowS: number): Promise<DlmmHourColumns> {
    const { source, quotes } = this.services;
    const stale = { ...this.stale };
    const hourS = hourOf(nowS);
    Object.assign(this.stale, { pools: false, hours: false });
    try {
      if (stale.pools) {
        this.book = await makePoolBook(await source.dlmmPools(), quotes, new Turns());
      }
      if (stale.hours || this.hours === null || hourS !== this.hourS) {
        const { firstHourS, lastHourS } = hoursInSight(nowS);
        const read = await source.dlmmHours(firstHourS, lastHourS);
        this.hours = await sharedColumns(read, new Turns());
        this.hourS = hourS;
      }
      return this.hours;
    } catch (error) {
      this.change({ dlmmPools: stale.pools, dlmmHours: stale.hours });
      throw error;
    }
  }
}

/** Whether a pool of the book has a row of an hour. */
function hourTest(indexes: Int32Array, { pool, hour }: DlmmHourColumns) {
  return (hourS: number) => hour.some((rowHourS, i) => rowHourS === hourS && indexes[pool[i]] >= 0);
}

/** The columns in memory that the pool's threads read without a copy, moved there in turns. */
async function sharedColumns(hours: DlmmHourColumns, turns: Turns): Promise<DlmmHourColumns> {
  const shared = { ...hours };
  for (const name of ['pool', 'hour'] as const) {
    shared[name] = new Uint32Array(new SharedArrayBuffer(hours[name].byteLength));
    shared[name].set(hours[name]);
    await turns.take();
  }
  for (const name of ['feesUsd', 'volumeUsd', 'tvlUsd'] as const) {
    shared[name] = new Float64Array(new SharedArrayBuffer(hours[name].byteLength));
    shared[name].set(hours[name]);
    await turns.take();
  }
  return shared;
}

/** This hour, and the one that becomes it with the first row of a pool. */
function hoursToCome(thisHourS: number, nowS: number): number[] {
  return [...new Set([thisHourS, hourOf(nowS)])];
}
