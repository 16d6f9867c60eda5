/** Deletes depth with the same commits as an ingest. */
import type { Tier } from '../compute/market.js';
import type { Removed } from '../compute/segment/remove.js';
import type { DeleteFrame, DeleteHoldersFrame } from './bundle.js';
import type { TokenName } from './contract.js';
import { addRemoved, nothingRemoved } from './depth/depth-commit.js';
import { byTier } from './depth/directory.js';
import { commitOrRehearse } from './ingest/ingest.js';
import type { UseStore } from './operations.js';
import { withBundle } from './ingest/prepared.js';

/** Tokens per transaction. */
const PRUNED_AT_ONCE = 64;
/** Shrinking ends after this many steps without success. */
const FUTILE_STEPS = 8;

interface Deleting {
  /** The data directory; it holds a store. */
  directory: string;
  useStore: UseStore;
  /** Whether to count what would be deleted, without deleting it. */
  dryRun: boolean;
}

type Deletion = DeleteFrame | DeleteHoldersFrame;

/** @throws InputError if the store does not know the token, or a market, or has nothing to delete | StoreBusyError */
export function deleteSnapshots(request: Deleting, what: Deletion): Promise<Removed> {
  return deleteAll(request, 'delete', [what]);
}

async function deleteAll(
  { directory, useStore, dryRun }: Deleting,
  file: string,
  deletions: readonly Deletion[],
): Promise<Removed> {
  const { bundle } = await withBundle({ directory, file, mode: 'replace' }, async (writer) => {
    for (const deletion of deletions) await writer.write(deletion);
  });
  try {
    const { deleted } = await commitOrRehearse(useStore, bundle.name, dryRun);
    return deleted;
  } finally {
    await bundle.discard();
  }
}

interface PruneRequest extends Deleting {
  beforeS: number;
  /** null: all tiers. */
  tier: Tier | null;
  /** null: all tokens. */
  token: TokenName | null;
  /** @param share completed share of the tokens, 0 to 1 */
  onProgress?: (share: number) => void;
}

/**
 * Deletes snapshots before a time, a few tokens per transaction: if it is interrupted, the other tokens keep theirs.
 * @throws InputError if the store does not know the token | StoreBusyError
 */
export async function pruneDepth(request: PruneRequest): Promise<Removed> {
  const { directory, useStore, dryRun, beforeS, tier, token, onProgress } = request;
  const cutoffs = byTier((each) => (tier === null || tier === each ? beforeS : 0));
  const tokens = token ? [token] : await useStore((store) => store.tokensBefore(cutoffs));
  const what = { fromS: 0, toS: beforeS, tier, markets: null, needsAny: false };
  const kind = 'delete' as const;
  const removed = nothingRemoved();
  for (let done = 0; done < tokens.length; done += PRUNED_AT_ONCE) {
    onProgress?.(done / tokens.length);
    const some = tokens.slice(done, done + PRUNED_AT_ONCE);
    const deletions = some.map((name) => ({ kind, ...name, ...what }));
    addRemoved(removed, await deleteAll({ directory, useStore, dryRun }, 'prune', deletions));
  }
  return removed;
}

/** Makes the database's file as small as possible. @returns its bytes before and after */
export async function shrinkStore(useStore: UseStore): Promise<{ before: number; after: number }> {
  const before = await useStore((store) => store.bytes());
  let least = Infinity;
  for (let futile = 0; futile < FUTILE_STEPS; futile++) {
    const { bytes, isDone } = await useStore((store) => store.shrink());
    if (isDone) break;
    if (bytes < least) futile = -1;
    least = Math.min(least, bytes);
  }
  return { before, after: await useStore((store) => store.bytes()) };
}
