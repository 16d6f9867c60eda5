/**
 * Accounts of Solana's mainnet, as people published them: their beginnings, up to the last byte that is not zero. What
 * they must hold was published beside them, or follows from addresses that the programs derive from them.
 */
import { describe, expect, it } from 'vitest';
import { programAddress } from '../../collect/chains/program-address.js';
import {
  RAYDIUM_AMM,
  RAYDIUM_CLMM,
  RAYDIUM_CPMM,
  readRaydiumArray,
  readWhirlpoolArray,
  WHIRLPOOL,
} from '../../collect/chains/solana-layouts.js';
import { AccountFields } from '../../collect/chains/solana-node.js';
import * as reference from '../reference/solana-accounts.js';
import { seen } from '../support/collected.js';
import { SOL, TOKENS, USDC } from '../support/solana-stub.js';

const SPYX = 'XsoCS1TfEyfFhfvj8EtZ528L3CaKBDBRqRapnBbDF2W';

/** @param bytes of the whole account */
function account(bytes: number, base64: string): Buffer {
  const whole = Buffer.alloc(bytes);
  Buffer.from(base64, 'base64').copy(whole);
  return whole;
}

/** SPYx/USDC at slot 441,977,650, with a spacing of 10. */
const CLMM_POOL = '6truu3rZuiB9rKQg4VYC3Dt3QwV7DgwGqXrYUcrvnDDE';
const CLMM = account(
  1_544,
  '9+3j9dfD3kb/vwMkKhXOGC0+xLadlmOwEYhmCdTRCky/7YydGycrB2maWGtHMuSwc0WfMv/p' +
    'SauzqrA7VebI7n+CkzvwJHfvHgfo3CzeeyOg10P48SdrZX2KnuoGlQumeo0wM8U8TN5Pxvp6' +
    '877brTo9ZfNqq8l0MbG75MLS9uDkfKYCA0UvXWGuDGWQFLOhCNwBfFREj/N3+/YuXMSGQvOq' +
    'cxhzKAc5GyE+Pk07YduZaXMpkYelW6CRxLEl5Fd+rjPN0OzkvDpu6M6zEb0fSybIaaLsyppT' +
    'mQGsciFfKewmpvboW8S0F5QIBgoAEpTZAPACAAAAAAAAAAAAAAnXyh8aojDIAgAAAAAAAADw' +
    'TwAAAAAAAG0otxhC8DAAAAAAAAAAAAASKP0FxUpkAQAAAAAAAAAAaLcBAAAAAAAcmAYAAAAA' +
    'AI/x13FRAgAAAAAAAAAAAACS/AIT7w8AAAAAAAAAAAAANvbsctIQAAAAAAAAAAAAAOjsvahw',
);

/** The same pair at Orca at the same slot, with a spacing of 2. */
const ORCA_POOL = 'Fae5dWVntUt6zbWu2voXxioDpMii7SqQwtsxBmoVCsHR';
const ORCA = account(
  653,
  'P5XRDOGAYwkT5EH4ORPKaLBjT7Al/eqohzfoQRDRJV41ezN33e4czf4CAAMEyAAUBflNvteB' +
    'AAAAAAAAAAAAAACYAxf8HQl4yAIAAAAAAAAA+E8AAECwBQAAAAAAW0QvAAAAAAAH6Nws3nsj' +
    'oNdD+PEna2V9ip7qBpULpnqNMDPFPEzeT8sWZvGU8EWl60d8IuqOuVajlFID4eE2xSkTGyP6' +
    'g1W+6bt+HQ9LiAAAAAAAAAAAAMb6evO+2606PWXzaqvJdDGxu+TC0vbg5HymAgNFL11hQPdf',
);

