/** The plain model of a store: its rows by name, and what operations make of them. */
import { type Tier, TIER_LENGTH_S, TIERS } from '../../compute/market.js';
import type { Dataset } from '../../storage/ingest/datasets.js';

/**
 * Stored rows by name, as text. Each market of a snapshot is a row, whose text begins with the snapshot's price; a
 * snapshot without cells is the row of NO_MARKET.
 */
export type Rows = ReadonlyMap<string, string>;

/** In place of a market: the snapshot has no cells. */
export const NO_MARKET = '-';

/** What a file brings. */
export interface Brought {
  /** null: a merge of a market without cells. */
  rows: ReadonlyMap<string, string | null>;
  /** Prices by snapshot. */
  snapshots: ReadonlyMap<string, number>;
  /** Tokens and their markets, in the order of the rows. */
  arrivals: readonly (readonly [token: string, market: string])[];
}

export type Operation = { number: number } & (
  | { kind: 'ingest'; dataset: Dataset; file: string; merge: boolean; brings: Brought }
  | { kind: 'prune'; token: string; beforeS: number; shrinks: boolean }
  | { kind: 'delete'; token: string; fromS: number; toS: number; market: string | null }
  | { kind: 'create'; name: string }
  | { kind: 'revoke' | 'rotate'; id: string }
  | { kind: 'backup'; out: string }
  | { kind: 'check' }
);

/** The name of a token's snapshot, with which the names of its rows begin. */
export const snapshotName = (token: string, t: number, tier: Tier = 'raw'): string =>
  `depth ${token} ${t} ${tier}`;

/** @param market as in `fathom delete --market`; without it, the snapshot has no cells */
export const depthRow = (snapshot: string, market = NO_MARKET): string => `${snapshot} ${market}`;

export interface DepthName {
  snapshot: string;
  token: string;
  t: number;
  tier: Tier;
  market: string;
}

/** The parts of a depth row's name; null for other rows. */
export function depthName(name: string): DepthName | null {
  if (!name.startsWith('depth ')) return null;
  const [kind, token, t, tier] = name.split(' ', 4);
  const snapshot = `${kind} ${token} ${t} ${tier}`;
  const market = name.slice(snapshot.length + 1);
  return { snapshot, token, t: Number(t), tier: tier as Tier, market };
}

/** `PRICE: BIN SUPPORT/RESISTANCE, ...` in cents, by bin; `PRICE` without cells. */
export function depthText(price: number, cells: readonly (readonly number[])[]): string {
  const sorted = [...cells].sort((a, b) => a[0] - b[0]);
  const texts = sorted.map(([bin, support, resistance]) => `${bin} ${support}/${resistance}`);
  return texts.length === 0 ? `${price}` : `${price}: ${texts.join(', ')}`;
}

export const priceIn = (text: string): number => Number.parseFloat(text);

/** `[bin, support, resistance]` in cents. */
export function cellsIn(text: string): number[][] {
  const [, cells] = text.split(': ');
  return cells === undefined ? [] : cells.split(', ').map((one) => one.split(/[ /]/).map(Number));
}

/** By snapshot: its price. */
export function pricesIn(rows: Rows): Map<string, number> {
  const prices = new Map<string, number>();
  for (const [name, text] of rows) {
    const depth = depthName(name);
    if (depth !== null) prices.set(depth.snapshot, priceIn(text));
  }
  return prices;
}

/**
 * What an operation makes of a row, whatever else is stored: its text, null if the row goes, undefined if it stays as it is.
 * Only snapshots without cells depend on other rows: see after().
 */
export function effectOn(name: string, operation: Operation): string | null | undefined {
  switch (operation.kind) {
    case 'ingest': {
      const { brings, merge } = operation;
      const text = brings.rows.get(name);
      if (text !== undefined) return text;
      const isReplaced = !merge && brings.snapshots.has(depthName(name)?.snapshot ?? '');
      return isReplaced ? null : undefined;
    }
    case 'prune': {
      const depth = depthName(name);
      const isIn = depth?.token === operation.token && depth.t < operation.beforeS;
      return isIn ? null : undefined;
    }
    case 'delete': {
      const { token, fromS, toS, market } = operation;
      const depth = depthName(name);
      if (depth?.token !== token || depth.t < fromS || depth.t >= toS) return undefined;
      return market === null || market === depth.market ? null : undefined;
    }
    case 'create':
      return name === `key ${operation.name}` ? '1' : undefined;
    case 'revoke':
      return name === `revoked ${operation.id}` ? '1' : undefined;
    default:
      return undefined;
  }
}

/** Names of the rows that an operation may add. */
export function addedBy(operation: Operation): Iterable<string> {
  if (operation.kind === 'ingest') return operation.brings.rows.keys();
  if (operation.kind === 'create') return [`key ${operation.name}`];
  return operation.kind === 'revoke' ? [`revoked ${operation.id}`] : [];
}

