/** The newest ladder: levels around the price, their sums, and their venues. */
import type { MarketType, ReplayPage } from '../../client/index.js';
import { signedPercent } from '../state/format.js';

export interface Ladder {
  /** Time of the snapshot, epoch seconds. */
  t: number;
  priceUsd: number;
  /** By bin, ascending, without gaps between the first and the last. */
  bins: Int32Array;
  supportUsd: Float64Array;
  resistanceUsd: Float64Array;
  /** What orders can take of either side: docs/definitions.md#slippage. No perps unless the filter names them. */
  takenUsd: { support: number; resistance: number };
  /** Says whether amounts include perps, or that no market matches the filter. */
  perps: string;
  /** Amounts by chosen venue within NEAR_PCT of the price, largest first. */
  parts: LadderPart[];
  /** The types and venues to choose from: all with depth, with amounts within NEAR_PCT of the price, largest first. */
  choices: { types: LadderPart[]; venues: LadderPart[] };
}

export interface LadderPart {
  key: string;
  label: string;
  supportUsd: number;
  resistanceUsd: number;
}

/** The types and venues to which a ladder is limited; undefined: all. */
export interface LadderFilter {
  types?: readonly MarketType[];
  venues?: readonly string[];
  exclude_venues?: readonly string[];
}

/** The ratio of adjacent bins' prices: docs/definitions.md#ladder. */
export const BIN_RATIO = 1.01;
/** Relative, of a band's ends. */
const TOLERANCE = 1e-9;
/** The band around the price in which depth counts as near, as for the score. */
export const NEAR_PCT = 25;
/** Says whether amounts limited to some types include perps. @param types undefined: not limited */
export function perpsText(types?: readonly MarketType[]): string {
  if (types?.length === 0) return 'nothing matches';
  return types === undefined || types.includes('cex_perp') ? 'incl. perps' : 'without perps';
}
/** Says which depth the score and its parts count. */
export const SCORED_TEXT = 'all chains, without perps';
/** Says which depth the sums of ladders, venues and types count. @param perps from perpsText() */
export const nearText = (perps: string): string => `within ${NEAR_PCT}% of the price, ${perps}`;

/** The ladder of the last snapshot of an unfiltered page grouped by venue; null if the page is empty. */
export function newestLadder(page: ReplayPage, filter: LadderFilter): Ladder | null {
  const snapshot = page.snapshots.at(-1);
  return snapshot === undefined ? null : ladderOf(page, snapshot, filter);
}

/** The ladder of a snapshot of an unfiltered page grouped by venue. */
export function ladderOf(
  { groups, facets }: Pick<ReplayPage, 'groups' | 'facets'>,
  snapshot: ReplayPage['snapshots'][number],
  filter: LadderFilter,
): Ladder {
  const first = snapshot.bin.reduce((least, bin) => Math.min(least, bin), 0);
  const last = snapshot.bin.reduce((greatest, bin) => Math.max(greatest, bin), 0);
  const length = last - first + 1;
  const [supportUsd, resistanceUsd] = [new Float64Array(length), new Float64Array(length)];
  const typeOf = new Map(facets?.venues.map(({ key, type }) => [key, type]));
  const types = new Map(facets?.types.map(({ key, label }) => [key, partOf(key, label)]));
  const venues = groups.map(({ key, label }) => {
    const type = typeOf.get(key);
    const isChosen =
      (filter.venues?.includes(key) ?? true) &&
      filter.exclude_venues?.includes(key) !== true &&
      (filter.types === undefined || (type !== undefined && filter.types.includes(type)));
    return { part: partOf(key, label), type, ofType: type && types.get(type), isChosen };
  });
  const present = new Set<LadderPart>();
  // As for /slippage, leaving venues out names no perps.
  const isFiltered = filter.types !== undefined || filter.venues !== undefined;
  const takenUsd = { support: 0, resistance: 0 };
  for (const [i, bin] of snapshot.bin.entries()) {
    const venue = venues[snapshot.group_idx?.[i] ?? -1];
    if (venue === undefined) continue;
    const [support, resistance] = [snapshot.support_usd[i], snapshot.resistance_usd[i]];
    if (venue.isChosen) {
      supportUsd[bin - first] += support;
      resistanceUsd[bin - first] += resistance;
      if (isFiltered || venue.type !== 'cex_perp') {
        takenUsd.support += support;
        takenUsd.resistance += resistance;
      }
    }
    for (const part of [venue.part, venue.ofType]) {
      if (part === undefined) continue;
      present.add(part);
      if (!isWithin(bin, NEAR_PCT)) continue;
      part.supportUsd += support;
      part.resistanceUsd += resistance;
    }
  }
  const chosen = venues.flatMap(({ part, isChosen }) => (isChosen ? [part] : []));
  const chosenTypes = venues.flatMap(({ type, isChosen }) => (isChosen && type ? [type] : []));
  const isPresent = (part: LadderPart): boolean => present.has(part);
  return {
    t: snapshot.t,
    priceUsd: snapshot.price_usd,
    bins: Int32Array.from({ length }, (_, i) => first + i),
    supportUsd,
    resistanceUsd,
    takenUsd,
    perps: perpsText(
      filter.venues === undefined && filter.exclude_venues === undefined
        ? filter.types
        : chosenTypes,
    ),
    parts: bySize(chosen.filter((part) => partUsd(part) > 0)),
    choices: {
      types: bySize([...types.values()].filter(isPresent)),
      venues: bySize(venues.map(({ part }) => part).filter(isPresent)),
    },
  };
}

