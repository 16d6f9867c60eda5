/**
 * Replay computed the plain way (docs/definitions.md#replay): objects, loops and BigInt cents. Shares
 * no code with compute/replay.
 */

export interface PlainMarket {
  source: string;
  exchangeType: 'DEX' | 'CEX';
  type: 'onchain_pool' | 'onchain_limit_order' | 'cex_spot' | 'cex_perp';
  address: string | null;
  pair: string | null;
}

export interface PlainCell {
  market: number;
  bin: number;
  support: bigint;
  resistance: bigint;
}

export interface PlainSnapshot {
  t: number;
  tier: 'raw' | '15m' | '1h';
  price: number;
  cells: PlainCell[];
}

/** Visible snapshots by time, and the token's markets in order of first arrival. */
export interface PlainStore {
  markets: PlainMarket[];
  snapshots: PlainSnapshot[];
}

export interface PlainRequest {
  from: number;
  to: number;
  group: 'market' | 'venue' | 'type' | 'all';
  types: PlainMarket['type'][] | null;
  excludeTypes: PlainMarket['type'][] | null;
  venues: string[] | null;
  excludeVenues: string[] | null;
  minPct: number;
  maxPct: number;
}

const LENGTH_S = { raw: 0, '15m': 900, '1h': 3600 };

/** Without coarse snapshots that have a finer one in their length (docs/definitions.md#replay-tiers), by time. */
export function visibleSnapshots<T extends Pick<PlainSnapshot, 't' | 'tier'>>(
  all: readonly T[],
  nowS: number,
): T[] {
  const past = all.filter(({ t }) => t <= nowS);
  const isHidden = ({ t, tier }: T) =>
    past.some(
      (finer) =>
        LENGTH_S[finer.tier] < LENGTH_S[tier] && finer.t >= t && finer.t < t + LENGTH_S[tier],
    );
  return past.filter((one) => !isHidden(one)).sort((a, b) => a.t - b.t);
}

/** The newest snapshot of each step (docs/definitions.md#steps). @param all ascending */
export function newestOfSteps<T extends { t: number }>(all: readonly T[], stepS: number): T[] {
  const newest = new Map<number, T>();
  for (const one of all) newest.set(Math.ceil(one.t / stepS), one);
  return [...newest.values()];
}

const LABELS = {
  onchain_pool: 'On-chain pools',
  onchain_limit_order: 'On-chain limit orders',
  cex_spot: 'CEX spot',
  cex_perp: 'CEX perps',
};

/** A USD amount with its cents, as digits. */
export function usdText(cents: bigint): string {
  const whole = String(cents / 100n);
  const fraction = String(cents % 100n).padStart(2, '0');
  if (fraction === '00') return whole;
  return `${whole}.${fraction.endsWith('0') ? fraction[0] : fraction}`;
}

/** Lower case, each run of other characters as one dash, none at the ends: letter by letter. */
function plainVenueKey(source: string): string {
  let key = '';
  for (const letter of source.toLowerCase()) {
    if ('abcdefghijklmnopqrstuvwxyz0123456789'.includes(letter)) key += letter;
    else if (key !== '' && !key.endsWith('-')) key += '-';
  }
  return key.endsWith('-') ? key.slice(0, -1) : key;
}

function inBand(bin: number, minPct: number, maxPct: number): boolean {
  const factor = 1.01 ** bin;
  return factor >= (1 + minPct / 100) * (1 - 1e-9) && factor <= (1 + maxPct / 100) * (1 + 1e-9);
}

function keeps(request: PlainRequest, market: PlainMarket): boolean {
  const key = plainVenueKey(market.source);
  if (request.types !== null && !request.types.includes(market.type)) return false;
  if (request.excludeTypes !== null && request.excludeTypes.includes(market.type)) return false;
  if (request.venues !== null && !request.venues.includes(key)) return false;
  return request.excludeVenues === null || !request.excludeVenues.includes(key);
}

/** The name of the ladder to which a market's cells are added. */
function ladderOf(request: PlainRequest, market: PlainMarket, index: number): string {
  if (request.group === 'market') return `market ${index}`;
  if (request.group === 'venue') return `venue ${plainVenueKey(market.source)}`;
  return request.group === 'type' ? `type ${market.type}` : 'all';
}

interface ServedCell {
  ladder: number;
  bin: number;
  support: bigint;
  resistance: bigint;
}

/** Names of the ladders in order of first arrival among the markets that pass the filter. */
function laddersOf(store: PlainStore, request: PlainRequest): string[] {
  const names: string[] = [];
  store.markets.forEach((market, index) => {
    const name = ladderOf(request, market, index);
    if (keeps(request, market) && !names.includes(name)) names.push(name);
  });
  return names;
}

/** Returns the function that gives a snapshot's cells as the API serves them. */
function serving(store: PlainStore, request: PlainRequest): (of: PlainSnapshot) => ServedCell[] {
  const ladders = laddersOf(store, request);
  const ladderOfMarket = store.markets.map((market, index) =>
    keeps(request, market) ? ladders.indexOf(ladderOf(request, market, index)) : null,
  );
  return (snapshot) => {
    const served = new Map<string, ServedCell>();
    for (const { market, bin, support, resistance } of snapshot.cells) {
      const ladder = ladderOfMarket[market];
      if (ladder === null || !inBand(bin, request.minPct, request.maxPct)) continue;
      const same = served.get(`${ladder} ${bin}`);
      if (same) {
        same.support += support;
        same.resistance += resistance;
      } else {
        served.set(`${ladder} ${bin}`, { ladder, bin, support, resistance });
      }
    }
    return [...served.values()].sort((a, b) => a.ladder - b.ladder || a.bin - b.bin);
  };
}

