/** What the latest commits left of tokens' holder histories, so that the next ones need not read it. */
import type { OwnerTable } from '../../compute/holders/owners.js';
import type { HolderBlockRef } from './holder-blocks.js';

/** Owners of all states in memory, at about 70 bytes each: 70 MB. */
const MAX_KEPT_OWNERS = 1_000_000;

/** A token's blocks and owners as its last commit left them. */
export interface TokenState {
  refs: HolderBlockRef[];
  owners: OwnerTable;
  /** Owners when those in use were last counted. */
  countedOwners: number;
}

export class TokenStates {
  /** Least recently kept first. */
  private readonly states = new Map<number, TokenState>();
  private owners = 0;

  /** Takes a state out: whoever changes it keeps the result, or nothing where that came to nothing. */
  take(holderId: number): TokenState | undefined {
    const state = this.states.get(holderId);
    if (state !== undefined) {
      this.states.delete(holderId);
      this.owners -= state.owners.size;
    }
    return state;
  }

  keep(holderId: number, state: TokenState): void {
    this.take(holderId);
    this.states.set(holderId, state);
    this.owners += state.owners.size;
    for (const oldest of this.states.keys()) {
      if (this.owners <= MAX_KEPT_OWNERS) break;
      this.take(oldest);
    }
  }
}
