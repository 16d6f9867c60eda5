/** Names of exported files and pictures: with the times that they cover and, for a token's depth, its filter. */
import type { Ladder } from '../ladder/ladder.js';
import { percent, signedPercent } from '../state/format.js';
import { FULL_BAND, type TokenView } from '../state/url.js';

/** The most types, and venues, that a name lists; it counts the others. */
const MAX_NAMED = 4;

type Filter = Pick<TokenView, 'types' | 'venues' | 'excludedVenues' | 'band'>;

/** A picture's title: `SOL depth: CEX spot; Orca, Raydium; within 5% of the price`. */
export function titleOf(
  symbol: string,
  { types, venues, excludedVenues, band }: Filter,
  choices: Ladder['choices'] | null,
): string {
  const labels = (of: 'types' | 'venues', keys: readonly string[]): string =>
    some(keys, (key) => choices?.[of].find((one) => one.key === key)?.label ?? key, ', ', ' more');
  const without = labels('venues', excludedVenues);
  const parts = [
    labels('types', types),
    labels('venues', venues),
    without === '' ? '' : `without ${without}`,
    bandText(band),
  ];
  const filter = parts.filter((part) => part !== '').join('; ');
  return filter === '' ? `${symbol} depth` : `${symbol} depth: ${filter}`;
}

/** A file's name: `SOL-depth_20261125T1400Z_20261126T1400Z_cex-spot_orca_raydium_-5..5pct`. */
export function fileNameOf(
  symbol: string,
  { types, venues, excludedVenues, band }: Filter,
  { fromS, toS }: { fromS: number; toS: number },
): string {
  const key = (one: string): string => one.replaceAll('_', '-');
  return [
    `${symbol}-depth`,
    minuteOf(fromS),
    minuteOf(toS),
    some(types, key, '_', '-more'),
    some(venues, key, '_', '-more'),
    some(excludedVenues, (one) => `without-${key(one)}`, '_', '-more'),
    isFull(band) ? '' : `${band.minPct}..${band.maxPct}pct`,
  ]
    .filter((part) => part !== '')
    .join('_');
}

/** A board's file: `scores_20261126T1400Z`. @param t when its rows were loaded */
export const boardFileName = (board: string, t: number): string => `${board}_${minuteOf(t)}`;

function some(
  keys: readonly string[],
  nameOf: (key: string) => string,
  between: string,
  more: string,
): string {
  const names = keys.slice(0, MAX_NAMED).map(nameOf);
  const others = keys.length - names.length;
  return [...names, ...(others > 0 ? [`${others}${more}`] : [])].join(between);
}

const isFull = ({ minPct, maxPct }: TokenView['band']): boolean =>
  minPct === FULL_BAND.minPct && maxPct === FULL_BAND.maxPct;

function bandText(band: TokenView['band']): string {
  const { minPct, maxPct } = band;
  if (isFull(band)) return '';
  if (minPct === -maxPct) return `within ${percent(maxPct / 100, 0)} of the price`;
  return `${signedPercent(minPct / 100, 0)} to ${signedPercent(maxPct / 100, 0)} of the price`;
}

/** `20261125T1400Z`. */
const minuteOf = (t: number): string =>
  `${new Date(t * 1000).toISOString().slice(0, 16).replaceAll(/[-:]/g, '')}Z`;