/** A tick array of a pool with a spacing of 1, in epoch 720: its head, its three ticks that were ever used, its tail. */
const CLMM_ARRAY = Buffer.alloc(10_240);
const CLMM_ARRAY_HEAD = 'wJtVzTH5gSqbrMEczgqhz2k5q5saLLkRt/HkiVc/sO5O1AnmspbrSzzhAAA=';
const CLMM_TICKS: [place: number, base64: string][] = [
  [22, 'UuEAAD5evJHEAAAAAAAAAAAAAAA+XryRxAAAAAAAAAAAAAAAXAUsQJbbWAAAAAAAAAAAAJ18BJb+O814'],
  [37, 'YeEAAA=='],
  [52, 'cOEAAMKhQ247////////////////Pl68kcQAAAAAAAAAAAAAAEdKsE+v61gAAAAAAAAAAABMvoLwjgfNfA=='],
];
Buffer.from(CLMM_ARRAY_HEAD, 'base64').copy(CLMM_ARRAY);
for (const [place, base64] of CLMM_TICKS) {
  Buffer.from(base64, 'base64').copy(CLMM_ARRAY, 44 + 168 * place);
}
Buffer.from('AtACAAA=', 'base64').copy(CLMM_ARRAY, 44 + 168 * 60);

/** A dynamic tick array of Orca, with a single tick in use. */
const DYNAMIC_ARRAY = account(
  260,
  'Edj2juHH2jgAIPn/Zv6K3LmdnNR3lqghHrvycJBo3wpaZrnbBbrqjDyBpAMAAAAAAACAAAAAAAAAAAAA',
);
// Its net and gross liquidity, after a byte that says that it is in use.
const NET = 'a189f23b0f'.padEnd(32, '0');
Buffer.from(`01${NET}${NET}`, 'hex').copy(DYNAMIC_ARRAY, 60 + 55);

/** SOL/CLNS. */
const CPMM_POOL = 'FmNz8z2oN4CheHj4EUXVXC6doFN4RRmhGwxFQgrJVJFs';
const CLNS = 'CLnsvL118rFABjjpGkR5jY8JeUib3SjEf4Eyu7ZVhbKu';
const CPMM = account(
  637,
  '9+3j9dfD3kYYqU87qGd9BoiPIo/FUcw+QszFrbtpttXgwSH4xgBKOIeDzdk2DWWVf4SVivQiBn/uNQhK3rOWBaFPmesT' +
    'kI0VZGGbD4pIZFbJyfoeI3Ullysm0L/RgSx5SVqw81SpbQiDpbGIwDU2wZJ38meocZ6xHrSou1NcKx8k7nqapG4wW42V' +
    'WX+JLdwGrrIv7pj8UoW2LA6LBQM8/kVTKUSMb/nhBpuIV/6rgYT7aH9jRhjANdrEOdwa6ztVmKDwAAAAAAGogndEyk5z' +
    'gZr3oVX9piz0to77Jg5F/XjN3kZ2B1+YkAbd9uHXZaGT2cvhRs7reawctIXtX1s3kTqM9YV+/wCpBt324ddloZPZy+FG' +
    'zut5rBy0he1fWzeROoz1hX7/AKnFCMdJAbfrH/vOkia/cKFLSYTAGlOdRGL2ceESH9kJ0v0ACQkJZAAAAAAAAACYxREA' +
    'AAAAAGrApHDW8AEAiOwFAAAAAADL6jbQnKUAAGyNo2cAAAAAFAM=',
);

/** SOL/USDC of Raydium's first program at slot 453,868,631. */
const AMM = account(
  752,
  'BgAAAAAAAAD+AAAAAAAAAAcAAAAAAAAAAwAAAAAAAAAJAAAAAAAAAAYAAAAAAAAAAgAAAAAAAAAAAAAAAAAAAEBCDwAA' +
    'AAAA9AEAAAAAAAAAAAAAAAAAAEBCDwAAAAAAQEIPAAAAAAABAAAAAAAAAADKmjsAAAAAAMqaOwAAAAAFAAAAAAAAABAn' +
    'AAAAAAAAGQAAAAAAAAAQJwAAAAAAAAwAAAAAAAAAZAAAAAAAAAAZAAAAAAAAABAnAAAAAAAACgjwCgAAAACkmE4BAAAA' +
    'AE64FyutAwAALkI4/Jo0AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACzqVos/TzgAAAAAAAAAAABzVLPx' +
    'IFgFAAAAAAAAAAAAMWNjiHMDAACZN03ShGQFAAAAAAAAAAAAQEusDaXyOAAAAAAAAAAAAEiYZsIJJAAAuHDhLdN5iRVh' +
    '0un6jyZDGDTrc28vJPwqKk3/H9XcpN/yy7m3YO3bGFcGMDBjrTPXtXKW6gLU4DNeMc6vpMxC3QabiFf+q4GE+2h/Y0YY' +
    'wDXaxDncGus7VZig8AAAAAABxvp6877brTo9ZfNqq8l0MbG75MLS9uDkfKYCA0UvXWE=',
);

