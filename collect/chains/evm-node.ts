/** Reads contracts of an EVM chain at one block. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isFields } from '../../compute/ingest/fields.js';
import { type JsonRpc, type RpcCall, RpcError } from './json-rpc.js';

/** Blocks below the newest that are tried where a node behind a balancer does not have it yet. */
const MAX_BLOCKS_BACK = 3;
/** Readings that begin anew at the newest block because the node no longer has the state of theirs. */
const MAX_RESTARTS = 2;

/** The first four bytes of each function's hash. */
export const SELECTOR = {
  decimals: '313ce567',
  getReserves: '0902f1ac',
  globalState: 'e76c01e4',
  liquidity: '1a686502',
  slot0: '3850c7bd',
  stable: '22be3de1',
  stableSwap: '9e548b7f',
  symbol: '95d89b41',
  tickBitmap: '5339c296',
  tickSpacing: 'd0c93a7c',
  ticks: 'f30dba93',
  token0: '0dfe1681',
  token1: 'd21220a7',
} as const;
export type ContractFunction = keyof typeof SELECTOR;

const HEX_WORD_CHARS = 64;
const QUANTITY = /^0x[0-9a-f]{1,16}$/i;
const DATA = /^0x(?:[0-9a-f]{2})*$/i;

interface Header {
  number: number;
  hash: string;
  /** Epoch seconds. */
  timeS: number;
}

/** What was read at a block. */
export interface AtBlock<T> {
  block: number;
  /** The block's time in epoch seconds. */
  timeS: number;
  value: T;
}

/** A contract that is not what the configuration says. The message names it. */
export class ContractFault extends Error {
  override readonly name = 'ContractFault';

  constructor(
    readonly contract: string,
    what: string,
    /** A call of the contract that the node answered with an error, or not as such a contract does. */
    readonly call: { failed: ContractFunction; error: RpcError | null } | null = null,
  ) {
    super(`${contract}: ${what}`);
  }
}

export class EvmNode {
  constructor(private readonly rpc: JsonRpc) {}

  /**
   * Reads at the newest block, or at one a little lower where the node does not have that everywhere. The block is
   * looked at again afterwards: what was read of two different ones of its number is read again.
   * @throws RpcError
   */
  async atNewestBlock<T>(
    read: (calls: BlockCalls) => Promise<T>,
    signal: AbortSignal,
  ): Promise<AtBlock<T>> {
    let newest = await this.header('latest', signal);
    let restarts = 0;
    for (let back = 0; ; back++) {
      const number = newest.number - back;
      try {
        const before = back === 0 ? newest : await this.header(number, signal);
        const value = await read(new BlockCalls(this.rpc, number, signal));
        const after = await this.header(number, signal);
        if (after.hash === before.hash) return { block: number, timeS: before.timeS, value };
        throw new RpcError('behind', `${this.rpc.host}: block ${number} was replaced`);
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        if (error.failure === 'pruned') {
          const why = `it does not keep the state of block ${number} while that is read`;
          if (restarts++ === MAX_RESTARTS) throw new RpcError('pruned', `${error.message}: ${why}`);
          newest = await this.header('latest', signal);
          back = -1;
        } else if (error.failure !== 'behind' || back === MAX_BLOCKS_BACK || number === 0) {
          throw error;
        }
      }
    }
  }

  private async header(block: number | 'latest', signal: AbortSignal): Promise<Header> {
    const id = block === 'latest' ? block : hexOf(block);
    const found = await this.rpc.call('eth_getBlockByNumber', [id, false], signal);
    if (found === null) throw new RpcError('behind', `${this.rpc.host}: has no block ${block}`);
    const { number, hash, timestamp } = isFields(found) ? found : {};
    if (!isQuantity(number) || !isQuantity(timestamp) || typeof hash !== 'string') {
      throw new RpcError('refused', `${this.rpc.host}: its block has no number, time or hash`);
    }
    return { number: Number(number), hash, timeS: Number(timestamp) };
  }
}

/** Calls of contracts at one block. Those that are made together are sent together. */
export class BlockCalls {
  private waiting: {
    call: RpcCall;
    done: (result: unknown) => void;
    failed: (e: unknown) => void;
  }[] = [];
  private isSending = false;

  constructor(
    private readonly rpc: JsonRpc,
    private readonly block: number,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * The words that a function returns.
   * @param least words that it must return
   * @throws ContractFault if it returns something else; RpcError
   */
  async words(
    to: string,
    name: ContractFunction,
    least: number,
    ...args: number[]
  ): Promise<string[]> {
    const data = `0x${SELECTOR[name]}${args.map(wordOf).join('')}`;
    const result = await this.call('eth_call', { to, data });
    const fault = (what: string, error: RpcError | null = null) =>
      new ContractFault(to, `${name}() ${what}`, { failed: name, error });
    if (result instanceof RpcError) throw fault(`fails: ${result.message}`, result);
    const digits = this.digitsOf(result);
    const words = digits.match(/.{64}/g) ?? [];
    if (words.length >= least && digits.length === words.length * HEX_WORD_CHARS) return words;
    throw fault(`returns ${digits.length / 2} bytes`);
  }

  /** Whether there is a contract at an address. @throws RpcError */
  async hasCode(address: string): Promise<boolean> {
    const result = await this.call('eth_getCode', address);
    if (result instanceof RpcError) throw result;
    return this.digitsOf(result) !== '';
  }

  /** The number of the node's chain, for people. @throws RpcError */
  async chainId(): Promise<number> {
    const id = await this.rpc.call('eth_chainId', [], this.signal);
    if (isQuantity(id)) return Number(id);
    throw new RpcError('refused', `${this.rpc.host}: its chain has no number`);
  }

  private call(method: string, what: unknown): Promise<unknown> {
    const call = { method, params: [what, hexOf(this.block)] };
    return new Promise((done, failed) => {
      this.waiting.push({ call, done, failed });
      if (this.waiting.length === 1) setImmediate(() => void this.flush());
    });
  }

  private digitsOf(result: unknown): string {
    if (typeof result === 'string' && DATA.test(result)) return result.slice(2);
    throw new RpcError('refused', `${this.rpc.host}: the result of a call is not hex`);
  }

  /** Sends what waits, until nothing does; what comes meanwhile goes with the next request. */
  private async flush(): Promise<void> {
    if (this.isSending) return;
    this.isSending = true;
    for (; this.waiting.length > 0; await nextTurn()) {
      const sent = this.waiting;
      this.waiting = [];
      const calls = sent.map(({ call }) => call);
      try {
        // Thousands of results at once would hold up other work: those of each request go on as they come.
        await this.rpc.send(calls, this.signal, (i, result) => sent[i].done(result));
      } catch (error) {
        for (const { failed } of sent) failed(error);
      }
    }
    this.isSending = false;
  }
}

const hexOf = (value: number): string => `0x${value.toString(16)}`;
const isQuantity = (value: unknown): value is string =>
  typeof value === 'string' && QUANTITY.test(value);

function wordOf(value: number): string {
  return BigInt.asUintN(256, BigInt(value)).toString(16).padStart(HEX_WORD_CHARS, '0');
}

export const uintOf = (word: string): bigint => BigInt(`0x${word}`);
export const intOf = (word: string): bigint => BigInt.asIntN(256, uintOf(word));
export const addressOf = (word: string): string => `0x${word.slice(24).toLowerCase()}`;