/** The rows after an operation that was not refused. */
export function after(rows: Rows, operation: Operation): Map<string, string> {
  const changed = new Map(rows);
  for (const name of [...rows.keys(), ...addedBy(operation)]) {
    const text = effectOn(name, operation);
    if (text === null) changed.delete(name);
    else if (text !== undefined) changed.set(name, text);
  }
  if (operation.kind !== 'ingest') return changed;
  const { brings, merge } = operation;
  const stored = merge ? pricesIn(rows) : new Map<string, number>();
  const filled = new Set<string>();
  for (const name of changed.keys()) {
    const depth = depthName(name);
    if (depth !== null && depth.market !== NO_MARKET) filled.add(depth.snapshot);
  }
  for (const [snapshot, price] of brings.snapshots) {
    const empty = depthRow(snapshot);
    if (filled.has(snapshot)) changed.delete(empty);
    else changed.set(empty, depthText(stored.get(snapshot) ?? price, []));
  }
  return changed;
}

/**
 * Whether a store with these rows refuses the operation: a merge whose cells are around another price than the snapshot's, or
 * a deletion of nothing.
 */
export function isRefused(rows: Rows, operation: Operation): boolean {
  if (operation.kind === 'delete') {
    return [...rows.keys()].every((name) => effectOn(name, operation) === undefined);
  }
  if (operation.kind !== 'ingest' || !operation.merge) return false;
  const { rows: brought, snapshots } = operation.brings;
  const prices = pricesIn(rows);
  // A row without markets has no cells around its price.
  return [...brought.keys()].some((name) => {
    const { snapshot } = depthName(name) as DepthName;
    return (prices.get(snapshot) ?? snapshots.get(snapshot)) !== snapshots.get(snapshot);
  });
}

/**
 * The rows after retention removed tokens' raw depth before a time and made coarser snapshots from it. If it was interrupted,
 * each token is at some step.
 * @param found the stored rows, if it was interrupted
 */
export function afterRetention(
  rows: Rows,
  tokens: readonly string[],
  beforeS: number,
  found?: Rows,
): Map<string, string> {
  return tokens.reduce<Map<string, string>>((left, token) => {
    const reached = found === undefined ? beforeS : (rawTimes(found, token)[0] ?? beforeS);
    return retired(left, token, Math.min(reached, beforeS), ['15m', '1h']);
  }, new Map(rows));
}

/** The rows after a token's raw depth before a time was replaced by coarser snapshots. */
export function retired(
  rows: Rows,
  token: string,
  beforeS: number,
  made: readonly Tier[],
): Map<string, string> {
  const left = new Map(rows);
  const stored = pricesIn(rows);
  const times = rawTimes(rows, token);
  /** By raw snapshot that goes: the coarse ones that are made from it. */
  const coarseOf = new Map<string, string[]>();
  for (const [i, t] of times.entries()) {
    if (t >= beforeS) break;
    const coarse = made.flatMap((tier) => {
      const end = Math.ceil(t / TIER_LENGTH_S[tier]) * TIER_LENGTH_S[tier];
      const isNewest = i + 1 === times.length || times[i + 1] > end;
      const name = snapshotName(token, end, tier);
      return isNewest && !stored.has(name) ? name : [];
    });
    coarseOf.set(snapshotName(token, t), coarse);
  }
  for (const [name, text] of rows) {
    const depth = depthName(name);
    const coarse = coarseOf.get(depth?.snapshot ?? '');
    if (depth === null || coarse === undefined) continue;
    left.delete(name);
    for (const snapshot of coarse) left.set(depthRow(snapshot, depth.market), text);
  }
  return left;
}

/** Times of a token's raw snapshots, ascending. */
function rawTimes(rows: Rows, token: string): number[] {
  const times = new Set<number>();
  for (const name of rows.keys()) {
    const depth = depthName(name);
    if (depth?.token === token && depth.tier === 'raw') times.add(depth.t);
  }
  return [...times].sort((a, b) => a - b);
}

/** Names of the rows that differ. */
export function differing(expected: Rows, found: Rows): string[] {
  const names = new Set([...expected.keys(), ...found.keys()]);
  return [...names].filter((name) => expected.get(name) !== found.get(name));
}

const SHOWN_CHARACTERS = 60;
const shown = (text: string | undefined): string => text?.slice(0, SHOWN_CHARACTERS) ?? 'none';

/** Descriptions of the rows that differ. */
export function differences(expected: Rows, found: Rows): string[] {
  return differing(expected, found).map(
    (name) => `${name}: expected ${shown(expected.get(name))}, found ${shown(found.get(name))}`,
  );
}

/** A stored snapshot; cells as `[market, bin, support, resistance]` in cents. */
interface PlainSnapshot {
  tier: Tier;
  t: number;
  price: number;
  cells: number[][];
}

/** A token's snapshots by tier, then time. @param markets the token's markets: cells have their indexes */
export function snapshotsIn(
  rows: Rows,
  token: string,
  markets: readonly string[],
): PlainSnapshot[] {
  const found = new Map<string, PlainSnapshot>();
  for (const [name, text] of rows) {
    const depth = depthName(name);
    if (depth?.token !== token) continue;
    const { snapshot, t, tier, market } = depth;
    const one = found.get(snapshot) ?? { tier, t, price: priceIn(text), cells: [] };
    found.set(snapshot, one);
    one.cells.push(...cellsIn(text).map((cell) => [markets.indexOf(market), ...cell]));
  }
  for (const { cells } of found.values()) cells.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const order = (a: PlainSnapshot, b: PlainSnapshot): number =>
    TIERS.indexOf(a.tier) - TIERS.indexOf(b.tier) || a.t - b.t;
  return [...found.values()].sort(order);
}
