/** How far a token's history reaches, and which part of it the map requests. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { FathomError, ReplayParameters, Result } from '../../client/index.js';
import { useDocument } from '../state/load.js';
import { filterOf, MAX_HISTORY_S, windowTimes } from '../state/requests.js';
import { PRESET_S, type TokenView } from '../state/url.js';

interface TokenHistory {
  /** Whether the token has no snapshot. */
  isEmpty: boolean;
  /** Why its coverage is not known. */
  error: FathomError | null;
  /** Whether the server has answered: the window `all` needs the beginning of the history. */
  isAnswered: boolean;
  /** From its first snapshot to its last, epoch seconds; null if there is none, or it is unknown. */
  reach: { from: number; to: number } | null;
  /** What the map requests; the same object until the view asks for another one. */
  map: { name: string; window: { from: string; to: string }; filter: ReplayParameters };
  /** Length of the map's window in seconds. */
  spanS: number;
  /** How far the history reaches back, in seconds; null if unknown. */
  lengthS: number | null;
}

export function useHistory(address: string, view: TokenView, nowS: number): TokenHistory {
  const [isEmpty, setEmpty] = useState(false);
  const { document: coverage, error } = useDocument(
    `coverage ${address}`,
    (client, signal) => client.getCoverage({ address }, { signal }),
    isEmpty ? 'by change' : 'never',
  );
  useEffect(() => {
    if (coverage !== null) setEmpty(coverage.tiers.length === 0);
  }, [coverage]);
  const reach = useMemo(() => reachOf(coverage), [coverage]);
  const { types, venues, group, band } = view;
  const window = windowTimes(view.window, reach?.from ?? null);
  const { from, to } = window;
  const { minPct, maxPct } = band;
  const name = [address, from, to, group, types.join(), venues.join(), minPct, maxPct].join(' ');
  const map = useMemo(() => {
    const filter = { group, ...filterOf(view), min_pct: minPct, max_pct: maxPct };
    return { name, window, filter };
  }, [name]);
  const lengthS = reach === null ? null : nowS - reach.from;
  const isAnswered = coverage !== null || error !== null;
  return { isEmpty, error, isAnswered, reach, map, spanS: spanOf(view.window, lengthS), lengthS };
}

function reachOf(coverage: Result<'getCoverage'> | null): TokenHistory['reach'] {
  if (coverage === null || coverage.tiers.length === 0) return null;
  const { tiers } = coverage;
  const to = Math.max(...tiers.map((tier) => tier.last_t)) + 1;
  const first = Math.min(...tiers.map((tier) => tier.first_t));
  return { from: Math.max(first, to - MAX_HISTORY_S), to };
}

function spanOf(window: TokenView['window'], lengthS: number | null): number {
  if (typeof window === 'object') return window.toS - window.fromS;
  return window === 'all' ? (lengthS ?? MAX_HISTORY_S) : PRESET_S[window];
}
