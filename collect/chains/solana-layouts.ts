/** Accounts of Solana's pools, by the layouts that their programs publish. */
import { createHash } from 'node:crypto';
import { keyBytes } from '../../compute/base58.js';
import type { PoolState } from './pool-state.js';
import { programAddress } from './program-address.js';
import { type Account, AccountFields } from './solana-node.js';
import { closedTicks, reachOf, type TickRange, type Ticks, ticksInReach } from './tick-window.js';

/** An account that is not what it should be. */
export class AccountFault extends Error {
  override readonly name = 'AccountFault';
}

/** What a pool's own account tells. */
export interface PoolHead {
  /** Of token A and B, X and Y, or 0 and 1. */
  mints: readonly [string, string];
  /** Numbers of the accounts that its depth is in, each of which may not exist. */
  depthAccounts: readonly number[];
  /** The address of such an account, which never changes. */
  addressOf(depthAccount: number): string;
  /** The fields of `PoolState`, from the accounts in the order of `depthAccounts`. */
  fields(accounts: readonly (Account | null)[]): PoolState['fields'];
}

export interface PoolProgram {
  /** Its `kind` in the configuration. */
  kind: string;
  /** The name under which its markets are stored. */
  venue: string;
  program: string;
  layout: PoolState['layout'];
  /** @throws AccountFault if the account is no pool of this program, or one that does not trade */
  readPool(address: string, account: AccountFields): PoolHead;
}

/** Anchor's programs begin an account with eight bytes of the hash of its type's name. */
function discriminator(type: string): string {
  return createHash('sha256').update(`account:${type}`).digest('hex').slice(0, 16);
}

const typeOf = (account: AccountFields): string =>
  account.length < 8 ? '' : account.bytes(0, 8).toString('hex');

function expectType(account: AccountFields, type: string): void {
  if (typeOf(account) !== discriminator(type)) throw new AccountFault(`its account is no ${type}`);
}

/** An account of the pool's program, as fields. */
function depthAccount(account: Account, program: string): AccountFields {
  if (account.owner !== program) throw new AccountFault(`an account belongs to ${account.owner}`);
  return new AccountFields(account.data);
}

/** Where the two programs of concentrated liquidity differ. */
interface TickProgram {
  kind: string;
  venue: string;
  program: string;
  /** Places for ticks in an account. */
  arrayTicks: number;
  readPool(account: AccountFields): TickPool;
  /** The last seed of a tick array's address. */
  startSeed(start: number): Buffer;
  /** The initialised ticks of an array, ascending. @throws AccountFault */
  readArray(account: AccountFields, spacing: number): { pool: string; start: number; ticks: Ticks };
}

interface TickPool {
  mints: readonly [string, string];
  spacing: number;
  liquidity: bigint;
  /** Square root of the raw price of A in B, times 2^64. */
  sqrtPriceX64: bigint;
  tick: number;
}

/** The programs' greatest tick; the lowest is its negative. */
const MAX_SOLANA_TICK = 443_636;

function ticksProgram(program: TickProgram): PoolProgram {
  return {
    kind: program.kind,
    venue: program.venue,
    program: program.program,
    layout: 'clmm',
    readPool: (address, account) => tickHead(program, address, program.readPool(account)),
  };
}

function tickHead(program: TickProgram, address: string, pool: TickPool): PoolHead {
  const width = program.arrayTicks * pool.spacing;
  if (width === 0) throw new AccountFault('its tick spacing is 0');
  const range = ticksInReach(pool.tick, MAX_SOLANA_TICK);
  const starts = multiplesAround(range, width);
  const seeds = [Buffer.from('tick_array'), keyBytes(address)];
  return {
    mints: pool.mints,
    depthAccounts: starts,
    addressOf: (start) => programAddress(program.program, [...seeds, program.startSeed(start)]),
    fields: (accounts) => {
      const ticks = starts.flatMap((start, i) => {
        const account = accounts[i];
        // The account is no tick array yet, or none of the program's any more.
        if (account === null || account.data.length === 0) return [];
        const array = program.readArray(depthAccount(account, program.program), pool.spacing);
        if (array.pool !== address || array.start !== start) {
          throw new AccountFault(`a tick array is of ${array.pool} at ${array.start}`);
        }
        return array.ticks.filter(([tick]) => tick >= range.low && tick <= range.high);
      });
      // Early pools of Orca state another liquidity than their ticks hold: the ticks count, as in imports.
      const closed = closedTicks(range, ticks, pool.tick, pool.liquidity);
      return { sqrt_price_x96: String(pool.sqrtPriceX64 << 32n), ticks: closed };
    },
  };
}

