/** Tokens' newest snapshots in memory, within a bound of bytes. */
import { bytesOfCells, type SnapshotCells } from '../../compute/segment/snapshots.js';
import type { Market } from '../../compute/market.js';
import type { SnapshotRef } from '../../storage/contract.js';

/**
 * Bytes of all snapshots held. A snapshot of 1,000 cells takes 12 KB: the newest and the delayed one
 * of some ten thousand tokens. Past it the tokens asked for least recently are read when asked for.
 */
export const MAX_HELD_BYTES = 256 * 1024 * 1024;
/** What a snapshot takes beside its columns. */
const SNAPSHOT_OVERHEAD_BYTES = 1024;

/** A segment never changes: a snapshot that was written anew lies in another one. */
export function isSamePlace(a: SnapshotRef, b: SnapshotRef): boolean {
  return a.segmentId === b.segmentId && a.row === b.row;
}

export interface HeldSnapshot {
  place: SnapshotRef;
  cells: SnapshotCells;
}

/** What is held of one token; both are the same object where they are the same snapshot. */
export interface HeldToken {
  newest: HeldSnapshot | null;
  delayed: HeldSnapshot | null;
  /** The token's markets, which the cells index. */
  markets: readonly Market[];
}

export class HeldDepth {
  /** By token id, the least recently used first. */
  private readonly tokens = new Map<number, { held: HeldToken; bytes: number }>();
  private bytes = 0;

  constructor(private readonly maxBytes: number = MAX_HELD_BYTES) {}

  /** Bytes of all that is held. */
  get heldBytes(): number {
    return this.bytes;
  }

  get heldTokens(): number {
    return this.tokens.size;
  }

  /** What is held of a token, which counts as a use; null: it is to be read. */
  get(tokenId: number): HeldToken | null {
    const found = this.tokens.get(tokenId);
    if (found === undefined) return null;
    this.tokens.delete(tokenId);
    this.tokens.set(tokenId, found);
    return found.held;
  }

  put(tokenId: number, held: HeldToken): void {
    this.drop(tokenId);
    const bytes = bytesOfToken(held);
    this.tokens.set(tokenId, { held, bytes });
    this.bytes += bytes;
    for (const oldest of this.tokens.keys()) {
      if (this.bytes <= this.maxBytes || oldest === tokenId) break;
      this.drop(oldest);
    }
  }

  private drop(tokenId: number): void {
    const found = this.tokens.get(tokenId);
    if (found === undefined) return;
    this.tokens.delete(tokenId);
    this.bytes -= found.bytes;
  }
}

function bytesOfToken({ newest, delayed }: HeldToken): number {
  const snapshots = new Set([newest, delayed]);
  let bytes = SNAPSHOT_OVERHEAD_BYTES;
  for (const snapshot of snapshots) {
    if (snapshot !== null) bytes += bytesOfCells(snapshot.cells) + SNAPSHOT_OVERHEAD_BYTES;
  }
  return bytes;
}
