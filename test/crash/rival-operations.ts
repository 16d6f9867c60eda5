/**
 * Operations of rivals on one store: those of operations.ts, merges, keys, checks, and deletions,
 * each row at most once.
 */
import path from 'node:path';
import { DATASETS } from '../../storage/ingest/datasets.js';
import {
  isDepthBefore,
  MARKET,
  MERGED,
  mergedRow,
  type Operation,
  type Operations,
  SLOTS,
  timeOf,
  TOKENS,
} from './operations.js';
import type { State } from './state.js';

/** Snapshots of the token whose markets are merged, and its markets. */
const MERGED_SNAPSHOTS = 60;
const MERGED_MARKETS = 4;
const MERGED_AT_ONCE = 12;
/** Retention may empty half of the slots, and also makes the hour behind them coarser. */
export const SLOTS_BEHIND_RETENTION = SLOTS / 2 + 60;

/** What only this rival may do in a round. */
export interface Share {
  /** Keys that it revokes, and tokens that it prunes, each once. */
  keys: string[];
  tokens: string[];
  /** Whether it deletes a market. */
  deletes: boolean;
}

export interface Course {
  /** Whether there is a store at the beginning: without one nothing can be checked, copied or pruned. */
  hasStore: boolean;
  /** The first slot that snapshots may use. */
  firstSlot: number;
}

export function rivalOperation(
  { operations, folder, rows }: State,
  { hasStore, firstSlot }: Course,
  share: Share,
  random: () => number,
): Operation {
  const below = (end: number): number => Math.floor(random() * end);
  const number = operations.nextNumber();
  const nothing = { number, brings: new Map<string, number | null>() };
  const drawn = random();
  if (drawn < 0.1) return merge(operations, number, random);
  if (drawn < 0.14) {
    const name = `k${number}`;
    return { ...nothing, kind: 'create', name, brings: new Map([[`key ${name}`, 1]]) };
  }
  if (hasStore) {
    if (drawn < 0.18) {
      return { ...nothing, kind: 'backup', out: path.join(folder, `backup-${number}`) };
    }
    if (drawn < 0.21) return { ...nothing, kind: 'check' };
    if (drawn < 0.26) {
      const id = share.keys.pop();
      if (id !== undefined) {
        return { ...nothing, kind: 'revoke', id, brings: new Map([[`revoked ${id}`, 1]]) };
      }
    } else if (drawn < 0.3) {
      const token = share.tokens.pop();
      const beforeS = timeOf(below(SLOTS / 2));
      // A command refuses a token that the store does not know.
      if (
        token !== undefined &&
        [...rows.keys()].some((name) => isDepthBefore(name, token, Infinity))
      ) {
        return { ...nothing, kind: 'prune', token, beforeS, shrinks: random() < 0.3 };
      }
    } else if (drawn < 0.32 && share.deletes) {
      share.deletes = false;
      const market = `m${below(MERGED_MARKETS)}`;
      if ([...rows.keys()].some((name) => name.startsWith('merged ') && name.endsWith(market))) {
        return { ...nothing, kind: 'delete', token: MERGED, market };
      }
    }
  }
  return operations.ingest(number, DATASETS[below(DATASETS.length)], firstSlot);
}

/** Distributes keys, tokens and deletions over the rivals. */
export function sharesOf(keys: readonly string[], rivals: number, deletes: boolean): Share[] {
  return Array.from({ length: rivals }, (_, i) => ({
    keys: keys.filter((_id, k) => k % rivals === i),
    tokens: deletes ? TOKENS.filter((_token, k) => k % rivals === i) : [],
    deletes: deletes && i === rivals - 1,
  }));
}

/** Merges one market into some snapshots; every amount is the file's number in cents, plus ten dollars. */
function merge(operations: Operations, n: number, random: () => number): Operation {
  const below = (end: number): number => Math.floor(random() * end);
  const market = `m${below(MERGED_MARKETS)}`;
  const first = SLOTS_BEHIND_RETENTION + below(MERGED_SNAPSHOTS - MERGED_AT_ONCE);
  // Less than a dollar is not stored.
  const cents = n + 1000;
  const amount = cents / 100;
  const rows = Array.from({ length: 1 + below(MERGED_AT_ONCE) }, (_, i) => {
    const t = timeOf(first + i);
    const cells = Array.from({ length: 8 }, (_cell, bin) => [bin - 4, amount, amount]);
    const row = {
      chain: 'mainchain',
      address: MERGED,
      tier: 'raw',
      t,
      price_usd: 1,
      markets: [{ ...MARKET, address: market, cells }],
    };
    return { name: mergedRow(t, market), row };
  });
  const brings = new Map(rows.map(({ name }) => [name, cents]));
  return { ...operations.ingestOf(n, 'snapshots', rows), brings, merge: true };
}