/** The multiples of `width` from which spans of that width cover a range. */
function multiplesAround({ low, high }: TickRange, width: number): number[] {
  const first = Math.floor(low / width);
  const length = Math.floor(high / width) - first + 1;
  return Array.from({ length }, (_, i) => (first + i) * width);
}

const TICK_BYTES = 113;

export const WHIRLPOOL = ticksProgram({
  kind: 'whirlpool',
  venue: 'Orca',
  program: 'whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc',
  arrayTicks: 88,
  startSeed: (start) => Buffer.from(String(start)),
  readPool(account) {
    expectType(account, 'Whirlpool');
    return {
      mints: [account.key(101), account.key(181)],
      spacing: account.u16(41),
      liquidity: account.u128(49),
      sqrtPriceX64: account.u128(65),
      tick: account.i32(81),
    };
  },
  readArray: (account, spacing) => readWhirlpoolArray(account, spacing),
});

/** A tick is 113 bytes in a fixed array; in a dynamic one it is a single zero until it is initialised. */
export function readWhirlpoolArray(
  account: AccountFields,
  spacing: number,
): { pool: string; start: number; ticks: Ticks } {
  const isFixed = typeOf(account) === discriminator('TickArray');
  if (!isFixed) expectType(account, 'DynamicTickArray');
  const start = account.i32(8);
  const ticks: [number, bigint][] = [];
  let at = isFixed ? 12 : 60;
  for (let i = 0; i < 88; i++) {
    const isInitialised = account.u8(at) === 1;
    if (isInitialised) ticks.push([start + i * spacing, account.i128(at + 1)]);
    at += isFixed || isInitialised ? TICK_BYTES : 1;
  }
  return { start, pool: account.key(isFixed ? 9956 : 12), ticks };
}

const RAYDIUM_TICK_BYTES = 168;

export const RAYDIUM_CLMM = ticksProgram({
  kind: 'raydium-clmm',
  venue: 'Raydium',
  program: 'CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK',
  arrayTicks: 60,
  startSeed(start) {
    const seed = Buffer.alloc(4);
    seed.writeInt32BE(start);
    return seed;
  },
  readPool(account) {
    expectType(account, 'PoolState');
    if (account.u8(389) & 16) throw new AccountFault('its swaps are disabled');
    return {
      mints: [account.key(73), account.key(105)],
      spacing: account.u16(235),
      liquidity: account.u128(237),
      sqrtPriceX64: account.u128(253),
      tick: account.i32(269),
    };
  },
  readArray: (account) => readRaydiumArray(account),
});

/** A tick without liquidity may hold limit orders, or was in use once. */
export function readRaydiumArray(account: AccountFields): ReturnType<TickProgram['readArray']> {
  expectType(account, 'TickArrayState');
  const ticks: [number, bigint][] = [];
  for (let i = 0; i < 60; i++) {
    const at = 44 + i * RAYDIUM_TICK_BYTES;
    if (account.u128(at + 20) > 0n) ticks.push([account.i32(at), account.i128(at + 4)]);
  }
  return { start: account.i32(40), pool: account.key(8), ticks };
}

const ARRAY_BINS = 70;
const BIN_BYTES = 144;

export const METEORA_DLMM: PoolProgram = {
  kind: 'meteora-dlmm',
  venue: 'Meteora',
  program: 'LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo',
  layout: 'dlmm',
  readPool(address, account) {
    expectType(account, 'LbPair');
    if (account.u8(82) !== 0) throw new AccountFault('its swaps are disabled');
    const [active, binStep] = [account.i32(76), account.u16(80)];
    if (binStep === 0) throw new AccountFault('its bin step is 0');
    const reach = reachOf(1 + binStep / 10_000);
    const range = { low: active - reach, high: active + reach };
    const indexes = multiplesAround(range, ARRAY_BINS).map((id) => id / ARRAY_BINS);
    const seeds = [Buffer.from('bin_array'), keyBytes(address)];
    return {
      mints: [account.key(88), account.key(120)],
      depthAccounts: indexes,
      addressOf(index) {
        const seed = Buffer.alloc(8);
        seed.writeBigInt64LE(BigInt(index));
        return programAddress(METEORA_DLMM.program, [...seeds, seed]);
      },
      fields: (accounts) => ({
        bin_step: binStep,
        active_id: active,
        bins: indexes.flatMap((index, i) => {
          const found = accounts[i];
          if (found === null || found.data.length === 0) return [];
          const array = readBinArray(depthAccount(found, METEORA_DLMM.program));
          if (array.pool === address && array.index === index) return array.bins;
          throw new AccountFault(`a bin array is of ${array.pool} at ${array.index}`);
        }),
      }),
    };
  },
};

