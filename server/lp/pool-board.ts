/** The board of DLMM pools in memory: the pools and their rows by period. */
import { LargeMap } from '../../compute/large-map.js';
import { pushTo } from '../../compute/collections.js';
import type { BoardPeriod, DlmmBoard, DlmmSort, PoolHours } from '../../compute/lp/dlmm-board.js';
import { BoardPoolList, type BoardPools, type DlmmPool } from '../../compute/lp/dlmm-pool.js';
import { hourOf, thisHour, type DlmmPeriod } from '../../compute/lp/hours.js';
import { joinRanges } from '../../compute/lp/pool-range.js';
import type { ComputePool } from '../../compute/pool.js';
import type { LpSource } from '../../storage/contract.js';
import type { Clock } from '../clock.js';
import { joinTexts, sortInTurns, Turns } from '../../storage/turns.js';
import { HoursInSight } from './hours-in-sight.js';
import type { RangeBook } from './range-book.js';

/** A pool on the board: row `row` of a period. */
export interface BoardRow {
  period: BoardPeriod;
  row: number;
}

interface RowQuery {
  period: DlmmPeriod;
  sort: DlmmSort;
  /** Least TVL of a row, USD. */
  minTvlUsd: number;
  /** Only pools with this mint on either side; null: all. */
  mint: string | null;
  maxRows: number;
}

const NO_ROW = -1;

/** Immutable. */
export class PoolBoard {
  /** Rows of the last hour by pool; null until the first look-up. */
  private rows: Int32Array | null = null;

  /** @param board of the book's pools; null if no pool has an hour in sight */
  constructor(
    readonly book: PoolBook,
    private readonly board: DlmmBoard | null,
  ) {}

  /** The best rows: descending by `sort`, rows without a value last, ties by address. */
  best({ period: name, sort, minTvlUsd, mint, maxRows }: RowQuery): BoardRow[] {
    const period = this.period(name);
    if (period === null) return [];
    const wanted = mint === null ? null : new Set(this.book.ofMint.get(mint) ?? []);
    const found: BoardRow[] = [];
    for (const row of period.order[sort]) {
      if (found.length === maxRows) break;
      if (!(period.tvl[row] >= minTvlUsd)) continue;
      if (wanted === null || wanted.has(period.pool[row])) found.push({ period, row });
    }
    return found;
  }

  /** A pool's row of the last hour; null if it has none. */
  hourOf(pool: number): BoardRow | null {
    const period = this.period('1h');
    if (period === null) return null;
    this.rows ??= rowsByPool(period, this.book.pools.length);
    const row = this.rows[pool];
    return row === NO_ROW ? null : { period, row };
  }

  /** The period's columns; null if no pool is on the board. */
  period(name: DlmmPeriod): BoardPeriod | null {
    return this.board?.periods[name] ?? null;
  }

  /** How many pools share the pool's base token, itself included. */
  poolsOfBase(pool: number): number {
    return this.board?.poolsOfBase[this.book.columns.base[pool]] ?? 0;
  }
}

function rowsByPool({ pool }: BoardPeriod, pools: number): Int32Array {
  const rows = new Int32Array(pools).fill(NO_ROW);
  for (let row = 0; row < pool.length; row++) rows[pool[row]] = row;
  return rows;
}

/** The stored DLMM pools. Immutable. */
interface PoolBook {
  /** Ascending by pubkey. */
  pools: readonly DlmmPool[];
  /** The same pools as input of the board's task. */
  columns: BoardPools;
  /** Indexes of the pools with a mint on either side, ascending. */
  ofMint: Pick<LargeMap<string, readonly number[]>, 'get'>;
  indexOf: Pick<LargeMap<string, number>, 'get'>;
}

async function makePoolBook(
  unordered: readonly DlmmPool[],
  quotes: readonly string[],
): Promise<PoolBook> {
  const turns = new Turns();
  const pools = await sortInTurns(unordered, (a, b) => (a.pubkey < b.pubkey ? -1 : 1), turns);
  const ofMint = new LargeMap<string, number[]>();
  const indexOf = new LargeMap<string, number>();
  const list = new BoardPoolList(quotes);
  for (const [index, pool] of pools.entries()) {
    const { pubkey, tokenXMint, tokenYMint } = pool;
    list.add(pool);
    indexOf.set(pubkey, index);
    for (const mint of new Set([tokenXMint, tokenYMint])) pushTo(ofMint, mint, index);
    await turns.take();
  }
  return { pools, columns: list.columns(), ofMint, indexOf };
}

