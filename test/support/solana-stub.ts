/** A node of Solana over stored bytes of accounts. */
import { CLOCK, pack } from '../reference/solana-accounts.js';
import { type Answer, type Asked, RpcNode } from './rpc-node.js';

const CLOCK_ADDRESS = 'SysvarC1ock11111111111111111111111111111111';

export class SolanaStub {
  /** `[owner, data]` by address. */
  readonly accounts = new Map<string, readonly [owner: string, data: Buffer]>();
  /** The slot of each call in turn; the last one stays. */
  slots = [1_000];
  timeS = Math.floor(Date.now() / 1000);

  private constructor(readonly node: RpcNode) {
    node.answer = (call) => this.answer(call);
  }

  static async start(): Promise<SolanaStub> {
    return new SolanaStub(await RpcNode.start());
  }

  private answer({ params: [addresses, { encoding, minContextSlot }] }: Asked): Answer {
    if (addresses.length > 100)
      return { error: { code: -32602, message: 'Too many inputs provided' } };
    const slot = this.slots.length > 1 ? this.slots.shift()! : this.slots[0];
    if (slot < minContextSlot) {
      return { error: { code: -32016, message: 'Minimum context slot has not been reached' } };
    }
    const value = addresses.map((address: string) => {
      const [owner, data] =
        address === CLOCK_ADDRESS
          ? ['Sysvar1111111111111111111111111111111111111', this.clock(slot)]
          : (this.accounts.get(address) ?? [null, null]);
      return owner === null ? null : { owner, data: [data.toString('base64'), encoding] };
    });
    return { result: { context: { slot }, value } };
  }

  private clock(slot: number): Buffer {
    return pack(CLOCK, { slot, unix_timestamp: this.timeS });
  }
}
