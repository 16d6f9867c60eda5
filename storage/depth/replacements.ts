/** Counts the stored snapshots that a transaction replaces, and compares their cells by market. */
import type { Market, Tier } from '../../compute/market.js';
import type { ReplacedSnapshots } from '../../compute/segment/replaced.js';
import type { Replaced } from '../operations.js';
import { LossError } from '../errors.js';
import { rowAt } from './directory.js';
import { marketName } from './market-names.js';
import type { StagedToken } from './stage.js';

/** Cells of one market in the replaced snapshots. */
interface MarketCells {
  token: StagedToken;
  market: Market;
  snapshots: number;
  before: number;
  after: number;
}

/** Markets named in a refusal. */
const MAX_NAMED = 10;

export class Replacements {
  readonly replaced: Replaced = { snapshots: 0, cellsBefore: 0, cellsAfter: 0 };
  /** By segment stored before the transaction: 1 if the snapshot was counted. */
  private readonly counted = new Map<number, Uint8Array>();
  private readonly markets = new Map<string, MarketCells>();

  /** Counts snapshots of one tier; for a snapshot that is replaced again, only the newest cells count. */
  add(token: StagedToken, tier: Tier, found: ReplacedSnapshots): void {
    for (const [s, t] of found.t.entries()) {
      const stored = rowAt(token.stored[tier], t);
      // An earlier part of the same file added it.
      if (stored === null) continue;
      const { segmentId, times } = stored.ref;
      const counted = this.counted.get(segmentId) ?? new Uint8Array(times.length);
      this.counted.set(segmentId, counted);
      const isFirst = counted[stored.row] === 0;
      counted[stored.row] = 1;
      if (isFirst) this.replaced.snapshots++;
      for (let i = found.offsets[s]; i < found.offsets[s + 1]; i++) {
        this.addMarket(token, found.market[i], found.before[i], found.after[i], isFirst);
      }
    }
  }

  /** @throws LossError if the snapshots of a market would keep less than half of their cells */
  checkLoss(): void {
    const lost = [...this.markets.values()].filter(({ before, after }) => 2 * after < before);
    if (lost.length === 0) return;
    const lines = lost.slice(0, MAX_NAMED).map(lossText);
    if (lost.length > MAX_NAMED) lines.push(`and ${lost.length - MAX_NAMED} more markets`);
    throw new LossError(lines);
  }

  private addMarket(
    token: StagedToken,
    index: number,
    before: number,
    after: number,
    isFirst: boolean,
  ): void {
    const key = `${token.tokenId}:${index}`;
    const cells = this.markets.get(key) ?? {
      token,
      market: token.markets[index],
      snapshots: 0,
      before: 0,
      after: 0,
    };
    this.markets.set(key, cells);
    if (isFirst) {
      cells.snapshots++;
      cells.before += before;
      this.replaced.cellsBefore += before;
    }
    const change = isFirst ? after : after - before;
    cells.after += change;
    this.replaced.cellsAfter += change;
  }
}

function lossText({ token, market, snapshots, before, after }: MarketCells): string {
  const { chain, address } = token.row;
  return `${marketName(market)} of ${chain}:${address}: ${snapshots} stored snapshots with ${before} cells would be replaced by ones with ${after}, less than half`;
}
