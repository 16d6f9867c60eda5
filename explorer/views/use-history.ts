/** How far a token's history reaches, and which part of it the map requests. */
import { useMemo, useRef } from 'preact/hooks';
import type { Coverage, FathomError, ReplayParameters } from '../../client/index.js';
import { useDocument } from '../state/load.js';
import { pause } from '../state/pause.js';
import { filterOf, MAX_HISTORY_S, windowTimes } from '../state/requests.js';
import { PRESET_S, type TokenView } from '../state/url.js';

/** Coverage of many markets is a large reply: each of them adds this to the time before it is loaded again. */
const RELOAD_MS_PER_MARKET = 2;

interface TokenHistory {
  /** The newest one; null if it is not known. */
  coverage: Coverage | null;
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
  const waitMs = useRef(0);
  const { document: coverage, error } = useDocument(
    `coverage ${address}`,
    async (client, signal) => {
      await pause(waitMs.current, signal);
      const loaded = await client.getCoverage({ address }, { signal });
      waitMs.current = loaded.markets.length * RELOAD_MS_PER_MARKET;
      return loaded;
    },
    'by change',
  );
  const isEmpty = coverage?.tiers.length === 0;
  // The map follows new snapshots by itself: its window does not move with each.
  const reach = useMemo(() => reachOf(coverage), [coverage === null, isEmpty]);
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
  const spanS = spanOf(view.window, lengthS);
  return { coverage, isEmpty, error, isAnswered, reach, map, spanS, lengthS };
}

function reachOf(coverage: Coverage | null): TokenHistory['reach'] {
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
