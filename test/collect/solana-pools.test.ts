import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonRpc } from '../../collect/chains/json-rpc.js';
import { viewOf } from '../../collect/chains/pool-state.js';
import { programAddress } from '../../collect/chains/program-address.js';
import {
  METEORA_DLMM,
  type PoolProgram,
  RAYDIUM_AMM,
  RAYDIUM_CPMM,
  WHIRLPOOL,
} from '../../collect/chains/solana-layouts.js';
import { AccountFields, SolanaNode } from '../../collect/chains/solana-node.js';
import { readSolanaPools, SolanaPool } from '../../collect/chains/solana-pools.js';
import * as accounts from '../reference/solana-accounts.js';
import { reasonOf, seen } from '../support/collected.js';
import { countingTurns } from '../support/waiting.js';
import {
  putTokens,
  SOL,
  SolanaStub,
  TOKENS,
  TOKENS_2022,
  USDC,
  whirlpool,
} from '../support/solana-stub.js';

const never = new AbortController().signal;
const POOL = '24WZto6BNjNamZFUPf3nQZZaFpuvBwdqT5B8QQjpNjGb';
const OTHER = '65shmpuYmxx5p7ggNCZbyrGLCXVqbBR1ZD5aAocRBUNG';
const VAULTS = [
  'FSBDeuLQ19Hse2jzhHfDwTvEoeRWD7UKK4BM1zgbV7pY',
  'HJPjoWUrhoZzkNfRpHuieeFk9WcZWjwy6PBjZ81ngndJ',
] as const;

/** Puts the array that holds a tick. */
function putArray(stub: SolanaStub, pool: string, spacing: number, nets: [number, bigint][]): void {
  const width = 88 * spacing;
  const start = Math.floor(nets[0][0] / width) * width;
  const head = WHIRLPOOL.readPool(pool, new AccountFields(whirlpool(nets[0][0], spacing)));
  const data = accounts.packWhirlpoolArray('dynamic', { pool, start, spacing }, nets);
  stub.accounts.set(head.addressOf(start), [WHIRLPOOL.program, data]);
}

async function open() {
  const stub = await SolanaStub.start();
  putTokens(stub);
  // Each wait ends at once.
  const waits: number[] = [];
  const wait = (ms: number) => Promise.resolve(void waits.push(ms));
  const node = new SolanaNode(new JsonRpc(stub.node.url, wait));
  return { stub, node, waits };
}

