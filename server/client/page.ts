/** A replay page as a client gets it: JSON of api.md 4.13, checked before it is used. */

export interface RemoteMarket {
  source: string;
  exchange_type: string;
  address: string | null;
  pair: string | null;
}

export interface RemoteGroup {
  key: string;
  label: string;
  type: string;
}

export interface RemoteFacet {
  key: string;
  label: string;
  /** Of a venue. */
  type?: string;
  usd: number;
}

export interface RemoteSnapshot {
  t: number;
  tier: string;
  price_usd: number;
  /** One of them, or neither with group=all. */
  market_idx?: number[];
  group_idx?: number[];
  bin: number[];
  support_usd: number[];
  resistance_usd: number[];
}

export interface RemotePage {
  token: string;
  resolved_token?: string;
  chain: string;
  window: { from: number; to: number; clamped: boolean };
  next_from: number | null;
  group: string;
  filter: Record<string, unknown> & { venues_not_found: string[] };
  markets_mode: string;
  min_pct: number;
  max_pct: number;
  bin_ratio: number;
  snapshot_count: number;
  row_count: number;
  markets: RemoteMarket[];
  groups: RemoteGroup[];
  facets?: { frames: number; types: RemoteFacet[]; venues: RemoteFacet[] };
  snapshots: RemoteSnapshot[];
}

/** What came is no replay page; the message says what was expected instead. */
export class PageFault extends Error {
  override readonly name = 'PageFault';
}

/** Key of a snapshot's indexes into the page's markets or groups; null with group=all. */
export function indexKeyOf(group: string): 'market_idx' | 'group_idx' | null {
  if (group === 'all') return null;
  return group === 'market' ? 'market_idx' : 'group_idx';
}

/** What a page's indexes point at: its markets or its groups; nothing with group=all. */
export function slotsOf(page: RemotePage): readonly (RemoteMarket | RemoteGroup)[] {
  if (page.group === 'all') return [];
  return page.group === 'market' ? page.markets : page.groups;
}

/**
 * Reads a page's text. Fields that are not known here stay on the object as they came.
 * @throws PageFault
 */
export function parsePage(text: string): RemotePage {
  let page: Partial<RemotePage> | null;
  try {
    page = JSON.parse(text) as Partial<RemotePage> | null;
  } catch {
    throw new PageFault('expected JSON');
  }
  if (typeof page !== 'object' || page === null) throw new PageFault('expected a JSON object');
  for (const name of ['token', 'chain', 'group', 'markets_mode'] as const) {
    expect(typeof page[name] === 'string', name, 'a text');
  }
  for (const name of ['min_pct', 'max_pct', 'bin_ratio'] as const) {
    expect(typeof page[name] === 'number', name, 'a number');
  }
  const { window, next_from: nextFrom, filter } = page;
  expect(isTime(window?.from) && isTime(window.to), 'window', 'times from and to');
  expect(nextFrom === null || isTime(nextFrom), 'next_from', 'a time or null');
  expect(Array.isArray(filter?.venues_not_found), 'filter.venues_not_found', 'an array');
  for (const name of ['markets', 'groups', 'snapshots'] as const) {
    expect(Array.isArray(page[name]), name, 'an array');
  }
  const whole = page as RemotePage;
  checkFacets(whole);
  whole.snapshots.forEach((snapshot, s) => checkSnapshot(whole, snapshot, s));
  return whole;
}

function checkFacets({ facets, group }: RemotePage): void {
  if (facets === undefined && group === 'all') return;
  const complete = Array.isArray(facets?.types) && Array.isArray(facets.venues);
  expect(complete && Number.isInteger(facets.frames), 'facets', 'frames, types and venues');
}

function checkSnapshot(page: RemotePage, snapshot: RemoteSnapshot, s: number): void {
  const name = `snapshots[${s}]`;
  expect(typeof snapshot === 'object' && snapshot !== null, name, 'an object');
  expect(isTime(snapshot.t), `${name}.t`, 'a time');
  expect(typeof snapshot.tier === 'string', `${name}.tier`, 'a text');
  expect(Number.isFinite(snapshot.price_usd), `${name}.price_usd`, 'a number');
  const length = Array.isArray(snapshot.bin) ? snapshot.bin.length : -1;
  expect(isColumn(snapshot.bin, length), `${name}.bin`, 'numbers');
  for (const column of ['support_usd', 'resistance_usd'] as const) {
    expect(isColumn(snapshot[column], length), `${name}.${column}`, `${length} numbers`);
  }
  const key = indexKeyOf(page.group);
  if (key === null) return;
  const index = snapshot[key];
  const slots = slotsOf(page).length;
  const pointsAtSlots =
    isColumn(index, length) && index.every((i) => Number.isInteger(i) && i >= 0 && i < slots);
  expect(pointsAtSlots, `${name}.${key}`, `${length} indexes below ${slots}`);
}

function isColumn(value: unknown, length: number): value is number[] {
  return (
    Array.isArray(value) &&
    value.length === length &&
    value.every((item) => typeof item === 'number')
  );
}

/** Whole epoch seconds. */
function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function expect(condition: boolean, name: string, expected: string): asserts condition {
  if (!condition) throw new PageFault(`${name}: expected ${expected}`);
}
