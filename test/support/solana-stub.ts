/** A node of Solana over stored bytes of accounts. */
import { programAddress } from '../../collect/chains/program-address.js';
import * as accounts from '../reference/solana-accounts.js';
import { type Answer, type Asked, RpcNode } from './rpc-node.js';

export const SOL = 'So11111111111111111111111111111111111111112';
export const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
export const TOKENS = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
export const TOKENS_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
const METADATA = 'metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s';
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

  private answer({ method, params }: Asked): Answer {
    if (method !== 'getMultipleAccounts') {
      return { error: { code: -32601, message: 'Method not found' } };
    }
    const [addresses, { encoding, minContextSlot }] = params;
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
    return accounts.pack(accounts.CLOCK, { slot, unix_timestamp: this.timeS });
  }
}

/** Two tokens: SOL with a name, and the other one, of Token-2022, without. */
export function putTokens(stub: SolanaStub): void {
  stub.accounts.set(SOL, [TOKENS, accounts.pack(accounts.MINT, { decimals: 9 })]);
  const longer = Buffer.concat([accounts.pack(accounts.MINT, { decimals: 6 }), Buffer.alloc(200)]);
  stub.accounts.set(USDC, [TOKENS_2022, longer]);
  const seeds = [Buffer.from('metadata'), METADATA, SOL].map((seed) =>
    typeof seed === 'string' ? Buffer.from(accounts.decodeKey(seed)) : seed,
  );
  stub.accounts.set(programAddress(METADATA, seeds), [METADATA, accounts.packMetadata(SOL, 'SOL')]);
}

/** A Whirlpool of the two, at the middle of a tick. */
export const whirlpool = (tick: number, spacing = 64, liquidity = 0n) =>
  accounts.pack(
    accounts.WHIRLPOOL,
    {
      tick_spacing: spacing,
      liquidity,
      sqrt_price: BigInt(Math.round(1.0001 ** (tick / 2) * 2 ** 64)),
      tick_current_index: tick,
      token_mint_a: SOL,
      token_mint_b: USDC,
    },
    'Whirlpool',
  );