interface PoolBoardServices {
  source: Pick<LpSource, 'dlmmPools' | 'dlmmHours'>;
  ranges: RangeBook;
  workers: Pick<ComputePool, 'run'>;
  clock: Clock;
  /** Mints of quote tokens, highest rank first. */
  quotes: readonly string[];
}

/** Builds the board from the stored pools and hours, in the compute pool. */
export class PoolBoardBuilder {
  readonly hours: HoursInSight<PoolHours>;
  private book: PoolBook = {
    pools: [],
    columns: new BoardPoolList([]).columns(),
    ofMint: new Map(),
    indexOf: new Map(),
  };
  private hasNewPools = true;
  /** Whether the current build waits for ranges. */
  waitsForRanges = false;
  /** Whether a board has been built with the ranges of all tokens. */
  isWhole = false;

  constructor(private readonly services: PoolBoardServices) {
    const { source, clock } = services;
    this.hours = new HoursInSight(clock, async (firstHourS, lastHourS) =>
      sharedColumns(await source.dlmmHours(firstHourS, lastHourS)),
    );
  }

  /** Marks the pools as changed by a commit: the next build reads them. */
  changePools(): void {
    this.hasNewPools = true;
  }

  /** @throws Error if the store or the pool fails; the next build retries */
  async build(): Promise<{ value: PoolBoard; costMs: number }> {
    const { ranges, workers } = this.services;
    let startMs = performance.now();
    const nowS = this.services.clock.nowS();
    const book = await this.readPools();
    const hours = await this.hours.read(nowS);
    const indexes = await indexesOf(book, hours.pubkeys);
    const thisHourS = thisHour(nowS, (hourS) =>
      hours.hour.some((rowHourS, i) => rowHourS === hourS && indexes[hours.pool[i]] >= 0),
    );
    // The current hour becomes 'this hour' with its first row.
    const thisHours = [...new Set([thisHourS, hourOf(nowS)])];
    await ranges.wantPools(await poolsByBase(book, indexes), thisHours);
    const loadMs = performance.now() - startMs;
    this.waitsForRanges = true;
    const hasRanges = await ranges.ready('pools', { first: !this.isWhole });
    this.waitsForRanges = false;
    startMs = performance.now();
    const joined = joinRanges(ranges.poolRanges(thisHourS), thisHourS);
    const board =
      book.pools.length === 0 || hours.hour.length === 0
        ? null
        : await workers.run('dlmmBoard', {
            pools: {
              ...book.columns,
              pubkeys: await joinTexts(book.columns.pubkeys),
              baseMints: await joinTexts(book.columns.baseMints),
            },
            hours: { ...hours, pubkeys: await joinTexts(hours.pubkeys) },
            ranges: { ...joined, pubkeys: await joinTexts(joined.pubkeys) },
            thisHourS,
          });
    this.isWhole ||= hasRanges;
    const costMs = loadMs + performance.now() - startMs;
    return { value: new PoolBoard(book, board), costMs };
  }

  private async readPools(): Promise<PoolBook> {
    if (!this.hasNewPools) return this.book;
    this.hasNewPools = false;
    try {
      const { source, quotes } = this.services;
      this.book = await makePoolBook(await source.dlmmPools(), quotes);
      return this.book;
    } catch (error) {
      this.hasNewPools = true;
      throw error;
    }
  }
}

/** Copies the columns into memory that threads share. */
async function sharedColumns(hours: PoolHours): Promise<PoolHours> {
  const turns = new Turns();
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

/** Indexes of the pools by pubkey; -1 for one that is not in the book. */
async function indexesOf({ indexOf }: PoolBook, pubkeys: readonly string[]): Promise<Int32Array> {
  const turns = new Turns();
  const indexes = new Int32Array(pubkeys.length);
  for (let i = 0; i < pubkeys.length; i++) {
    indexes[i] = indexOf.get(pubkeys[i]) ?? -1;
    await turns.take();
  }
  return indexes;
}

/** Pubkeys of the pools at `indexes`, by base token, ascending; -1 is skipped. */
async function poolsByBase(
  { pools, columns: { base, baseMints } }: PoolBook,
  indexes: Int32Array,
): Promise<Map<string, string[]>> {
  const turns = new Turns();
  const byBase = new Map<string, string[]>();
  for (const index of indexes.filter((i) => i >= 0).sort()) {
    pushTo(byBase, baseMints[base[index]], pools[index].pubkey);
    await turns.take();
  }
  return byBase;
}
