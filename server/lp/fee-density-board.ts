/** The boards of LP fee density in memory; the pool computes them. */
import {
  type Denominators,
  denominatorsOf,
  densityTokens,
  feeDensityBoards,
  type FeeDensityBoards,
  type TokenHours,
} from '../../compute/lp/fee-density.js';
import { thisHour } from '../../compute/lp/hours.js';
import type { HourPrices } from '../../compute/lp/price-range.js';
import type { ComputePool } from '../../compute/pool.js';
import type { LpSource } from '../../storage/contract.js';
import type { Clock } from '../clock.js';
import type { NewestSnapshot, TokenTable } from '../tokens/token-table.js';
import { joinTexts, Turns } from '../../storage/turns.js';
import { HoursInSight } from './hours-in-sight.js';
import type { RangeBook } from './range-book.js';

export const MAX_DENSITY_ROWS = 100;

/** The boards of every window and denominator. Immutable. */
export interface FeeDensityBoard {
  /** `token` of the boards' rows indexes it. */
  addresses: readonly string[];
  boards: FeeDensityBoards;
}

interface FeeDensityServices {
  source: Pick<LpSource, 'tokenHours'>;
  tokens: Pick<TokenTable, 'token'>;
  ranges: RangeBook;
  workers: Pick<ComputePool, 'run'>;
  clock: Clock;
}

/** A token's denominators, and the data they come from. */
interface KnownToken {
  newest: NewestSnapshot;
  prices: HourPrices | null;
  thisHourS: number;
  denominators: Denominators;
}

const NO_HOURS = {
  addresses: [],
  token: new Uint32Array(),
  hour: new Uint32Array(),
  organicVolumeUsd: new Float64Array(),
};

export class FeeDensityBuilder {
  readonly hours: HoursInSight<TokenHours>;
  /** Tokens that have hours. */
  private listed: ReadonlySet<string> = new Set();
  private known = new Map<string, KnownToken>();
  /** Whether the current build waits for ranges. */
  waitsForRanges = false;
  /** Whether a board has been built with the ranges of all tokens. */
  isWhole = false;

  constructor(private readonly services: FeeDensityServices) {
    const { source, clock } = services;
    this.hours = new HoursInSight(clock, (first, last) => source.tokenHours(first, last));
  }

  /** Whether a token with hours has a newer snapshot than the board. */
  hasNewDepth(address: string): boolean {
    if (!this.listed.has(address)) return false;
    const newest = this.services.tokens.token(address)?.newest ?? null;
    return newest !== (this.known.get(address)?.newest ?? null);
  }

  /** @throws Error if the store or the pool fails; the next build retries */
  async build(): Promise<{ value: FeeDensityBoard; costMs: number }> {
    const { ranges, workers, clock } = this.services;
    let startMs = performance.now();
    const nowS = clock.nowS();
    const hours = await this.hours.read(nowS);
    this.listed = await setOf(hours.addresses);
    await ranges.wantPrices(this.listed);
    const loadMs = performance.now() - startMs;
    this.waitsForRanges = true;
    const hasRanges = await ranges.ready('prices', { first: !this.isWhole });
    this.waitsForRanges = false;
    startMs = performance.now();
    const thisHourS = thisHour(nowS, (hourS) => hours.hour.includes(hourS));
    this.known = await this.denominators(hours.addresses, thisHourS);
    const tokens = densityTokens(
      Array.from(this.known, ([address, { denominators }]) => ({ address, denominators })),
    );
    const input = { tokens, hours, thisHourS, maxRows: MAX_DENSITY_ROWS };
    const boards =
      this.known.size === 0
        ? feeDensityBoards({ ...input, hours: NO_HOURS })
        : await workers.run('feeDensityBoards', {
            ...input,
            tokens: { ...tokens, addresses: await joinTexts(tokens.addresses) },
            hours: { ...hours, addresses: await joinTexts(hours.addresses) },
          });
    this.isWhole ||= hasRanges;
    const costMs = loadMs + performance.now() - startMs;
    return { value: { addresses: tokens.addresses, boards }, costMs };
  }

  /** The denominators of tokens with a snapshot; unchanged tokens keep theirs. */
  private async denominators(addresses: readonly string[], thisHourS: number) {
    const { tokens, ranges } = this.services;
    const turns = new Turns();
    const known = new Map<string, KnownToken>();
    for (const address of addresses) {
      const newest = tokens.token(address)?.newest ?? null;
      if (newest === null || newest.pools === null) continue;
      const { priceUsd, pools } = newest;
      const prices = ranges.prices(address);
      const before = this.known.get(address);
      const isSame =
        before?.newest === newest && before.prices === prices && before.thisHourS === thisHourS;
      const denominators = isSame
        ? before.denominators
        : denominatorsOf({ priceUsd, pools }, prices, thisHourS);
      known.set(address, { newest, prices, thisHourS, denominators });
      await turns.take();
    }
    return known;
  }
}

async function setOf(items: readonly string[]): Promise<Set<string>> {
  const turns = new Turns();
  const set = new Set<string>();
  for (const item of items) {
    set.add(item);
    await turns.take();
  }
  return set;
}
