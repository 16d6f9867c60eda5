/** What alerts wait for, and when they fire. Pure: the same snapshots always fire the same alerts. */
import { BIN_RATIO, type Ladder, totalsWithin } from '../ladder/ladder.js';
import { percent, price, signedPercent, usd } from '../state/format.js';

export const KINDS = ['depth', 'score', 'wall'] as const;
export const SIDES = ['both', 'support', 'resistance'] as const;
export type Side = (typeof SIDES)[number];

/** What an alert waits for. */
export type Condition =
  | { kind: 'depth'; side: Side; pct: number; belowUsd: number }
  | { kind: 'score'; below: number }
  /** A wall is a 1% step with at least this amount. */
  | { kind: 'wall'; side: Side; usd: number };

export type Rule = Condition & { id: string; address: string; symbol: string | null };

/** A snapshot of all venues of a token. */
export type Shot = Pick<Ladder, 't' | 'priceUsd' | 'bins' | 'supportUsd' | 'resistanceUsd'>;

interface Wall {
  side: 'support' | 'resistance';
  priceUsd: number;
  usd: number;
}

/** What a rule has seen; `isOn` and `walls` are null until it has seen something. */
export interface Seen {
  /** Whether the condition held. */
  isOn: boolean | null;
  walls: readonly Wall[] | null;
}
export const UNSEEN: Seen = { isOn: null, walls: null };

/** @see assess */
export interface Outcome {
  seen: Seen;
  /** The value of the condition now, in words. */
  now: string;
  /** What has happened; null: nothing new. */
  fired: string | null;
}

/** Depth has to rise this far above its bound before the alert can fire again. */
export const DEPTH_MARGIN = 0.05;
/** So many points has the score to rise above its bound. */
export const SCORE_MARGIN = 1;
/** A wall is gone once less than this share of the bound is left in each 1% step near it: half of it may have moved a step. */
export const GONE_SHARE = 0.5;
/** A wall that has moved by no more than this is the same. */
const SAME_LN = 1.5 * Math.log(BIN_RATIO);
/** Most walls of a rule: of more, none stands out. */
export const MAX_WALLS = 30;
/** Walls named in one message. */
const NAMED_WALLS = 3;

/**
 * What a snapshot, or a score, means for a rule. An alert fires when its condition begins to hold, not if it held from
 * the first, and again only after the condition has clearly ended.
 *
 * @param shown the snapshot; for a score, its value. Undefined if it is not what the rule is about.
 */
export function assess(rule: Condition, seen: Seen, shown: Shot | number): Outcome | null {
  if (rule.kind === 'score')
    return typeof shown === 'number' ? assessScore(rule, seen, shown) : null;
  if (typeof shown === 'number') return null;
  return rule.kind === 'depth' ? assessDepth(rule, seen, shown) : assessWalls(rule, seen, shown);
}

type Of<K extends Condition['kind']> = Extract<Condition, { kind: K }>;

function assessDepth({ side, pct, belowUsd }: Of<'depth'>, seen: Seen, shot: Shot): Outcome {
  const { supportUsd, resistanceUsd } = totalsWithin(shot, pct);
  const amount =
    (side === 'resistance' ? 0 : supportUsd) + (side === 'support' ? 0 : resistanceUsd);
  const what = `${nameOf(side)} within ${pct}%`;
  const isOn = held(amount, belowUsd, belowUsd * (1 + DEPTH_MARGIN), seen.isOn);
  return {
    seen: { isOn, walls: null },
    now: usd(amount),
    fired: begins(isOn, seen) ? `${what} is ${usd(amount)}, below ${usd(belowUsd)}` : null,
  };
}

function assessScore({ below }: Of<'score'>, seen: Seen, score: number): Outcome {
  const isOn = held(score, below, below + SCORE_MARGIN, seen.isOn);
  return {
    seen: { isOn, walls: null },
    now: score.toFixed(1),
    fired: begins(isOn, seen) ? `Score is ${score.toFixed(1)}, below ${below}` : null,
  };
}

/** Whether a value is below its bound, or was and has not risen to the end of the margin. */
const held = (value: number, bound: number, end: number, wasOn: boolean | null): boolean =>
  value < bound || (wasOn === true && value < end);

const begins = (isOn: boolean, seen: Seen): boolean => isOn && seen.isOn === false;

