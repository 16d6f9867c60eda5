/** Reads accounts of Solana at one slot. */
import { isFields } from '../../compute/ingest/fields.js';
import { toBase58 } from '../../compute/base58.js';
import { type JsonRpc, RpcError } from './json-rpc.js';

/** Accounts that a node returns for one call. */
const MAX_CALL_ACCOUNTS = 100;
/** Accounts of one reading. */
export const MAX_ACCOUNTS = 4_000;
/** Tries of a reading: its calls may come from different slots, or of a node that does not have the slot yet. */
const MAX_TRIES = 5;
/** States the slot of the accounts beside it, and the time. */
const CLOCK = 'SysvarC1ock11111111111111111111111111111111';
const CLOCK_BYTES = 40;

export interface Account {
  /** The program that it belongs to. */
  owner: string;
  data: Buffer;
}

/** Accounts as they were at a slot. */
export interface AtSlot {
  slot: number;
  /** The slot's time in epoch seconds, as the chain has it. */
  timeS: number;
  /** By address; null if there is none. */
  accounts: ReadonlyMap<string, Account | null>;
}

export class SolanaNode {
  /** The newest slot seen: no node behind the balancer may answer with an older one, but for one a try that fails. */
  private leastSlot = 0;

  constructor(private readonly rpc: JsonRpc) {}

  /**
   * All accounts at one slot. Where they need several calls, all of them must be of one slot, by the clock that each
   * reads beside them, or are repeated.
   * @param addresses at most MAX_ACCOUNTS
   * @throws RpcError
   */
  async accounts(addresses: readonly string[], signal: AbortSignal): Promise<AtSlot> {
    const parts: string[][] = [];
    for (let i = 0; i < addresses.length; i += MAX_CALL_ACCOUNTS - 1) {
      parts.push([...addresses.slice(i, i + MAX_CALL_ACCOUNTS - 1), CLOCK]);
    }
    for (let tries = 1; ; tries++) {
      const read = await this.readParts(parts, signal);
      const slots = read.map(({ slot }) => slot);
      const [first, last] = [Math.min(...slots), Math.max(...slots)];
      this.leastSlot = last;
      if (first === last) {
        const accounts = new Map(read.flatMap((part) => [...part.accounts]));
        return { slot: last, timeS: read[0].timeS, accounts };
      }
      if (tries === MAX_TRIES) {
        const what = `${addresses.length} accounts came from slots ${first} to ${last}`;
        throw new RpcError('behind', `${this.rpc.host}: ${what}`);
      }
    }
  }

  private async readParts(parts: readonly string[][], signal: AbortSignal): Promise<AtSlot[]> {
    for (let tries = 1; ; tries++) {
      const options = {
        encoding: 'base64',
        commitment: 'confirmed',
        minContextSlot: this.leastSlot,
      };
      const calls = parts.map((addresses) => ({
        method: 'getMultipleAccounts',
        params: [addresses, options],
      }));
      try {
        const results = await this.rpc.send(calls, signal);
        return results.map((result, i) => this.partOf(parts[i], result));
      } catch (error) {
        if (!(error instanceof RpcError) || error.failure !== 'behind') throw error;
        // Where all of the node is older, the next reading takes it as it is.
        this.leastSlot = tries === MAX_TRIES ? 0 : Math.max(0, this.leastSlot - 1);
        if (tries === MAX_TRIES) throw error;
        await this.rpc.waitAfter(tries, signal);
      }
    }
  }

  private partOf(addresses: readonly string[], result: unknown): AtSlot {
    if (result instanceof RpcError) throw result;
    const { value } = isFields(result) ? result : {};
    if (!Array.isArray(value) || value.length !== addresses.length) {
      throw this.garbage('its reply does not have the accounts asked for');
    }
    const found = value.map((account) => this.accountOf(account));
    const clock = found.at(-1)?.data;
    if (clock?.length !== CLOCK_BYTES) throw this.garbage(`its reply has no account ${CLOCK}`);
    const accounts = new Map(addresses.map((address, i) => [address, found[i]]));
    const timeS = Number(clock.readBigInt64LE(32));
    return { slot: Number(clock.readBigUInt64LE(0)), timeS, accounts };
  }

  private accountOf(account: unknown): Account | null {
    if (account === null) return null;
    const { owner, data } = isFields(account) ? account : {};
    const [text, encoding] = Array.isArray(data) ? (data as unknown[]) : [];
    if (typeof owner !== 'string' || typeof text !== 'string' || encoding !== 'base64') {
      throw this.garbage('an account has no owner, or no data in base64');
    }
    return { owner, data: Buffer.from(text, 'base64') };
  }

  private garbage(what: string): RpcError {
    return new RpcError('refused', `${this.rpc.host}: ${what}`);
  }
}

/** Fields of an account's data, little-endian. */
export class AccountFields {
  constructor(private readonly data: Buffer) {}

  get length(): number {
    return this.data.length;
  }

  u8 = (at: number): number => this.data.readUInt8(at);
  u16 = (at: number): number => this.data.readUInt16LE(at);
  u32 = (at: number): number => this.data.readUInt32LE(at);
  i32 = (at: number): number => this.data.readInt32LE(at);
  u64 = (at: number): bigint => this.data.readBigUInt64LE(at);
  i64 = (at: number): bigint => this.data.readBigInt64LE(at);
  u128 = (at: number): bigint => this.u64(at) | (this.u64(at + 8) << 64n);
  i128 = (at: number): bigint => this.u64(at) | (this.i64(at + 8) << 64n);
  key = (at: number): string => toBase58(this.bytes(at, 32));

  bytes(at: number, length: number): Buffer {
    if (at + length > this.data.length) throw new RangeError(`ends before ${at + length} bytes`);
    return this.data.subarray(at, at + length);
  }
}