describe('accounts', () => {
  it('of more than a call come of one slot', async () => {
    const { stub, node } = await open();
    const many = Array.from({ length: 250 }, (_, i) =>
      programAddress(WHIRLPOOL.program, [Buffer.from(String(i))]),
    );
    stub.accounts.set(many[180], [TOKENS, Buffer.from('here')]);
    const at = await node.accounts(many, never);
    expect([at.slot, at.timeS, at.accounts.size]).toEqual([1_000, stub.timeS, 251]);
    expect(at.accounts.get(many[180])!.data.toString()).toBe('here');
    expect(at.accounts.get(many[0])).toBe(null);
    // A hundred a call, the clock among them.
    expect(stub.node.requests[0].map(({ params }) => params[0].length)).toEqual([100, 100, 53]);
  });

  it('are asked for again while their calls are of different slots', async () => {
    const { stub, node } = await open();
    stub.slots = [1_000, 1_000, 1_001, 1_001, 1_002, 1_002, 1_003, 1_003, 1_003];
    const many = Array.from({ length: 250 }, (_, i) =>
      programAddress(WHIRLPOOL.program, [Buffer.from(String(i))]),
    );
    expect((await node.accounts(many, never)).slot).toBe(1_003);
    expect(stub.node.requests.length).toBe(3);
    stub.slots = Array.from({ length: 100 }, (_, i) => 2_000 + i);
    await expect(node.accounts(many, never)).rejects.toThrow('250 accounts came from slots');
  });

  it('are of an older slot than before by one for each wait, unless the whole node is', async () => {
    const { stub, node, waits } = await open();
    stub.slots = [1_000, 998, 999, 1_001];
    expect((await node.accounts([SOL], never)).slot).toBe(1_000);
    expect(waits).toEqual([]);
    expect((await node.accounts([SOL], never)).slot).toBe(999);
    expect(waits.length).toBe(1);
    expect((await node.accounts([SOL], never)).slot).toBe(1_001);
    stub.slots = [10];
    await expect(node.accounts([SOL], never)).rejects.toThrow('Minimum context slot');
    // 250 ms at first, doubling, half of each by chance.
    expect(waits.slice(1).length).toBe(4);
    waits.slice(1).forEach((ms, i) => {
      expect(ms / 2 ** i).toBeGreaterThanOrEqual(125);
      expect(ms / 2 ** i).toBeLessThanOrEqual(375);
    });
    expect((await node.accounts([SOL], never)).slot).toBe(10);
  });

  it('of several calls are of the slot that all nodes behind a balancer have', async () => {
    const { stub, node, waits } = await open();
    const many = Array.from({ length: 150 }, (_, i) =>
      programAddress(WHIRLPOOL.program, [Buffer.from(String(i))]),
    );
    // One of two nodes is a slot behind: it refuses 1,001, and then both have 1,000.
    stub.slots = [1_001, 1_000, 1_001, 1_000, 1_000, 1_000];
    expect((await node.accounts(many, never)).slot).toBe(1_000);
    expect(stub.node.requests.length).toBe(3);
    expect(waits.length).toBe(1);
  });

  it.each([
    ['no list', { value: null }],
    ['too few', { value: [] }],
    ['no clock', { value: [null, null] }],
    ['an account without data', { value: [{ owner: TOKENS }, null] }],
    ['another encoding', { value: [{ owner: TOKENS, data: ['zz', 'base58'] }, null] }],
  ])('of a garbled reply are refused: %s', async (_what, result) => {
    const { stub, node } = await open();
    stub.node.answer = () => ({ result });
    await expect(node.accounts([SOL], never)).rejects.toMatchObject({ failure: 'refused' });
  });
});

