/** Reads contracts of an EVM chain at one block. */
import { isFields } from '../../compute/ingest/fields.js';
import { type JsonRpc, type RpcCall, RpcError } from './json-rpc.js';

/** Blocks below the newest that are tried where a node behind a balancer does not have it yet. */
const MAX_BLOCKS_BACK = 3;
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

/** A contract that is not what the configuration says. */
export class ContractFault extends Error {
  override readonly name = 'ContractFault';
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
    const newest = await this.header('latest', signal);
    for (let back = 0; ; back++) {
      const number = newest.number - back;
      try {
        const before = back === 0 ? newest : await this.header(number, signal);
        const value = await read(new BlockCalls(this.rpc, number, signal));
        const after = await this.header(number, signal);
        if (after.hash === before.hash) return { block: number, timeS: before.timeS, value };
        throw new RpcError('behind', `${this.rpc.host}: block ${number} was replaced`);
      } catch (error) {
        const isBehind = error instanceof RpcError && error.failure === 'behind';
        if (!isBehind || back === MAX_BLOCKS_BACK || number === 0) throw error;
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

  constructor(
    private readonly rpc: JsonRpc,
    private readonly block: number,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * The words that a function returns.
   * @param selector the function's, 8 hex digits
   * @param least words that it must return
   * @throws ContractFault if it returns something else; RpcError
   */
  async words(to: string, selector: string, least: number, ...args: number[]): Promise<string[]> {
    const data = `0x${selector}${args.map(wordOf).join('')}`;
    const call = { method: 'eth_call', params: [{ to, data }, hexOf(this.block)] };
    const result = await new Promise<unknown>((done, failed) => {
      this.waiting.push({ call, done, failed });
      if (this.waiting.length === 1) setImmediate(() => void this.flush());
    });
    if (result instanceof RpcError) throw new ContractFault(`${to}: ${result.message}`);
    if (typeof result !== 'string' || !DATA.test(result)) {
      throw new RpcError('refused', `${this.rpc.host}: the result of a call is not hex`);
    }
    if (result === '0x') throw new ContractFault(`${to}: no such contract, or not of this kind`);
    const words = result.slice(2).match(/.{64}/g) ?? [];
    if (words.length < least || result.length !== 2 + words.length * HEX_WORD_CHARS) {
      throw new ContractFault(`${to}: not of this kind: ${selector} returns ${words.length} words`);
    }
    return words;
  }

  private async flush(): Promise<void> {
    const sent = this.waiting;
    this.waiting = [];
    try {
      const calls = sent.map(({ call }) => call);
      const results = await this.rpc.send(calls, this.signal);
      sent.forEach(({ done }, i) => done(results[i]));
    } catch (error) {
      for (const { failed } of sent) failed(error);
    }
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