const key = (bytes: Buffer, at: number) => bytes.subarray(at, at + 32);
const seed = (text: string) => Buffer.from(text);

describe('accounts of mainnet', () => {
  it('have the structs that the tests write accounts by, to the last byte', () => {
    expect(reference.unpack(reference.RAYDIUM_POOL, CLMM, 'PoolState')).toMatchObject({
      token_mint_0: SPYX,
      token_mint_1: USDC,
      mint_decimals_0: 8n,
      mint_decimals_1: 6n,
      tick_spacing: 10n,
      liquidity: 3_229_829_665_810n,
      sqrt_price_x64: 51_318_695_986_973_038_345n,
      tick_current: 20_464n,
      status: 0n,
    });
    expect(reference.unpack(reference.WHIRLPOOL, ORCA, 'Whirlpool')).toMatchObject({
      token_mint_a: SPYX,
      token_mint_b: USDC,
      tick_spacing: 2n,
      fee_rate: 200n,
      liquidity: 557_670_354_425n,
      sqrt_price: 51_338_793_976_598_037_400n,
      tick_current_index: 20_472n,
    });
    expect(reference.unpack(reference.CPMM_POOL, CPMM, 'PoolState')).toMatchObject({
      token_0_mint: SOL,
      token_1_mint: CLNS,
      token_0_program: TOKENS,
      token_1_program: TOKENS,
      status: 0n,
      lp_mint_decimals: 9n,
      mint_0_decimals: 9n,
      mint_1_decimals: 9n,
      enable_creator_fee: 0n,
    });
    expect(reference.unpack(reference.RAYDIUM_AMM, AMM)).toMatchObject({
      status: 6n,
      base_decimal: 9n,
      quote_decimal: 6n,
      base_mint: SOL,
      quote_mint: USDC,
      base_need_take_pnl: 183_502_858n,
      quote_need_take_pnl: 21_928_100n,
    });
  });

  it('hold what was published of a pool of Raydium', () => {
    const head = RAYDIUM_CLMM.readPool(CLMM_POOL, new AccountFields(CLMM));
    expect(head.mints).toEqual([SPYX, USDC]);
    const { sqrt_price_x96: sqrtPrice, ticks } = head.fields(head.depthAccounts.map(() => null));
    expect(sqrtPrice).toBe(String(51_318_695_986_973_038_345n << 32n));
    // Its active liquidity, from one end of the range around its tick to the other.
    expect(ticks).toEqual([
      [20_464 - 25_475, '3229829665810'],
      [20_464 + 25_475, '-3229829665810'],
    ]);
    const sides = [
      { address: SPYX, decimals: 8, symbol: null },
      { address: USDC, decimals: 6, symbol: null },
    ] as const;
    const fields = head.fields(head.depthAccounts.map(() => null));
    const view = seen({ layout: 'clmm', sides, fields }, SPYX);
    expect(view.price).toBeCloseTo(773.9479954937713, 9);
    // The program derives the pool's address from what the account says.
    const seeds = [
      seed('pool'),
      key(CLMM, 9),
      reference.decodeKey(SPYX),
      reference.decodeKey(USDC),
    ];
    expect(programAddress(RAYDIUM_CLMM.program, seeds)).toBe(CLMM_POOL);
    // Arrays of 60 ticks with a spacing of 10.
    expect(head.depthAccounts[1] - head.depthAccounts[0]).toBe(600);
  });

  it('hold the ticks of a tick array of Raydium', () => {
    const { start, ticks } = readRaydiumArray(new AccountFields(CLMM_ARRAY));
    // A position from 57,682 to 57,712. Tick 57,697 was left by its last one.
    expect([start, ticks]).toEqual([
      57_660,
      [
        [57_682, 0xc4_91bc_5e3en],
        [57_712, -0xc4_91bc_5e3en],
      ],
    ]);
    // The array counts its ticks behind the sixty.
    expect(CLMM_ARRAY.readUInt8(44 + 168 * 60)).toBe(ticks.length);
  });

  it('hold what was published of a Whirlpool of today', () => {
    const head = WHIRLPOOL.readPool(ORCA_POOL, new AccountFields(ORCA));
    expect(head.mints).toEqual([SPYX, USDC]);
    const fields = head.fields(head.depthAccounts.map(() => null));
    expect(fields).toEqual({
      sqrt_price_x96: String(51_338_793_976_598_037_400n << 32n),
      ticks: [
        [20_472 - 25_475, '557670354425'],
        [20_472 + 25_475, '-557670354425'],
      ],
    });
    const sides = [
      { address: SPYX, decimals: 8, symbol: null },
      { address: USDC, decimals: 6, symbol: null },
    ] as const;
    expect(seen({ layout: 'clmm', sides, fields }, SPYX).price).toBeCloseTo(774.5543181742219, 9);
    const tier = ORCA.subarray(43, 45);
    const seeds = [
      seed('whirlpool'),
      key(ORCA, 8),
      reference.decodeKey(SPYX),
      reference.decodeKey(USDC),
      tier,
    ];
    expect(programAddress(WHIRLPOOL.program, seeds)).toBe(ORCA_POOL);
  });

  it('hold the tick of a dynamic tick array of Orca', () => {
    const { start, ticks } = readWhirlpoolArray(new AccountFields(DYNAMIC_ARRAY), 64);
    // Its bitmap names the one place that is in use.
    const bitmap = DYNAMIC_ARRAY.readBigUInt64LE(44);
    const place = bitmap.toString(2).length - 1;
    expect(bitmap).toBe(1n << BigInt(place));
    expect([start, ticks]).toEqual([-450_560, [[-450_560 + 64 * place, 0x0f_3bf2_89a1n]]]);
  });

  it.each([
    [
      'CPMM',
      RAYDIUM_CPMM,
      CPMM_POOL,
      CPMM,
      CLNS,
      // The protocol's fees, and its fund's, a third of them on both sides.
      [1_164_696 + 388_232, 546_278_780_223_594 + 182_092_926_741_195],
      [
        '7kr6P33VCitwmwpShpUwXKpjnnXQkVyNZNqLktYKRKm9',
        '9rtx1zk5rSXFjg9oDKhzTnJWeVhuA8CJFvvgdKppsz8a',
      ],
    ],
    [
      'AMM v4',
      RAYDIUM_AMM,
      '58oQChx4yWmvKdwLLZzBi4ChoCc2fqCUWBkwMihLYQo2',
      AMM,
      USDC,
      [183_502_858, 21_928_100],
      [
        'DQyrAcCrDXQ7NeoqGgDCZwBvWDcYmFCjSb9JtteuvPpz',
        'HLmqeL62xR1QoZ1HKKbXRrdN1p3phKpxRMb2VVopvBBz',
      ],
    ],
  ] as const)(
    'hold vaults, tokens and what is owed of a pool of Raydium: %s',
    (_name, program, pool, data, quote, owed, vaults) => {
      const head = program.readPool(pool, new AccountFields(data));
      expect(head.mints).toEqual([SOL, quote]);
      const addresses = head.depthAccounts.map((side) => head.addressOf(side));
      expect(addresses).toEqual(vaults);
      const vault = (mint: string) => {
        const bytes = Buffer.alloc(165);
        bytes.set(reference.decodeKey(mint));
        bytes.writeBigUInt64LE(10n ** 15n, 64);
        return { owner: TOKENS, data: bytes };
      };
      expect(head.fields(head.mints.map(vault))).toEqual({
        reserve0_raw: String(10 ** 15 - owed[0]),
        reserve1_raw: String(10 ** 15 - owed[1]),
      });
    },
  );
});
