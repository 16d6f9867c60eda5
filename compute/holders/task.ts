/** Holder flow as a task of the pool: stored blocks in, the flow out. */
import { holderFlow, type HolderFlow } from './flow.js';
import { decodeHolderBlock, type HolderSnapshot, type OwnerNames } from './history.js';
import { neededTimes, type FlowPlan } from './needed.js';

export interface HolderFlowInput {
  plan: FlowPlan;
  /** Encoded by encodeHolderBlock; they hold the snapshots of the plan, and perhaps others. */
  blocks: readonly Uint8Array[];
  /** Of all owners in the blocks. */
  names: OwnerNames;
}

/**
 * @returns null where the blocks lack a snapshot of the plan: the store has changed since it was made
 * @throws Error where a block is damaged
 */
export function flowOfBlocks({ plan, blocks, names }: HolderFlowInput): HolderFlow | null {
  const times = neededTimes(plan);
  const snapshots = new Map<number, HolderSnapshot>();
  for (const block of blocks) {
    for (const snapshot of decodeHolderBlock(block, times)) snapshots.set(snapshot.t, snapshot);
  }
  if (times.some((t) => !snapshots.has(t))) return null;
  return holderFlow(plan, snapshots, names);
}
