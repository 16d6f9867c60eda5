/** The rows of an export's files of scores: what GET /score/:address?at= says at the time of each snapshot. */
import { ladderOfSums, sumSnapshots, widthOfSums } from '../../compute/depth/depth-series.js';
import type { Market } from '../../compute/market.js';
import {
  isScored,
  MAX_LEG_AGE_S,
  mergeLadders,
  type ScoreLadder,
  scoreOfLadder,
} from '../../compute/scores/score.js';
import { marketMask } from '../../compute/segment/snapshots.js';
import type { GivenBatch, GivenColumn } from '../duckdb/given-columns.js';
import { number } from './batch-table.js';
import { type DayPlan, piecesOf, type Planned } from './depth-plan.js';
import type { StagedBlocks } from './staged-blocks.js';

export const SCORE_COLUMNS: readonly GivenColumn[] = [
  number('t', 'BIGINT'),
  number('price_usd', 'DOUBLE'),
  number('service_score', 'DOUBLE'),
  number('support_usd', 'DOUBLE'),
  number('resistance_usd', 'DOUBLE'),
  number('depth_usd', 'DOUBLE'),
  number('timestamp', 'TIMESTAMP_MS'),
];

/** A snapshot's part of a score. */
interface Scorable {
  t: number;
  priceUsd: number;
  ladder: ScoreLadder;
}

/**
 * A row for each snapshot of a plan, segment by segment.
 * @param own the token's markets, in order of first arrival
 * @param ofLeg those of the asset's other leg
 */
export function* scoreBatches(
  plan: DayPlan,
  own: readonly Market[],
  ofLeg: readonly Market[],
  blocks: StagedBlocks,
): Generator<GivenBatch, void> {
  const leg = new NewestOf(plan.leg, ofLeg, blocks);
  for (const snapshots of scorable(plan, own, blocks)) {
    const scores = snapshots.map(({ t, ladder }) => {
      const other = leg.at(t);
      const counts = other !== null && t - other.t <= MAX_LEG_AGE_S;
      return scoreOfLadder(mergeLadders(counts ? [ladder, other.ladder] : [ladder]));
    });
    yield {
      rowCount: snapshots.length,
      columns: [
        BigInt64Array.from(snapshots, ({ t }) => BigInt(t)),
        Float64Array.from(snapshots, ({ priceUsd }) => priceUsd),
        Float64Array.from(scores, ({ score }) => score),
        Float64Array.from(scores, ({ supportUsd }) => supportUsd),
        Float64Array.from(scores, ({ resistanceUsd }) => resistanceUsd),
        Float64Array.from(scores, ({ depthUsd }) => depthUsd),
        BigInt64Array.from(snapshots, ({ t }) => BigInt(t) * 1000n),
      ],
    };
  }
}

/** The newest of some snapshots at times that never fall; reads a segment of them at a time. */
class NewestOf {
  private readonly segments: Iterator<Scorable[], void>;
  private read: Scorable[] = [];
  private i = 0;
  private newest: Scorable | null = null;

  constructor(planned: Planned | undefined, markets: readonly Market[], blocks: StagedBlocks) {
    const none = { snapshots: [], segmentIds: [] };
    this.segments = scorable(planned ?? none, markets, blocks);
  }

  at(t: number): Scorable | null {
    for (;;) {
      for (; this.i < this.read.length; this.i++) {
        if (this.read[this.i].t > t) return this.newest;
        this.newest = this.read[this.i];
      }
      const next = this.segments.next();
      if (next.done === true) return this.newest;
      this.read = next.value;
      this.i = 0;
    }
  }
}

function* scorable(
  planned: Planned,
  markets: readonly Market[],
  blocks: StagedBlocks,
): Generator<Scorable[], void> {
  const sums = { kind: 'score', mask: marketMask(markets, isScored) } as const;
  const width = widthOfSums(sums);
  let at = 0;
  for (const { segmentId, rows } of piecesOf(planned)) {
    const times = planned.snapshots.slice(at, (at += rows.length)).map(({ t }) => t);
    const selection = { run: rows.map(() => 0), row: rows, t: times };
    const done = sumSnapshots({ segments: [blocks.block(segmentId)], selection, sums });
    if (done.status === 'cancelled') throw new Error('the sums of a segment were cancelled');
    const { numbers } = done;
    yield times.map((t, i) => {
      return { t, priceUsd: numbers[i * width], ladder: ladderOfSums(numbers, i * width) };
    });
  }
}