describe('pools', () => {
  it('are read with their ticks, decimals and symbols at one slot', async () => {
    const { stub, node } = await open();
    stub.accounts.set(POOL, [WHIRLPOOL.program, whirlpool(-21_401, 64, 500n)]);
    putArray(stub, POOL, 64, [
      [-21_440, 300n],
      [-21_376, -400n],
    ]);
    const { slot, states } = await readSolanaPools(
      node,
      [new SolanaPool(POOL, [WHIRLPOOL])],
      never,
    );
    expect(slot).toBe(1_000);
    expect(states).toMatchObject([
      {
        layout: 'clmm',
        sides: [
          { address: SOL, decimals: 9, symbol: 'SOL' },
          { address: USDC, decimals: 6, symbol: null },
        ],
        fields: {
          ticks: [
            [-46_876, '200'],
            [-21_440, '300'],
            [-21_376, '-400'],
            [4_074, '-100'],
          ],
        },
      },
    ]);
    // The pool alone, then all that it names.
    expect(stub.node.requests.map(([{ params }]) => params[0].length)).toEqual([2, 16]);
  });

  it('whose price leaves the accounts that were read are read again', async () => {
    const { stub, node } = await open();
    const pool = new SolanaPool(POOL, [WHIRLPOOL]);
    stub.accounts.set(POOL, [WHIRLPOOL.program, whirlpool(0)]);
    await readSolanaPools(node, [pool], never);
    const before = stub.node.requests.length;
    stub.accounts.set(POOL, [WHIRLPOOL.program, whirlpool(100)]);
    await readSolanaPools(node, [pool], never);
    expect(stub.node.requests.length).toBe(before + 1);
    stub.accounts.set(POOL, [WHIRLPOOL.program, whirlpool(9_000, 64, 7n)]);
    putArray(stub, POOL, 64, [
      [32_000, 5n],
      [32_064, -12n],
    ]);
    const { states } = await readSolanaPools(node, [pool], never);
    expect(stub.node.requests.length).toBe(before + 3);
    expect(states).toMatchObject([
      {
        fields: {
          ticks: [
            [-16_475, '7'],
            [32_000, '5'],
            [32_064, '-12'],
          ],
        },
      },
    ]);
  });

  it('of more accounts than a reading may have say what to do', async () => {
    const { stub, node } = await open();
    const addresses = Array.from({ length: 8 }, (_, i) =>
      programAddress(WHIRLPOOL.program, [Buffer.from(String(i))]),
    );
    const pools = addresses.map((address) => {
      stub.accounts.set(address, [WHIRLPOOL.program, whirlpool(0, 1, 7n)]);
      return new SolanaPool(address, [WHIRLPOOL]);
    });
    const few = await readSolanaPools(node, pools.slice(0, 6), never);
    expect(few.states.map(reasonOf)).toEqual(Array(6).fill(null));
    await expect(readSolanaPools(node, pools, never)).rejects.toThrow(
      /^the token's pools have 46\d\d accounts, .*: collect some of them with another collector$/,
    );
  });

  it('of hundreds of accounts leave others their turns', async () => {
    const { stub, node } = await open();
    const pools = ['1', '2', '3'].map((name) =>
      programAddress(WHIRLPOOL.program, [Buffer.from(name)]),
    );
    for (const pool of pools) {
      stub.accounts.set(pool, [WHIRLPOOL.program, whirlpool(0, 1, 7n)]);
    }
    let now = () => 0;
    const counts = { derived: new Map<number, number>(), read: new Map<number, number>() };
    const count = (what: Map<number, number>) => what.set(now(), (what.get(now()) ?? 0) + 1);
    const counting: PoolProgram = {
      ...WHIRLPOOL,
      readPool(address, account) {
        const head = WHIRLPOOL.readPool(address, account);
        return {
          ...head,
          addressOf(number) {
            count(counts.derived);
            return head.addressOf(number);
          },
          fields(found) {
            count(counts.read);
            return head.fields(found);
          },
        };
      },
    };
    await countingTurns(async (turn) => {
      now = turn;
      const all = pools.map((pool) => new SolanaPool(pool, [counting]));
      const { states } = await readSolanaPools(node, all, never);
      expect(states.map(reasonOf)).toEqual([null, null, null]);
    });
    const most = Object.values(counts).map((turns) => Math.max(...turns.values()));
    expect(most).toEqual([100, 1]);
  });

  it('of the several programs of a token are read together, and faults stay with their pools', async () => {
    const { stub, node } = await open();
    stub.accounts.set(POOL, [WHIRLPOOL.program, whirlpool(0)]);
    stub.accounts.set(OTHER, [TOKENS, Buffer.alloc(165)]);
    stub.accounts.set(VAULTS[0], [WHIRLPOOL.program, Buffer.from('short')]);
    const cut = whirlpool(0).subarray(0, 100);
    stub.accounts.set(VAULTS[1], [WHIRLPOOL.program, cut]);
    const addresses = [POOL, OTHER, ...VAULTS, USDC, SOL];
    const pools = addresses.map((address) => new SolanaPool(address, [WHIRLPOOL, METEORA_DLMM]));
    stub.accounts.delete(SOL);
    const { states } = await readSolanaPools(node, [...pools], never);
    expect(states.map(reasonOf)).toEqual([
      expect.stringContaining('a mint is not of the token program'),
      expect.stringContaining(`its account belongs to ${TOKENS}`),
      expect.stringContaining('its account is no Whirlpool'),
      expect.stringContaining('an account is cut'),
      expect.stringContaining(`its account belongs to ${TOKENS_2022}`),
      `${SOL}: there is no such account: is rpc a node of the pool's chain?`,
    ]);
  });

  it('of another kind say which', async () => {
    const { stub, node } = await open();
    stub.accounts.set(POOL, [WHIRLPOOL.program, whirlpool(0)]);
    const pool = new SolanaPool(POOL, [RAYDIUM_CPMM, RAYDIUM_AMM]);
    const { states } = await readSolanaPools(node, [pool], never);
    expect(states.map(reasonOf)).toEqual([
      `${POOL}: its account belongs to Orca's ${WHIRLPOOL.program}: expected "kind": "whirlpool"`,
    ]);
  });

  it('without liquidity within the ladder have no sample: their price means nothing', async () => {
    const { stub, node } = await open();
    stub.accounts.set(POOL, [WHIRLPOOL.program, whirlpool(0)]);
    const { states } = await readSolanaPools(node, [new SolanaPool(POOL, [WHIRLPOOL])], never);
    if (states[0] instanceof Error) throw states[0];
    expect(viewOf(states[0], POOL, SOL)).toBe(
      `${POOL}: holds nothing within the ladder: its price means nothing`,
    );
  });

  it('refuse arrays of another pool, and of another program', async () => {
    const { stub, node } = await open();
    stub.accounts.set(POOL, [WHIRLPOOL.program, whirlpool(0)]);
    const head = WHIRLPOOL.readPool(POOL, new AccountFields(whirlpool(0)));
    const place = { pool: OTHER, start: 0, spacing: 64 };
    const data = accounts.packWhirlpoolArray('fixed', place, []);
    const read = async () => {
      const { states } = await readSolanaPools(node, [new SolanaPool(POOL, [WHIRLPOOL])], never);
      return reasonOf(states[0]);
    };
    stub.accounts.set(head.addressOf(0), [WHIRLPOOL.program, data]);
    expect(await read()).toContain(`a tick array is of ${OTHER} at 0`);
    stub.accounts.set(head.addressOf(0), [TOKENS, data]);
    expect(await read()).toContain(`an account belongs to ${TOKENS}`);
    // An account that was closed is as good as none.
    stub.accounts.set(head.addressOf(0), [TOKENS, Buffer.alloc(0)]);
    expect(await read()).toBe(null);
  });
});