/** Bins that hold something, as the layout `dlmm-bins` has them. */
export function readBinArray(account: AccountFields): {
  pool: string;
  index: number;
  bins: [id: number, x: string, y: string][];
} {
  expectType(account, 'BinArray');
  const index = Number(account.i64(8));
  const bins: [number, string, string][] = [];
  for (let i = 0; i < ARRAY_BINS; i++) {
    const at = 56 + i * BIN_BYTES;
    const [x, y] = [account.u64(at), account.u64(at + 8)];
    if (x > 0n || y > 0n) bins.push([index * ARRAY_BINS + i, String(x), String(y)]);
  }
  return { index, pool: account.key(24), bins };
}

/** Token accounts of SPL and of Token-2022 begin alike: mint, owner, amount. */
const TOKEN_PROGRAMS = new Set([
  'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
]);

function tokenAccount(account: Account | null, what: string): AccountFields {
  if (account !== null && TOKEN_PROGRAMS.has(account.owner)) return new AccountFields(account.data);
  throw new AccountFault(`${what} is not of the token program`);
}

/** A mint's decimals. @throws AccountFault */
export function decimalsOf(mint: Account | null): number {
  return tokenAccount(mint, 'a mint').u8(44);
}

/** A pool whose reserves are two token accounts, less what it owes. */
function reservesHead(
  mints: readonly [string, string],
  vaults: readonly [string, string],
  owed: readonly [bigint, bigint],
): PoolHead {
  const reserve = (account: Account | null, side: 0 | 1): string => {
    const vault = tokenAccount(account, 'a vault');
    if (vault.key(0) !== mints[side]) throw new AccountFault('a vault holds another token');
    const amount = vault.u64(64) - owed[side];
    if (amount < 0n) throw new AccountFault('a vault holds less than the pool owes');
    return String(amount);
  };
  return {
    mints,
    depthAccounts: [0, 1],
    addressOf: (side) => vaults[side],
    fields: (accounts) => ({
      reserve0_raw: reserve(accounts[0], 0),
      reserve1_raw: reserve(accounts[1], 1),
    }),
  };
}

export const RAYDIUM_CPMM: PoolProgram = {
  kind: 'raydium-cp',
  venue: 'Raydium',
  program: 'CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQE5qKP1C',
  layout: 'constantProduct',
  readPool(_address, account) {
    expectType(account, 'PoolState');
    if (account.u8(329) & 4) throw new AccountFault('its swaps are disabled');
    // Fees of the protocol, of its fund and of the pool's creator.
    const owed = (side: 0 | 1) =>
      [341, 357, 397].reduce((sum, at) => sum + account.u64(at + 8 * side), 0n);
    return reservesHead(
      [account.key(168), account.key(200)],
      [account.key(72), account.key(104)],
      [owed(0), owed(1)],
    );
  },
};

/** Statuses of Raydium's first pools that trade without an order book. */
const TRADING_STATUSES = new Set([6n, 7n]);
const RAYDIUM_AMM_BYTES = 752;

export const RAYDIUM_AMM: PoolProgram = {
  kind: 'raydium-cp',
  venue: 'Raydium',
  program: '675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8',
  layout: 'constantProduct',
  readPool(_address, account) {
    if (account.length !== RAYDIUM_AMM_BYTES) throw new AccountFault('its account is no AmmInfo');
    const status = account.u64(0);
    if (!TRADING_STATUSES.has(status)) {
      throw new AccountFault(`its status is ${status}: it does not trade from its vaults alone`);
    }
    return reservesHead(
      [account.key(400), account.key(432)],
      [account.key(336), account.key(368)],
      [account.u64(192), account.u64(200)],
    );
  },
};

/** All that can be read. */
export const POOL_PROGRAMS: readonly PoolProgram[] = [
  WHIRLPOOL,
  RAYDIUM_CLMM,
  METEORA_DLMM,
  RAYDIUM_CPMM,
  RAYDIUM_AMM,
];