const partOf = (key: string, label: string): LadderPart => ({
  key,
  label,
  supportUsd: 0,
  resistanceUsd: 0,
});

/** Support and resistance. */
export const partUsd = ({ supportUsd, resistanceUsd }: LadderPart): number =>
  supportUsd + resistanceUsd;

const bySize = (parts: LadderPart[]): LadderPart[] =>
  parts.toSorted((a, b) => partUsd(b) - partUsd(a));

export interface DepthCurve {
  /** Distance from the price in percent, ascending. */
  pct: number[];
  /** The sum between the price and this distance; null on the other side of the price. */
  supportUsd: (number | null)[];
  resistanceUsd: (number | null)[];
}

/** Sums amounts from the price outwards, over the bins within `reachPct`. */
export function depthCurve(ladder: Ladder, reachPct: number): DepthCurve {
  const below = side(ladder, ladder.supportUsd, -1, reachPct);
  const above = side(ladder, ladder.resistanceUsd, 1, reachPct);
  return {
    pct: [...below.map(({ pct }) => pct).reverse(), ...above.map(({ pct }) => pct)],
    supportUsd: [...below.map(({ usd }) => usd).reverse(), ...above.map(() => null)],
    resistanceUsd: [...below.map(() => null), ...above.map(({ usd }) => usd)],
  };
}

/** The edge of each bin, with the sum between it and the price. */
function side(
  { bins }: Ladder,
  amounts: Float64Array,
  sign: 1 | -1,
  reachPct: number,
): { pct: number; usd: number }[] {
  const points = [{ pct: sign * 0.0001, usd: 0 }];
  let usd = 0;
  const order = sign > 0 ? bins : bins.toReversed();
  // Bin 0 has the price in its middle, so it counts on both sides.
  for (const bin of order) {
    if (bin * sign < 0) continue;
    if (!isWithin(bin, reachPct)) break;
    usd += amounts[bin - bins[0]];
    points.push({ pct: (BIN_RATIO ** (bin + sign / 2) - 1) * 100, usd });
  }
  return points;
}

/** Sums within some percent of the price. */
export function totalsWithin(
  ladder: Pick<Ladder, 'bins' | 'supportUsd' | 'resistanceUsd'>,
  pct: number,
): { supportUsd: number; resistanceUsd: number } {
  const total = (amounts: Float64Array): number =>
    amounts.reduce((sum, usd, i) => (isWithin(ladder.bins[i], pct) ? sum + usd : sum), 0);
  return { supportUsd: total(ladder.supportUsd), resistanceUsd: total(ladder.resistanceUsd) };
}

/** Whether a bin is at most some percent from the price: docs/definitions.md#bands. */
export function isWithin(bin: number, pct: number): boolean {
  const ratio = BIN_RATIO ** bin;
  return ratio >= (1 - pct / 100) * (1 - TOLERANCE) && ratio <= (1 + pct / 100) * (1 + TOLERANCE);
}

/** The first and the last bin within some percent of the price, below 100. */
export function binsWithin(pct: number): { first: number; last: number } {
  let [first, last] = [0, 0];
  while (isWithin(first - 1, pct)) first--;
  while (isWithin(last + 1, pct)) last++;
  return { first, last };
}

/** From where to where the bins within some percent reach. */
export function coverText(pct: number): string {
  const { first, last } = binsWithin(pct);
  const [from, to] = [first - 0.5, last + 0.5].map((edge) => BIN_RATIO ** edge - 1);
  return `${signedPercent(from)} to ${signedPercent(to)}`;
}

/** Says that the bins within some percent reach further on one side. */
export const coverNote = (pct: number): string =>
  `whole 1% steps: ${coverText(pct)}; not an imbalance`;

/** The same as a tooltip. */
export const coverTitle = (pct: number): string =>
  `Depth is stored in steps of 1%. Within ${pct}% are the whole steps from ${coverText(pct)}, so do not read the difference between support and resistance as an imbalance`;
