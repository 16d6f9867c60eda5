/** Views as fragments of the page's address, which can be shared: `#/token/So1...?window=6h`. */
import type { Group, MarketType } from '../../client/index.js';

export const GROUPS: readonly Group[] = ['venue', 'type', 'market', 'all'];

export const TYPES: readonly MarketType[] = [
  'onchain_pool',
  'onchain_limit_order',
  'cex_spot',
  'cex_perp',
];

/** Windows that end now. */
export const PRESETS = ['1h', '6h', '24h', '7d', '30d'] as const;
export type Preset = (typeof PRESETS)[number];
/** Their lengths in seconds. */
export const PRESET_S: Readonly<Record<Preset, number>> = {
  '1h': 3600,
  '6h': 21_600,
  '24h': 86_400,
  '7d': 604_800,
  '30d': 2_592_000,
};

/** A window that ends now, or one between two times in epoch seconds. */
export type Window = Preset | 'all' | { fromS: number; toS: number };

/** What is in sight of a window. */
export interface Zoom {
  /** Epoch seconds; if `toS` is null, negative seconds before now. */
  fromS: number;
  /** Null: now. */
  toS: number | null;
  /** Null: those of the window. */
  prices: { lowUsd: number; highUsd: number } | null;
}

/** A price band around each snapshot's price, in percent. */
export interface Band {
  minPct: number;
  maxPct: number;
}
export const FULL_BAND: Band = { minPct: -50, maxPct: 100 };

export const SIDES = ['sell', 'buy'] as const;
export type Side = (typeof SIDES)[number];

/** Reaches of the ladder around the price, in percent. */
export const REACHES_PCT = [2, 5, 10, 25, 50] as const;

/** Whether a number of USD can be the amount of an order: from a cent, and so that cents are whole numbers. */
export const isOrderUsd = (usd: number): boolean => usd >= 0.01 && usd <= 1e13;

/** The map's axis of prices: USD, or percents of the last price in sight. */
export const AXES = ['usd', 'pct'] as const;

/** The orders of others: limit orders, and orders that trade a part at a time. */
export const ORDER_KINDS = ['limit', 'dca'] as const;
export type OrderKind = (typeof ORDER_KINDS)[number];

/** The units of costs: USD, or percents of the price. */
export const COST_UNITS = ['usd', 'pct'] as const;

/** An order whose cost the page shows. */
export interface Order {
  side: Side;
  /** Null: none entered. */
  usd: number | null;
  /** Of charts of its cost. */
  unit: (typeof COST_UNITS)[number];
}
export const NO_ORDER: Order = { side: 'sell', usd: null, unit: 'usd' };

export interface TokenView {
  name: 'token';
  /** Null: the page chooses the token. */
  address: string | null;
  window: Window;
  group: Group;
  /** Empty: all types. */
  types: readonly MarketType[];
  /** Empty: all venues but excludedVenues. */
  venues: readonly string[];
  /** Left out; empty unless `venues` is. A venue that appears later is shown. */
  excludedVenues: readonly string[];
  band: Band;
  /** Null: the whole window is in sight. */
  zoom: Zoom | null;
  /** The moment that the page shows, epoch seconds; null: now. */
  atS: number | null;
  /** The second moment, with which the page compares the one it shows, epoch seconds; null: none. */
  vsS: number | null;
  axis: (typeof AXES)[number];
  /** The amounts of the map's faintest and strongest colour; null: by the data. */
  colours: { lowUsd: number; highUsd: number } | null;
  order: Order;
  /** The orders of others that the map shows. */
  marks: readonly OrderKind[];
  /** How far the ladder reaches; null: as far as the map's band, at most NEAR_PCT. */
  reachPct: (typeof REACHES_PCT)[number] | null;
  /** A market's address: the page filters by the market's venue, which replaces it in the page's address. Null: none. */
  pool: string | null;
}

