/** Builds the boards of LP fee density; the work itself is the pool's. */
import {
  denominatorsOf,
  densityTokens,
  feeDensityBoards,
  type Denominators,
  type FeeDensityBoards,
} from '../../compute/lp/fee-density.js';
import { hourOf, hoursInSight, thisHour } from '../../compute/lp/hours.js';
import type { HourPrices } from '../../compute/lp/price-range.js';
import type { ComputePool } from '../../compute/pool.js';
import type { LpSource, TokenHourColumns } from '../../storage/contract.js';
import { MAX_DENSITY_ROWS } from './lp-cheat-sheet.js';
import type { Clock } from '../clock.js';
import type { TokenTable, NewestSnapshot } from '../tokens/token-table.js';
import { Turns } from '../turns.js';
import type { RangeBook } from './range-book.js';
import { FIRST_RANGES_WAIT_MS, RANGES_WAIT_MS } from './waits.js';

export interface DensityServices {
  source: Pick<LpSource, 'tokenHours'>;
  state: Pick<TokenTable, 'token'>;
  ranges: RangeBook;
  pool: Pick<ComputePool, 'run'>;
  clock: Clock;
}

/** Nothing of it changes: other data are another board. */
export interface DensityBoard {
  /** Differs from board to board. */
  revision: number;
  /** `token` of the boards' rows indexes it. */
  addresses: readonly string[];
  boards: FeeDensityBoards;
}

/** A token's denominators, and what they were worked out from. */
interface KnownToken {
  newest: NewestSnapshot;
  prices: HourPrices | null;
  thisHourS: number;
  denominators: Denominators;
}

export class DensityBoardBuilder {
  private hours: TokenHourColumns | null = null;
  /** The clock's hour when the hours were read. */
  private hourS = 0;
  private stale = true;
  private known = new Map<string, KnownToken>();
  private listed: ReadonlySet<string> = new Set();
  private revisions = 0;
  private waiting = false;

  constructor(private readonly services: DensityServices) {}

  /** Takes note of a commit of hours; the next build reads them. */
  change(): void {
    this.stale = true;
  }

  /** Whether a build is under way that has not looked at ranges yet. */
  get waitsForRanges(): boolean {
    return this.waiting;
  }

  /** Whether the clock's hour is another one than when the hours were read. */
  isOfAnotherHour(): boolean {
    return this.hours !== null && hourOf(this.services.clock.nowS()) !== this.hourS;
  }

  /** Whether a token that has hours has another newest snapshot than on the board. */
  hasNewDepth(address: string): boolean {
    if (!this.listed.has(address)) return false;
    const newest = this.services.state.token(address)?.newest ?? null;
    return newest !== (this.known.get(address)?.newest ?? null);
  }

  /** @throws Error where the store or the pool fails; the next build starts over with that */
  async build(): Promise<{ board: DensityBoard; costMs: number }> {
    const { ranges, pool, clock } = this.services;
    let startMs = performance.now();
    const nowS = clock.nowS();
    const hours = await this.read(nowS);
    this.listed = new Set(hours.addresses);
    ranges.wantPrices(hours.addresses);
    const loadMs = performance.now() - startMs;
    const revision = ++this.revisions;
    this.waiting = true;
    await ranges.ready(revision === 1 ? FIRST_RANGES_WAIT_MS : RANGES_WAIT_MS);
    this.waiting = false;
    startMs = performance.now();
    const thisHourS = thisHour(nowS, (hourS) => hours.hour.includes(hourS));
    const tokens = await this.denominators(hours.addresses, thisHourS);
    const input = {
      tokens: densityTokens(tokens),
      hours,
      thisHourS,
      maxRows: MAX_DENSITY_ROWS,
    };
    const boards =
      tokens.length === 0 ? feeDensityBoards(input) : await pool.run('feeDensityBoards', input);
    const { addresses } = input.tokens;
    const costMs = loadMs + performance.now() - startMs;
    return { board: { revision, addresses, boards }, costMs };
  }

  private async read(nowS: number): Promise<TokenHourColumns> {
    const hourS = hourOf(nowS);
    if (!this.stale && this.hours !== null && hourS === this.hourS) return this.hours;
    this.stale = false;
    try {
      const { firstHourS, lastHourS } = hoursInSight(nowS);
      this.hours = await this.services.source.tokenHours(firstHourS, lastHourS);
      this.hourS = hourS;
      return this.hours;
    } catch (error) {
      this.stale = true;
      throw error;
    }
  }

  /** Of the tokens that have a snapshot; worked out anew where something of it is another. */
  private async denominators(addresses: readonly string[], thisHourS: number) {
    const { state, ranges } = this.services;
    const turns = new Turns();
    const known = new Map<string, KnownToken>();
    for (const address of addresses) {
      const newest = state.token(address)?.newest ?? null;
      if (newest === null || newest.pools === null) continue;
      const prices = ranges.prices(address);
      const before = this.known.get(address);
      const isSame =
        before?.newest === newest && before.prices === prices && before.thisHourS === thisHourS;
      known.set(
        address,
        isSame
          ? before
          : {
              newest,
              prices,
              thisHourS,
              denominators: denominatorsOf(
                { priceUsd: newest.priceUsd, pools: newest.pools },
                prices,
                thisHourS,
              ),
            },
      );
      await turns.take();
    }
    this.known = known;
    return Array.from(known, ([address, { denominators }]) => ({ address, denominators }));
  }
}