function assessWalls({ side, usd: least }: Of<'wall'>, seen: Seen, shot: Shot): Outcome {
  const steps = stepsOf(shot, side);
  const known = (seen.walls ?? []).map((wall) => ({ wall, now: largestNear(steps, wall) }));
  const stays = known.flatMap(({ now }) =>
    now !== null && now.usd >= GONE_SHARE * least ? [now] : [],
  );
  // Beyond the ends of the ladder, nothing is known.
  const gone = known
    .filter(({ wall, now }) => (now?.usd ?? 0) < GONE_SHARE * least && isInReach(shot, wall))
    .map(({ wall }) => wall);
  const walls = distinct(stays);
  const appeared: Wall[] = [];
  for (const step of steps.filter((one) => one.usd >= least).toSorted((a, b) => b.usd - a.usd)) {
    if ([...walls, ...appeared].some((one) => isSame(one, step))) continue;
    appeared.push(step);
  }
  const all = [...walls, ...appeared];
  if (all.length > MAX_WALLS) {
    return { seen: UNSEEN, now: `more than ${MAX_WALLS} walls: name a larger amount`, fired: null };
  }
  const texts = [
    ...(seen.walls === null ? [] : [wallsText('appeared', appeared, shot)]),
    wallsText('went', gone, shot),
  ].filter((one) => one !== '');
  return {
    seen: { isOn: null, walls: all },
    now: all.length === 0 ? 'none' : `${all.length}, the largest ${wallText(largest(all), shot)}`,
    fired: texts.length === 0 ? null : texts.join('; '),
  };
}

function stepsOf(shot: Shot, side: Side): Wall[] {
  const steps: Wall[] = [];
  for (const [i, bin] of shot.bins.entries()) {
    const priceUsd = shot.priceUsd * BIN_RATIO ** bin;
    for (const [name, amounts] of [
      ['support', shot.supportUsd],
      ['resistance', shot.resistanceUsd],
    ] as const) {
      if (side === 'both' || side === name) steps.push({ side: name, priceUsd, usd: amounts[i] });
    }
  }
  return steps;
}

const isSame = (a: Wall, b: Wall): boolean =>
  a.side === b.side && Math.abs(Math.log(a.priceUsd / b.priceUsd)) <= SAME_LN;

function largestNear(steps: readonly Wall[], wall: Wall): Wall | null {
  const near = steps.filter((one) => isSame(one, wall));
  return near.length === 0 ? null : largest(near);
}

const largest = (walls: readonly Wall[]): Wall => walls.reduce((a, b) => (b.usd > a.usd ? b : a));

function distinct(walls: readonly Wall[]): Wall[] {
  const kept: Wall[] = [];
  for (const wall of walls) if (!kept.some((one) => isSame(one, wall))) kept.push(wall);
  return kept;
}

function isInReach({ bins, priceUsd }: Shot, wall: Wall): boolean {
  const bin = Math.log(wall.priceUsd / priceUsd) / Math.log(BIN_RATIO);
  return bin >= Math.min(...bins) - 0.5 && bin <= Math.max(...bins) + 0.5;
}

function wallsText(verb: 'appeared' | 'went', walls: readonly Wall[], shot: Shot): string {
  if (walls.length === 0) return '';
  const largestFirst = walls.toSorted((a, b) => b.usd - a.usd);
  const named = largestFirst.slice(0, NAMED_WALLS).map((wall) => wallText(wall, shot));
  const rest = walls.length - named.length;
  return `${walls.length === 1 ? 'Wall' : 'Walls'} ${verb}: ${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

function wallText(wall: Wall, { priceUsd }: Shot): string {
  const distance = signedPercent(wall.priceUsd / priceUsd - 1);
  return `${usd(wall.usd)} of ${wall.side} at ${price(wall.priceUsd)} (${distance})`;
}

/** What a rule waits for, in words. */
export function conditionText(rule: Condition): string {
  if (rule.kind === 'score') return `Score below ${rule.below}`;
  if (rule.kind === 'depth') {
    return `${nameOf(rule.side)} within ${rule.pct}% below ${usd(rule.belowUsd)}`;
  }
  return `A wall of ${usd(rule.usd)}${rule.side === 'both' ? '' : ` of ${rule.side}`} appears or goes`;
}

/** When it fires again. */
export function rearmText(rule: Condition): string {
  if (rule.kind === 'score') return `fires again after it has been ${rule.below + SCORE_MARGIN}`;
  if (rule.kind === 'depth') {
    return `fires again after it has been ${usd(rule.belowUsd * (1 + DEPTH_MARGIN))}`;
  }
  return `a wall goes once less than ${percent(GONE_SHARE, 0)} of ${usd(rule.usd)} is left`;
}

const nameOf = (side: Side): string =>
  ({ both: 'Depth', support: 'Support', resistance: 'Resistance' })[side];