describe('pools of constant product', () => {
  const vault = (mint: string, amount: bigint) =>
    [TOKENS, accounts.pack(accounts.TOKEN_ACCOUNT, { mint, amount })] as const;
  const programs = [RAYDIUM_CPMM, RAYDIUM_AMM];
  const cpmm = (status = 0) =>
    accounts.pack(
      accounts.CPMM_POOL,
      {
        status,
        token_0_vault: VAULTS[0],
        token_1_vault: VAULTS[1],
        token_0_mint: SOL,
        token_1_mint: USDC,
        protocol_fees_token_0: 1,
        protocol_fees_token_1: 2,
        fund_fees_token_0: 10,
        fund_fees_token_1: 20,
        creator_fees_token_0: 100,
        creator_fees_token_1: 200,
      },
      'PoolState',
    );
  const amm = (status = 6) =>
    accounts.pack(accounts.RAYDIUM_AMM, {
      status,
      base_vault: VAULTS[0],
      quote_vault: VAULTS[1],
      base_mint: SOL,
      quote_mint: USDC,
      base_need_take_pnl: 3,
      quote_need_take_pnl: 4,
    });

  async function read(owner: string, data: Buffer, amounts = [5_000_000_000n, 750_000_000n]) {
    const { stub, node } = await open();
    stub.accounts.set(POOL, [owner, data]);
    stub.accounts.set(VAULTS[0], vault(SOL, amounts[0]));
    stub.accounts.set(VAULTS[1], vault(USDC, amounts[1]));
    const { states } = await readSolanaPools(node, [new SolanaPool(POOL, programs)], never);
    return states[0];
  }

  it.each([
    ['CPMM', RAYDIUM_CPMM.program, cpmm(), 4.999999889, 749.999778],
    ['AMM', RAYDIUM_AMM.program, amm(), 4.999999997, 749.999996],
  ])('hold what is in their vaults less what they owe: %s', async (_name, owner, data, x, y) => {
    const state = await read(owner, data);
    if (state instanceof Error) throw state;
    const view = seen(state, SOL);
    const body = { reserve_token: x, reserve_quote: y, quote_usd: 1 };
    expect(view.body(1)).toEqual({ constant_product: body });
    expect(view.price).toBe(y / x);
    expect(viewOf(state, 'pool', USDC)).toMatchObject({ price: x / y, pair: `SOL/${USDC}` });
    expect(viewOf(state, 'pool', POOL)).toBe(`pool: holds SOL (${SOL}) and ${USDC}, not ${POOL}`);
  });

  it('of any amounts and decimals hold them, and are seen from both sides', () => {
    const amount = fc.bigInt({ min: 1n, max: 2n ** 63n });
    const pool = fc.record({
      isFirst: fc.boolean(),
      decimals: fc.tuple(fc.nat(18), fc.nat(18)),
      held: fc.tuple(amount, amount),
      owed: fc.tuple(fc.nat(1_000), fc.nat(1_000)),
    });
    fc.assert(
      fc.property(pool, ({ isFirst, decimals, held, owed }) => {
        const program = isFirst ? RAYDIUM_AMM : RAYDIUM_CPMM;
        const mints = isFirst ? ['base_mint', 'quote_mint'] : ['token_0_mint', 'token_1_mint'];
        const vaults = isFirst ? ['base_vault', 'quote_vault'] : ['token_0_vault', 'token_1_vault'];
        const due = isFirst
          ? ['base_need_take_pnl', 'quote_need_take_pnl']
          : ['fund_fees_token_0', 'fund_fees_token_1'];
        const none: Record<string, number> = isFirst
          ? {}
          : {
              protocol_fees_token_0: 0,
              protocol_fees_token_1: 0,
              creator_fees_token_0: 0,
              creator_fees_token_1: 0,
            };
        const values = {
          status: isFirst ? 6 : 0,
          ...none,
          ...Object.fromEntries(mints.map((field, i) => [field, [SOL, USDC][i]])),
          ...Object.fromEntries(vaults.map((field, i) => [field, VAULTS[i]])),
          ...Object.fromEntries(due.map((field, i) => [field, owed[i]])),
        };
        const data = isFirst
          ? accounts.pack(accounts.RAYDIUM_AMM, values)
          : accounts.pack(accounts.CPMM_POOL, values, 'PoolState');
        const head = program.readPool(POOL, new AccountFields(data));
        expect(head.depthAccounts.map((side) => head.addressOf(side))).toEqual(VAULTS);
        const found = [SOL, USDC].map((mint, i) => {
          const [owner, bytes] = vault(mint, held[i] + BigInt(owed[i]));
          return { owner, data: bytes };
        });
        const [x, y] = held.map((raw, i) => Number(`${raw}e-${decimals[i]}`));
        const sides = [
          { address: SOL, decimals: decimals[0], symbol: null },
          { address: USDC, decimals: decimals[1], symbol: null },
        ] as const;
        const state = { layout: program.layout, sides, fields: head.fields(found) } as const;
        expect(seen(state, SOL)).toMatchObject({ price: y / x });
        expect(seen(state, USDC).body(3)).toEqual({
          constant_product: { reserve_token: y, reserve_quote: x, quote_usd: 3 },
        });
      }),
      { numRuns: 50 },
    );
  });

  it('are refused where they do not trade, or owe more than they hold', async () => {
    const { program } = RAYDIUM_CPMM;
    expect(reasonOf(await read(program, cpmm(4)))).toContain('its swaps are disabled');
    expect(reasonOf(await read(program, cpmm(), [100n, 1_000n]))).toContain(
      'less than the pool owes',
    );
    expect(reasonOf(await read(RAYDIUM_AMM.program, amm(1)))).toContain('its status is 1');
    const short = amm().subarray(0, 700);
    expect(reasonOf(await read(RAYDIUM_AMM.program, short))).toContain('no AmmInfo');
  });

  it('have no price while a vault is empty', async () => {
    const state = await read(RAYDIUM_AMM.program, amm(), [3n, 750n]);
    if (state instanceof Error) throw state;
    expect(viewOf(state, 'pool', SOL)).toBe('pool: has no price');
  });
});