/** Depth of the page's snapshots within the band, of the markets that `of` selects. */
function depth(
  store: PlainStore,
  request: PlainRequest,
  snapshots: PlainSnapshot[],
  of: (market: PlainMarket) => boolean,
): bigint {
  const isOf = store.markets.map(of);
  let cents = 0n;
  for (const snapshot of snapshots) {
    for (const cell of snapshot.cells) {
      if (!isOf[cell.market]) continue;
      if (inBand(cell.bin, request.minPct, request.maxPct)) cents += cell.support + cell.resistance;
    }
  }
  return cents;
}

function facetsOf(store: PlainStore, request: PlainRequest, snapshots: PlainSnapshot[]) {
  const frames = snapshots.length;
  const usd = (cents: bigint) => Number(cents) / (100 * frames);
  const types: unknown[] = [];
  const venues: { key: string; label: string; type: string; usd: number }[] = [];
  for (const type of new Set(store.markets.map((market) => market.type))) {
    const cents = depth(store, request, snapshots, (market) => market.type === type);
    if (cents > 0n) types.push({ key: type, label: LABELS[type], usd: usd(cents) });
  }
  for (const key of new Set(store.markets.map((market) => plainVenueKey(market.source)))) {
    const ofVenue = (market: PlainMarket) => plainVenueKey(market.source) === key;
    const cents = depth(store, request, snapshots, ofVenue);
    const first = store.markets.find(ofVenue) as PlainMarket;
    if (cents > 0n) venues.push({ key, label: first.source, type: first.type, usd: usd(cents) });
  }
  return { frames, types, venues };
}

type PlainEnd = 'cells' | 'snapshots' | 'window';

/** One page of a request as the object behind its JSON, and why the page ended. */
export function referencePage(
  store: PlainStore,
  request: PlainRequest,
  limits: { maxCells: number; maxSnapshots: number },
  token: { token: string; resolvedToken: string | null; chain: string; clamped: boolean },
): { reply: Record<string, unknown>; end: PlainEnd } {
  const window = store.snapshots.filter(({ t }) => t >= request.from && t < request.to);
  const page: PlainSnapshot[] = [];
  const served: ServedCell[][] = [];
  const serve = serving(store, request);
  let rows = 0;
  let end: PlainEnd = 'window';
  for (const snapshot of window) {
    const cells = serve(snapshot);
    if (page.length === limits.maxSnapshots) end = 'snapshots';
    else if (rows + cells.length > limits.maxCells) end = 'cells';
    if (end !== 'window') break;
    page.push(snapshot);
    served.push(cells);
    rows += cells.length;
  }

  const ladders = laddersOf(store, request);
  const filtered = [request.types, request.excludeTypes, request.venues, request.excludeVenues];
  const facets = facetsOf(store, request, page);
  const named = [...new Set([...(request.venues ?? []), ...(request.excludeVenues ?? [])])];
  const onPage = (index: number) =>
    keeps(request, store.markets[index]) &&
    page.some(({ cells }) =>
      cells.some(
        (cell) => cell.market === index && inBand(cell.bin, request.minPct, request.maxPct),
      ),
    );
  let lastMarket = -1;
  store.markets.forEach((_, index) => {
    if (onPage(index)) lastMarket = index;
  });
  const usedLadders = served.flatMap((cells) => cells.map(({ ladder }) => ladder));
  const listed = store.markets
    .filter((market, index) => index <= lastMarket && keeps(request, market))
    .map(({ source, exchangeType, address, pair }) => ({
      source,
      exchange_type: exchangeType,
      address,
      pair,
    }));
  const groups = ladders.slice(0, Math.max(-1, ...usedLadders) + 1).map((name) => {
    const first = store.markets.find(
      (market, index) => ladderOf(request, market, index) === name,
    ) as PlainMarket;
    return request.group === 'venue'
      ? { key: plainVenueKey(first.source), label: first.source, type: first.type }
      : { key: first.type, label: LABELS[first.type], type: first.type };
  });

  const reply: Record<string, unknown> = { token: token.token };
  if (token.resolvedToken !== null) reply.resolved_token = token.resolvedToken;
  Object.assign(reply, {
    chain: token.chain,
    window: {
      from: request.from,
      to: request.to,
      clamped: token.clamped,
      served_from: page[0]?.t ?? null,
      served_to: page.at(-1)?.t ?? null,
    },
    next_from: end === 'window' ? null : window[page.length].t,
    group: request.group,
    filter: {
      types: request.types,
      venues: request.venues,
      exclude_types: request.excludeTypes,
      exclude_venues: request.excludeVenues,
      venues_not_found: named.filter((key) => !facets.venues.some((venue) => venue.key === key)),
    },
    markets_mode: request.group === 'market' ? 'split' : 'aggregate',
    min_pct: request.minPct,
    max_pct: request.maxPct,
    bin_ratio: 1.01,
    snapshot_count: page.length,
    row_count: rows,
    markets: request.group === 'all' ? [] : listed,
    groups: request.group === 'venue' || request.group === 'type' ? groups : [],
  });
  if (request.group !== 'all' || filtered.some((part) => part !== null)) reply.facets = facets;
  reply.snapshots = page.map(({ t, tier, price }, i) => {
    const cells = served[i];
    const columns: Record<string, unknown> = { t, tier, price_usd: price };
    const ladder = cells.map((cell) => cell.ladder);
    if (request.group === 'market') columns.market_idx = ladder;
    else if (request.group !== 'all') columns.group_idx = ladder;
    columns.bin = cells.map((cell) => cell.bin);
    columns.support_usd = cells.map((cell) => Number(usdText(cell.support)));
    columns.resistance_usd = cells.map((cell) => Number(usdText(cell.resistance)));
    return columns;
  });
  return { reply, end };
}
