/** What a browser keeps of alerts: what they wait for, what they have seen, and what fired; and the text in which it does. */
import { KINDS, type Rule, type Seen, SIDES, UNSEEN } from './rules.js';

/** Of what is kept: another version is not read. */
const VERSION = 1;
/** Most alerts of a browser. */
export const MAX_RULES = 20;
/** Most tokens that alerts are about: each takes a live connection, of which a plan allows at least ten a key. */
export const MAX_TOKENS = 5;
/** Greatest distance from the price of an alert about depth, in percent: the ladder reaches farther below the price. */
export const MAX_PCT = 50;
/** What fired last; the earliest are removed first. */
export const MAX_FIRED = 100;

export interface Fired {
  id: string;
  address: string;
  symbol: string | null;
  text: string;
  /** Time of the snapshot, epoch seconds. */
  dataT: number;
  /** When this browser saw it, by its own clock, epoch seconds. */
  seenT: number;
  /** Whether it was dismissed, or the list has shown it. */
  isRead: boolean;
}

export interface Kept {
  rules: readonly Rule[];
  /** By the id of the rule. */
  seen: Readonly<Record<string, Seen>>;
  /** The newest first. */
  fired: readonly Fired[];
  hasSound: boolean;
  hasNotification: boolean;
}

export const NOTHING: Kept = {
  rules: [],
  seen: {},
  fired: [],
  hasSound: false,
  hasNotification: false,
};

export const textOf = (all: Kept): string => JSON.stringify({ version: VERSION, ...all });

/** Why no alert about a token can be added; null if it can. */
export function refusal({ rules }: Kept, address: string): string | null {
  const addresses = new Set(rules.map((rule) => rule.address));
  if (rules.length >= MAX_RULES) return `This browser keeps ${MAX_RULES} alerts: delete one first`;
  if (!addresses.has(address) && addresses.size >= MAX_TOKENS) {
    return `Alerts can be about ${MAX_TOKENS} tokens: delete those of another token first`;
  }
  return null;
}

/** What a text of this browser's storage says, without whatever is not as it should be. */
export function keptOf(text: string | null): Kept | null {
  let found: Partial<Kept> & { version?: unknown };
  try {
    found = JSON.parse(text ?? 'null') as typeof found;
  } catch {
    return null;
  }
  if (found?.version !== VERSION) return null;
  const rules = listOf(found.rules).filter(isRule);
  const seen = Object.fromEntries(rules.map(({ id }) => [id, seenOf(found.seen?.[id])]));
  return bounded({
    rules,
    seen,
    // What earlier versions kept has no `isRead`: it was read.
    fired: listOf(found.fired)
      .filter(isFired)
      .map((one) => ({ ...one, isRead: one.isRead !== false })),
    hasSound: found.hasSound === true,
    hasNotification: found.hasNotification === true,
  });
}

/** Within the bounds, and with something seen for each rule. */
export function bounded(all: Kept): Kept {
  const rules = all.rules.slice(0, MAX_RULES);
  const seen = rules.map(({ id }): [string, Seen] => [id, all.seen[id] ?? UNSEEN]);
  return { ...all, rules, seen: Object.fromEntries(seen), fired: all.fired.slice(0, MAX_FIRED) };
}

/** Marks what has fired as read. @param id of one of it; without one, all */
export function markedRead(all: Kept, id?: string): Kept {
  const isMeant = (one: Fired): boolean => !one.isRead && (id ?? one.id) === one.id;
  if (!all.fired.some(isMeant)) return all;
  return { ...all, fired: all.fired.map((one) => (isMeant(one) ? { ...one, isRead: true } : one)) };
}

/** A record without the entries of other keys; the same one if it has none of those. */
export function only<T>(all: Readonly<Record<string, T>>, keys: ReadonlySet<string>) {
  const entries = Object.entries(all).filter(([key]) => keys.has(key));
  return entries.length === Object.keys(all).length ? all : Object.fromEntries(entries);
}

const listOf = (list: unknown): unknown[] => (Array.isArray(list) ? list : []);

function isRule(found: unknown): found is Rule {
  const rule = found as Partial<Record<string, unknown>> | null;
  if (typeof rule !== 'object' || rule === null) return false;
  const { id, address, symbol, kind, side } = rule;
  const amounts = { depth: ['pct', 'belowUsd'], score: ['below'], wall: ['usd'] };
  return (
    typeof id === 'string' &&
    typeof address === 'string' &&
    (symbol === null || typeof symbol === 'string') &&
    KINDS.some((one) => one === kind) &&
    (kind === 'score' || SIDES.some((one) => one === side)) &&
    amounts[kind as Rule['kind']].every((name) => Number(rule[name]) > 0)
  );
}

function seenOf(found: Partial<Seen> | undefined): Seen {
  const walls = listOf(found?.walls) as NonNullable<Seen['walls']>;
  const isWhole = walls.every(
    ({ side, priceUsd, usd }) => SIDES.includes(side) && priceUsd * usd > 0,
  );
  return {
    isOn: typeof found?.isOn === 'boolean' ? found.isOn : null,
    walls: Array.isArray(found?.walls) && isWhole ? walls : null,
  };
}

function isFired(found: unknown): found is Fired {
  const { id, address, text, dataT, seenT } = (found ?? {}) as Partial<Fired>;
  const areTexts = [id, address, text].every((one) => typeof one === 'string');
  return areTexts && Number.isFinite(dataT) && Number.isFinite(seenT);
}
