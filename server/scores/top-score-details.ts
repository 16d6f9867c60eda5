/** The boards of scores with details: made on request, and kept for up to a minute. */
import { isDamage } from '../../compute/damage.js';
import type { RunTask } from '../../compute/pool.js';
import { DAY_S, HOUR_S } from '../../compute/time.js';
import { readStored } from '../../storage/contract.js';
import { unlessBusy } from '../http/errors.js';
import type { AssetScore } from '../tokens/standing.js';
import type { LiveToken, TokenTable } from '../tokens/token-table.js';
import type { NearCents } from '../../compute/segment/snapshots.js';
import {
  type Boards,
  boardsOf,
  type Rankings,
  rankTokens,
  type TopScore,
  topScore,
} from './top-scores.js';
import { scoresAt } from './score-history.js';
import type { Services } from '../services.js';

/** A board of this age is rebuilt while it is still served; a board of twice this age is not served. */
const REFRESH_AFTER_S = 30;
const HOURS = 24;

/** A time by the clock of market data, and by the process's clock. */
interface Moment {
  nowS: number;
  passedMs: number;
}

export class DetailedScores {
  private current: { boards: Boards; madeAt: Moment } | null = null;
  private making: Promise<Boards> | null = null;

  constructor(private readonly services: Services) {}

  /** The boards, at most a minute old. @throws ApiError 503 `replay_busy` */
  boards(): Boards | Promise<Boards> {
    const { current } = this;
    const ageS = current === null ? Infinity : this.secondsSince(current.madeAt);
    if (current !== null && ageS < REFRESH_AFTER_S) return current.boards;
    const making = (this.making ??= this.make().finally(() => (this.making = null)));
    if (current === null || ageS > 2 * REFRESH_AFTER_S) return making;
    // The next request for the boards gets the reason why there are none.
    making.catch(() => undefined);
    return current.boards;
  }

  private moment(): Moment {
    return { nowS: this.services.clock.nowS(), passedMs: performance.now() };
  }

  /** A frozen clock does not keep boards for ever, since data may come. */
  private secondsSince({ nowS, passedMs }: Moment): number {
    const now = this.moment();
    return Math.max(now.nowS - nowS, (now.passedMs - passedMs) / 1000);
  }

  private async make(): Promise<Boards> {
    const { pool, tokens } = this.services;
    const madeAt = this.moment();
    const rankings = await rankTokens(tokens.table);
    const boards = await unlessBusy(
      pool.schedule('board', 'top-scores', (run) => this.detail(rankings, run)),
    );
    this.current = { boards, madeAt };
    return boards;
  }

  private async detail(rankings: Rankings, run: RunTask): Promise<Boards> {
    const nowS = this.services.clock.nowS();
    const { table } = this.services.tokens;
    const details = new Map<LiveToken, TopScore>();
    for (const { tokens } of Object.values(rankings)) {
      for (const token of tokens) {
        // The token may have lost its score since it was ranked.
        const { asset } = token.standing;
        if (asset === null || details.has(token)) continue;
        details.set(token, { ...topScore(token), ...amountsOf(token, asset, table) });
      }
    }
    for (const [token, item] of details) {
      Object.assign(item, await this.scoresOf(token, nowS, run));
    }
    return boardsOf(rankings, (token) => details.get(token) ?? []);
  }

  private async scoresOf({ details }: LiveToken, nowS: number, run: RunTask) {
    const lastHourS = Math.floor(nowS / HOUR_S) * HOUR_S;
    const hours = Array.from({ length: HOURS }, (_, i) => lastHourS - (HOURS - 1 - i) * HOUR_S);
    const times = [nowS - DAY_S, ...hours];
    try {
      const scores = await readStored(() =>
        scoresAt(this.services, details.address, times, HOUR_S, run),
      );
      const [score_24h_ago = null, ...scores_24h] = scores ?? [];
      return { score_24h_ago, scores_24h };
    } catch (error) {
      // The token's other data are intact.
      if (isDamage(error)) return { score_24h_ago: null, scores_24h: hours.map(() => null) };
      throw error;
    }
  }
}

function amountsOf({ details }: LiveToken, { score, legs }: AssetScore, table: TokenTable) {
  const near = legs.map(({ address }) => table.token(address)?.newest?.within2Pct);
  const usd = (side: keyof NearCents) =>
    near.reduce((cents, own) => cents + (own?.[side] ?? 0), 0) / 100;
  return {
    name: details.name,
    support_usd: score.supportUsd,
    resistance_usd: score.resistanceUsd,
    depth_2pct_usd: { support: usd('support'), resistance: usd('resistance') },
  };
}
