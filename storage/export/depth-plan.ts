/** Which snapshots of a token's depth each file of an export holds: those that pages show (docs/definitions.md#replay-tiers). */
import { createHash } from 'node:crypto';
import { type Market, type Tier, TIER_LENGTH_S, TIERS } from '../../compute/market.js';
import { DAY_S } from '../../compute/time.js';
import type { PlannedSnapshot } from '../contract.js';
import { EMPTY_DIRECTORY, planSnapshots } from '../depth/directory.js';
import { type ExportView, dayOf } from './layout.js';
import type { ExportDirectory, ExportSource, ExportToken } from './source.js';

/** Days of a directory that are read at once. */
const DAYS_AT_ONCE = 32;
/** A finer snapshot hides coarser ones that lie less than this before it. */
export const HIDING_S = Math.max(...Object.values(TIER_LENGTH_S));

/** Some snapshots of a token. */
export interface Planned {
  /** In order of time. */
  snapshots: readonly PlannedSnapshot[];
  /** The segments that they index. */
  segmentIds: readonly number[];
}

/** A day's snapshots of one tier. */
export interface DayPlan extends Planned {
  tier: Tier;
  dayS: number;
  /** For scores: those of the asset's other leg that may count with them. */
  leg?: Planned;
}

/**
 * The times that decide which snapshots a day has: a step that ends on it may begin the day before, and its last step
 * ends with the first second of the next day.
 */
export function reachOfDay(dayS: number, stepS: number | null): { fromS: number; toS: number } {
  if (stepS === null) return { fromS: dayS, toS: dayS + DAY_S };
  return { fromS: Math.max(0, dayS - (stepS - 1)), toS: dayS + DAY_S + 1 };
}

const NOTHING: ExportDirectory = { directory: EMPTY_DIRECTORY, span: null, markets: [] };

/** Reads one token's directory, a few weeks at a time. */
export class TokenPlans {
  /** The token's markets in order of first arrival. */
  markets: readonly Market[] = [];
  private part = NOTHING;
  private partFromS = 0;
  private partToS = 0;

  constructor(
    private readonly source: ExportSource,
    private readonly token: ExportToken,
    private readonly view: ExportView,
    private readonly nowS: number,
  ) {}

  /** Time of the token's first and last stored snapshots; null without any. */
  async span(): Promise<ExportDirectory['span']> {
    if (this.part === NOTHING) await this.load(0, 0);
    return this.part.span;
  }

  /** Forgets what was read: segments were replaced. */
  forget(): void {
    this.partToS = this.partFromS = 0;
  }

  /**
   * The snapshots of one day in `fromS <= t < toS` (within reachOfDay()), by tier; tiers without any are left out.
   * @param dayS the first second of the day
   */
  async plan(dayS: number, fromS: number, toS: number): Promise<DayPlan[]> {
    const { step_s: stepS } = this.view;
    const reach = reachOfDay(dayS, stepS);
    const begin = Math.max(fromS, reach.fromS);
    const end = Math.min(toS, reach.toS);
    await this.load(begin, end);
    const { segmentIds, snapshots } = planSnapshots(this.part.directory, {
      fromS: begin,
      toS: end,
      nowS: this.nowS,
      maxSnapshots: Infinity,
      ...(stepS === null ? {} : { stepS }),
    });
    const own = snapshots.filter(({ t }) => dayOf(t) === dayS);
    return TIERS.flatMap((tier) => {
      const ofTier = own.filter((snapshot) => snapshot.tier === tier);
      return ofTier.length === 0 ? [] : [{ tier, dayS, segmentIds, snapshots: ofTier }];
    });
  }

  /** The shown snapshots in `fromS <= t < toS`, of all tiers. */
  async shown(fromS: number, toS: number): Promise<Planned> {
    await this.load(fromS, toS);
    const window = { fromS, toS, nowS: this.nowS, maxSnapshots: Infinity };
    return planSnapshots(this.part.directory, window);
  }

  private async load(fromS: number, toS: number): Promise<void> {
    if (fromS >= this.partFromS && toS <= this.partToS && toS > 0) return;
    const { chain, address } = this.token;
    const [partFromS, partToS] = [fromS, Math.max(toS, fromS + DAYS_AT_ONCE * DAY_S)];
    const window = { fromS: partFromS, toS: partToS + HIDING_S };
    const knownMarkets = this.markets.length;
    this.part = await this.source.exportDirectory({ chain, address, ...window, knownMarkets });
    this.partFromS = partFromS;
    this.partToS = partToS;
    // A new list only if it is longer: what is derived from a list is kept with it.
    if (this.part.markets.length > 0) this.markets = [...this.markets, ...this.part.markets];
  }
}

/** Changes with what a file of these snapshots holds. @param dataset part of the digest */
export function digestOf({ snapshots, leg }: DayPlan, dataset: string): string {
  const hash = createHash('sha256').update(dataset).update(contentOf(snapshots));
  if (leg !== undefined) hash.update('with the other leg').update(contentOf(leg.snapshots));
  return hash.digest('hex').slice(0, 32);
}

function contentOf(snapshots: readonly PlannedSnapshot[]): Uint32Array {
  const values = new Uint32Array(2 * snapshots.length);
  snapshots.forEach(({ t, digest }, i) => values.set([t, digest], 2 * i));
  return values;
}

/** Consecutive snapshots of a plan that are in one segment. */
interface Piece {
  segmentId: number;
  rows: number[];
}

export function piecesOf({ snapshots, segmentIds }: Planned): Piece[] {
  const pieces: Piece[] = [];
  for (const { segment, row } of snapshots) {
    const segmentId = segmentIds[segment];
    const last = pieces.at(-1);
    if (last?.segmentId === segmentId) last.rows.push(row);
    else pieces.push({ segmentId, rows: [row] });
  }
  return pieces;
}

/** The ids of a plan's segments that have snapshots of it. */
export function segmentsOf(plan: DayPlan): number[] {
  const pieces = [plan, ...(plan.leg === undefined ? [] : [plan.leg])].flatMap(piecesOf);
  return [...new Set(pieces.map(({ segmentId }) => segmentId))];
}