export const BOARDS = [
  'scores',
  'orders',
  'dca-pressure',
  'dlmm-pools',
  'fee-density',
  'whales',
] as const;
export type BoardName = (typeof BOARDS)[number];
export const BOARD_TITLES: Readonly<Record<BoardName, string>> = {
  scores: 'Scores',
  orders: 'Orders',
  'dca-pressure': 'DCA pressure',
  'dlmm-pools': 'DLMM pools',
  'fee-density': 'Fee density',
  whales: 'Whales',
};

export interface BoardView {
  name: BoardName;
  /** Choices of the board that differ from its defaults, such as `period`; of the board of orders, also its `token`. */
  choices: Readonly<Record<string, string>>;
  /** The column to sort by, largest first, or smallest first after '-'; null: the board's order. */
  sort: string | null;
  /** Shows only rows with this text in their token's symbol, name or address; empty: all rows. */
  find: string;
}

/** The metrics by which tokens are compared. */
export const METRICS = ['depth', 'score', 'price', 'cost', 'cost-time', 'maps'] as const;
export type Metric = (typeof METRICS)[number];
/** Percents around the price within which depth is compared. */
export const COMPARE_PCTS = [1, 2, 5, 10] as const;
/** The axis of depth in comparisons. */
export const SCALES = ['linear', 'log'] as const;
/** Most tokens side by side. */
export const MAX_COMPARED = 6;

/** Parts of a single token that can be compared instead of tokens. */
export const PARTS = ['venue', 'type'] as const;

export interface CompareView {
  name: 'compare';
  tokens: readonly string[];
  metric: Metric;
  pct: number;
  scale: (typeof SCALES)[number];
  window: Preset;
  /** Null: tokens. */
  parts: (typeof PARTS)[number] | null;
  /** Whose costs are compared. */
  order: Order;
}

export function compareView(tokens: readonly string[]): CompareView {
  const scale = 'linear';
  const order = NO_ORDER;
  return {
    name: 'compare',
    tokens,
    metric: 'depth',
    pct: 2,
    scale,
    window: '7d',
    parts: null,
    order,
  };
}

/** An address that names no view. */
export interface UnknownView {
  name: 'unknown';
  /** Without its `#`. */
  path: string;
}

export type View = TokenView | BoardView | CompareView | UnknownView;

export const DEFAULT_VIEW: TokenView = {
  name: 'token',
  address: null,
  window: '24h',
  group: 'venue',
  types: [],
  venues: [],
  excludedVenues: [],
  band: FULL_BAND,
  zoom: null,
  atS: null,
  vsS: null,
  axis: 'usd',
  colours: null,
  order: NO_ORDER,
  marks: [],
  reachPct: null,
  pool: null,
};

/** A token with nothing chosen yet. */
export function tokenView(address: string): TokenView {
  return { ...DEFAULT_VIEW, address };
}

export function boardView(name: BoardName): BoardView {
  return { name, choices: {}, sort: null, find: '' };
}

/** The board of a token's orders. @param kind null: its default */
export function ordersView(token: string, kind: OrderKind | null = null): BoardView {
  const choices = { token, ...(kind === null ? {} : { kind }) };
  return { ...boardView('orders'), choices };
}

