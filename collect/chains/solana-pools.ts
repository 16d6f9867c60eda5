/** Pools of Solana at one slot. */
import { setImmediate } from 'node:timers/promises';
import { keyBytes } from '../../compute/base58.js';
import type { PoolToken } from '../../storage/import/pool-states.js';
import { RpcError } from './json-rpc.js';
import type { PoolState } from './pool-state.js';
import { programAddress } from './program-address.js';
import {
  AccountFault,
  decimalsOf,
  POOL_PROGRAMS,
  type PoolHead,
  type PoolProgram,
} from './solana-layouts.js';
import {
  type Account,
  AccountFields,
  type AtSlot,
  MAX_ACCOUNTS,
  type SolanaNode,
} from './solana-node.js';
import { symbolOf } from './symbols.js';

/** Readings in a row, in each of which a price may leave the accounts that were read. */
const MAX_TRIES = 4;
/** Addresses that are derived before other work has its turn: some 5 ms. */
const MAX_TURN_ADDRESSES = 100;
/** The program of tokens' names: key, authority and mint, then name, symbol and address of more, each with its length. */
const METADATA = 'metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s';
const NAME_AT = 65;

/** States of pools at a slot, in their order, with the reason in place of a state that cannot be read. */
export interface PoolsAtSlot {
  slot: number;
  /** Epoch seconds. */
  timeS: number;
  states: (PoolState | Error)[];
}

/** @throws RpcError */
export async function readSolanaPools(
  node: SolanaNode,
  pools: readonly SolanaPool[],
  signal: AbortSignal,
): Promise<PoolsAtSlot> {
  for (let tries = 1; ; tries++) {
    const addresses = [...new Set(pools.flatMap((pool) => pool.addresses()))];
    if (addresses.length > MAX_ACCOUNTS) {
      const what = `the token's pools have ${addresses.length} accounts, more than the ${MAX_ACCOUNTS} of one reading`;
      throw new RpcError('refused', `${what}: collect some of them with another collector`);
    }
    const at = await node.accounts(addresses, signal);
    const states: (PoolState | Error | null)[] = [];
    for (const pool of pools) {
      // A pool of hundreds of accounts takes some 50 ms.
      await setImmediate();
      states.push(await stateOf(pool, at));
    }
    signal.throwIfAborted();
    const whole = states.filter((state) => state !== null);
    if (whole.length === states.length) return { slot: at.slot, timeS: at.timeS, states: whole };
    if (tries === MAX_TRIES) throw new RpcError('behind', 'the prices move faster than reading');
  }
}

async function stateOf(pool: SolanaPool, at: AtSlot): Promise<PoolState | Error | null> {
  try {
    return await pool.stateAt(at);
  } catch (error) {
    // Reading past an account's end is a RangeError.
    const isCut = error instanceof RangeError;
    if (!isCut && !(error instanceof AccountFault)) throw error;
    return new AccountFault(
      `${pool.address}: ${isCut ? 'an account is cut: ' : ''}${error.message}`,
    );
  }
}

/** A pool, and where its accounts are. */
export class SolanaPool {
  private head: PoolHead | null = null;
  /** Addresses of the accounts of its depth, by number. */
  private depth = new Map<number, string>();
  /** The accounts that name its tokens. */
  private metadata: string[] = [];

  /** @param programs those that it may be of */
  constructor(
    readonly address: string,
    private readonly programs: readonly PoolProgram[],
  ) {}

  /** Addresses whose accounts `stateAt` looks at, as far as they are known. */
  addresses(): string[] {
    const mints = this.head?.mints ?? [];
    return [this.address, ...mints, ...this.metadata, ...this.depth.values()];
  }

  /**
   * The pool's state, or null if accounts are missing that `addresses` names from now on.
   * @throws AccountFault, RangeError
   */
  async stateAt({ accounts }: AtSlot): Promise<PoolState | null> {
    const account = accounts.get(this.address);
    if (!account) {
      throw new AccountFault("there is no such account: is rpc a node of the pool's chain?");
    }
    const program = this.programs.find(({ program: id }) => id === account.owner);
    if (program === undefined) throw new AccountFault(this.strange(account.owner));
    await this.follow(program.readPool(this.address, new AccountFields(account.data)));
    if (this.addresses().some((address) => !accounts.has(address))) return null;
    const found = (address: string) => accounts.get(address) ?? null;
    const head = this.head!;
    const sides = head.mints.map((mint, i): PoolToken => {
      const symbol = readSymbol(found(this.metadata[i]), mint);
      return { address: mint, decimals: decimalsOf(found(mint)), symbol };
    });
    const depth = head.depthAccounts.map((number) => found(this.depth.get(number)!));
    return { layout: program.layout, sides: [sides[0], sides[1]], fields: head.fields(depth) };
  }

  /** Why an account of another program cannot be read, and what to do. */
  private strange(owner: string): string {
    const other = POOL_PROGRAMS.find(({ program }) => program === owner);
    if (other !== undefined) {
      return `its account belongs to ${other.venue}'s ${owner}: expected "kind": "${other.kind}"`;
    }
    const expected = this.programs.map(({ program }) => program).join(' or ');
    return `its account belongs to ${owner}, not to ${expected}: it is no pool of this kind`;
  }

  private async follow(head: PoolHead): Promise<void> {
    const { mints, depthAccounts } = head;
    if (this.metadata.length === 0) this.metadata = mints.map(metadataAddress);
    const depth = new Map<number, string>();
    let derived = 0;
    for (const number of depthAccounts) {
      const known = this.depth.get(number);
      if (known === undefined && ++derived % MAX_TURN_ADDRESSES === 0) await setImmediate();
      depth.set(number, known ?? head.addressOf(number));
    }
    [this.head, this.depth] = [head, depth];
  }
}

function metadataAddress(mint: string): string {
  return programAddress(METADATA, [Buffer.from('metadata'), keyBytes(METADATA), keyBytes(mint)]);
}

/** The token's symbol; null if it has none here. */
function readSymbol(account: Account | null, mint: string): string | null {
  if (account?.owner !== METADATA) return null;
  try {
    const fields = new AccountFields(account.data);
    if (fields.key(33) !== mint) return null;
    const symbolAt = NAME_AT + 4 + fields.u32(NAME_AT);
    return symbolOf(fields.bytes(symbolAt + 4, fields.u32(symbolAt)));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
