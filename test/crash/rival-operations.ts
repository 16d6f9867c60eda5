/** Operations of rivals on one store, of which no two delete the same row. */
import type { Operation } from '../walk/model.js';
import type { Habits } from '../walk/operations.js';
import { TOKENS } from '../walk/times.js';
import type { State } from './state.js';

/** Without a store nothing can be checked, copied or deleted. */
const FRESH: Habits['shares'] = { ingest: 86, merge: 10, create: 4 };
const SHARES: Habits['shares'] = {
  ...FRESH,
  ingest: 68,
  revoke: 5,
  prune: 4,
  delete: 2,
  backup: 4,
  check: 3,
};

/** What only this rival may do in a round. */
export interface Share {
  /** Keys that it revokes, and tokens that it prunes, each once. */
  keys: readonly string[];
  tokens: readonly string[];
  /** Whether it deletes markets, once. */
  deletes: boolean;
}

export interface Course {
  /** Whether there is a store at the beginning. */
  hasStore: boolean;
  /** The first slot that snapshots may use. */
  firstSlot: number;
}

export function rivalOperation(
  { operations, rows }: State,
  { hasStore, firstSlot }: Course,
  share: Share,
  random: () => number,
): Operation {
  const shares = hasStore ? { ...SHARES, ...(share.deletes ? {} : { delete: 0 }) } : FRESH;
  const view = { rows, keys: share.keys, prunable: share.tokens, firstSlot };
  const operation = operations.next(view, random, shares);
  if (operation.kind === 'revoke') share.keys = share.keys.filter((id) => id !== operation.id);
  if (operation.kind === 'prune') share.tokens = share.tokens.filter((t) => t !== operation.token);
  if (operation.kind === 'delete') share.deletes = false;
  return operation;
}

/** Distributes keys, tokens and deletions over the rivals. */
export function sharesOf(keys: readonly string[], rivals: number, deletes: boolean): Share[] {
  return Array.from({ length: rivals }, (_, i) => ({
    keys: keys.filter((_id, k) => k % rivals === i),
    tokens: deletes ? TOKENS.filter((_token, k) => k % rivals === i) : [],
    deletes: deletes && i === rivals - 1,
  }));
}