/** The view named by a fragment; anything invalid is replaced by its default. */
export function viewOf(hash: string): View {
  const [path = '', search = ''] = hash.replace(/^#/, '').split('?', 2);
  const query = new URLSearchParams(search);
  const [, place = '', address = ''] = path.split('/');
  const board = BOARDS.find((one) => one === place);
  if (board !== undefined) {
    const { order: sort = null, find = '', ...choices } = Object.fromEntries(query);
    return { name: board, choices, sort, find };
  }
  if (place === 'compare') return compareOf(query);
  if (place !== '' && place !== 'token') return { name: 'unknown', path };
  return {
    name: 'token',
    address: place === 'token' && address !== '' ? decoded(address) : null,
    window: windowOf(query),
    group: GROUPS.find((one) => one === query.get('group')) ?? DEFAULT_VIEW.group,
    types: TYPES.filter((one) => listOf(query.get('types')).includes(one)),
    venues: listOf(query.get('venues')),
    excludedVenues: query.get('venues') ? [] : listOf(query.get('exclude_venues')),
    band: bandOf(query),
    zoom: zoomOf(query),
    atS: wholeNumberOf(query.get('at')),
    vsS: wholeNumberOf(query.get('vs')),
    axis: AXES.find((one) => one === query.get('axis')) ?? DEFAULT_VIEW.axis,
    colours: rangeOf(query.get('colours') ?? ''),
    order: orderOf(query),
    marks: ORDER_KINDS.filter((one) => listOf(query.get('orders')).includes(one)),
    reachPct: REACHES_PCT.find((one) => String(one) === query.get('ladder')) ?? null,
    pool: query.get('pool'),
  };
}

/** The fragment of a view, without values at their default. */
export function hashOf(view: View): string {
  if (view.name === 'unknown') return `#${view.path}`;
  if (view.name === 'compare') return compareHash(view);
  const query = new URLSearchParams();
  if (view.name !== 'token') {
    for (const [name, value] of Object.entries(view.choices)) query.set(name, value);
    if (view.sort !== null) query.set('order', view.sort);
    if (view.find !== '') query.set('find', view.find);
    return `#/${view.name}${queryText(query)}`;
  }
  const { address, window, group, types, venues, band, zoom, atS, vsS } = view;
  const { axis, colours, order, marks, reachPct, pool, excludedVenues } = view;
  if (typeof window === 'object') {
    query.set('from', String(window.fromS));
    query.set('to', String(window.toS));
  } else if (window !== DEFAULT_VIEW.window) query.set('window', window);
  if (group !== DEFAULT_VIEW.group) query.set('group', group);
  if (types.length > 0) query.set('types', types.join(','));
  if (venues.length > 0) query.set('venues', venues.join(','));
  else if (excludedVenues.length > 0) query.set('exclude_venues', excludedVenues.join(','));
  if (band.minPct !== FULL_BAND.minPct) query.set('min_pct', String(band.minPct));
  if (band.maxPct !== FULL_BAND.maxPct) query.set('max_pct', String(band.maxPct));
  if (zoom !== null) {
    query.set('zoom', `${zoom.fromS},${zoom.toS ?? 'now'}`);
    if (zoom.prices !== null) {
      query.set('prices', rangeText(zoom.prices));
    }
  }
  if (atS !== null) query.set('at', String(atS));
  if (vsS !== null) query.set('vs', String(vsS));
  if (axis !== DEFAULT_VIEW.axis) query.set('axis', axis);
  if (colours !== null) query.set('colours', rangeText(colours));
  setOrder(query, order);
  if (marks.length > 0) query.set('orders', marks.join(','));
  if (reachPct !== null) query.set('ladder', String(reachPct));
  if (pool !== null) query.set('pool', pool);
  return `#/${address === null ? '' : `token/${encodeURIComponent(address)}`}${queryText(query)}`;
}

function compareOf(query: URLSearchParams): CompareView {
  const byDefault = compareView([...new Set(listOf(query.get('tokens')))].slice(0, MAX_COMPARED));
  return {
    ...byDefault,
    metric: METRICS.find((one) => one === query.get('metric')) ?? byDefault.metric,
    pct: COMPARE_PCTS.find((one) => String(one) === query.get('pct')) ?? byDefault.pct,
    scale: SCALES.find((one) => one === query.get('scale')) ?? byDefault.scale,
    window: PRESETS.find((one) => one === query.get('window')) ?? byDefault.window,
    parts: PARTS.find((one) => one === query.get('group')) ?? byDefault.parts,
    order: orderOf(query),
  };
}

function compareHash({ tokens, metric, pct, scale, window, parts, order }: CompareView): string {
  const byDefault = compareView([]);
  const query = new URLSearchParams();
  if (tokens.length > 0) query.set('tokens', tokens.join(','));
  if (metric !== byDefault.metric) query.set('metric', metric);
  if (pct !== byDefault.pct) query.set('pct', String(pct));
  if (scale !== byDefault.scale) query.set('scale', scale);
  if (window !== byDefault.window) query.set('window', window);
  if (parts !== null) query.set('group', parts);
  setOrder(query, order);
  return `#/compare${queryText(query)}`;
}

/** The key in a fragment `#key=...`, or `#key=...&remember` if this browser should keep it; null if there is none. */
export function keyOf(hash: string): { key: string; isKept: boolean } | null {
  const [, key, remember] = /^#key=([\w-]+)(&remember)?$/.exec(hash) ?? [];
  return key === undefined ? null : { key, isKept: remember !== undefined };
}

/** The query with readable commas. */
function queryText(query: URLSearchParams): string {
  return query.size === 0 ? '' : `?${query.toString().replaceAll('%2C', ',')}`;
}

function listOf(text: string | null): string[] {
  return text === null ? [] : text.split(',').filter((one) => one !== '');
}

function windowOf(query: URLSearchParams): Window {
  const [fromS, toS] = [wholeNumberOf(query.get('from')), wholeNumberOf(query.get('to'))];
  if (fromS !== null && toS !== null && fromS < toS) return { fromS, toS };
  const named = query.get('window');
  if (named === 'all') return 'all';
  return PRESETS.find((one) => one === named) ?? DEFAULT_VIEW.window;
}

function zoomOf(query: URLSearchParams): Zoom | null {
  const [from = '', to = ''] = (query.get('zoom') ?? '').split(',');
  const prices = rangeOf(query.get('prices') ?? '');
  if (to === 'now' && from.startsWith('-')) {
    const beforeS = wholeNumberOf(from.slice(1)) ?? 0;
    return beforeS > 0 ? { fromS: -beforeS, toS: null, prices } : null;
  }
  const [fromS, toS] = [wholeNumberOf(from), wholeNumberOf(to)];
  return fromS !== null && toS !== null && fromS < toS ? { fromS, toS, prices } : null;
}

const rangeText = ({ lowUsd, highUsd }: NonNullable<Zoom['prices']>): string =>
  [lowUsd, highUsd].map((usd) => String(Number(usd.toPrecision(6)))).join();

/** Two amounts of USD, the lower one first. */
function rangeOf(text: string): Zoom['prices'] {
  const [lowUsd = 0, highUsd = 0] = text.split(',').map(Number);
  return lowUsd > 0 && highUsd > lowUsd && highUsd < Infinity ? { lowUsd, highUsd } : null;
}

function orderOf(query: URLSearchParams): Order {
  const usd = Number(query.get('usd'));
  return {
    side: SIDES.find((one) => one === query.get('side')) ?? NO_ORDER.side,
    usd: isOrderUsd(usd) ? usd : null,
    unit: COST_UNITS.find((one) => one === query.get('cost')) ?? NO_ORDER.unit,
  };
}

function setOrder(query: URLSearchParams, { side, usd, unit }: Order): void {
  if (side !== NO_ORDER.side) query.set('side', side);
  if (usd !== null) query.set('usd', String(usd));
  if (unit !== NO_ORDER.unit) query.set('cost', unit);
}

function wholeNumberOf(text: string | null): number | null {
  return text !== null && /^\d{1,11}$/.test(text) ? Number(text) : null;
}

/** The band of a query, within the API's limits. */
function bandOf(query: URLSearchParams): Band {
  const pctOf = (name: string, fallback: number): number => {
    const value = Number(query.get(name) ?? fallback);
    return value >= -90 && value <= 1000 ? value : fallback;
  };
  const band = {
    minPct: pctOf('min_pct', FULL_BAND.minPct),
    maxPct: pctOf('max_pct', FULL_BAND.maxPct),
  };
  return band.minPct < band.maxPct ? band : FULL_BAND;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
