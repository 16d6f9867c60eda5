import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyBytes, toBase58 } from '../../compute/base58.js';
import { viewOf } from '../../collect/chains/pool-state.js';
import { isOnCurve } from '../../collect/chains/program-address.js';
import {
  METEORA_DLMM,
  RAYDIUM_CLMM,
  readBinArray,
  readRaydiumArray,
  readWhirlpoolArray,
  WHIRLPOOL,
} from '../../collect/chains/solana-layouts.js';
import { AccountFields } from '../../collect/chains/solana-node.js';
import { binClmm, binDlmm, roundLadder } from '../reference/binning.js';
import {
  decodeKey,
  LB_PAIR,
  pack,
  packBinArray,
  packRaydiumArray,
  packWhirlpoolArray,
  RAYDIUM_POOL,
  WHIRLPOOL as WHIRLPOOL_FIELDS,
} from '../reference/solana-accounts.js';
import { hasShared, shared } from '../storage/import-helpers.js';
import { cellsOf, seen } from '../support/collected.js';

const POOL = '24WZto6BNjNamZFUPf3nQZZaFpuvBwdqT5B8QQjpNjGb';
const SOL = 'So11111111111111111111111111111111111111112';
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';

describe('addresses', () => {
  it('are the same 32 bytes in base58 and back', () => {
    const key = fc.oneof(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.uint8Array({ minLength: 20, maxLength: 20 }).map((end) => {
        const bytes = new Uint8Array(32);
        bytes.set(end, 12);
        return bytes;
      }),
    );
    fc.assert(
      fc.property(key, (bytes) => {
        const text = toBase58(bytes);
        expect([...keyBytes(text)]).toEqual([...bytes]);
        expect([...decodeKey(text)]).toEqual([...bytes]);
      }),
    );
    for (const wrong of ['', '0', 'So1', `${SOL}1`, 'z'.repeat(44)]) {
      expect(() => keyBytes(wrong)).toThrow(RangeError);
    }
  });

  it('of programs are those of real tick arrays', () => {
    for (const [pool, start, address] of REAL_ARRAYS) {
      const data = pack(WHIRLPOOL_FIELDS, { tick_spacing: 64 }, 'Whirlpool');
      const head = WHIRLPOOL.readPool(pool, new AccountFields(data));
      expect(head.addressOf(start)).toBe(address);
      expect(isOnCurve(keyBytes(address))).toBe(false);
    }
  });

  it('of people are points of the curve', () => {
    for (let i = 0; i < 20; i++) {
      const { publicKey } = generateKeyPairSync('ed25519');
      expect(isOnCurve(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32))).toBe(true);
    }
  });
});

/** Pools, first ticks and addresses of Orca's tick arrays on the chain. */
const REAL_ARRAYS: [string, number, string][] = [
  [
    'FSBDeuLQ19Hse2jzhHfDwTvEoeRWD7UKK4BM1zgbV7pY',
    -146_432,
    '2hYgmPV6YsyZVLsqNkinFfqxHGrqmsjukCytd2fXxMBp',
  ],
  [
    'HJPjoWUrhoZzkNfRpHuieeFk9WcZWjwy6PBjZ81ngndJ',
    -5_632,
    '9K1HWrGKZKfjTnKfF621BmEQdai4FcUz9tsoF41jwz5B',
  ],
  [
    'HJPjoWUrhoZzkNfRpHuieeFk9WcZWjwy6PBjZ81ngndJ',
    56_320,
    '5R3ggvauMuSigwM9aN2KF2EmA9MoU9qjqVS8Bq2re8Sc',
  ],
];

/** Net liquidity of a tick, at multiples of a spacing. */
const netsOf = (spacing: number, most: number) =>
  fc
    .uniqueArray(fc.integer({ min: -most, max: most }), { maxLength: 12 })
    .chain((places) =>
      fc.tuple(
        ...places.map((place) =>
          fc
            .bigInt({ min: -(2n ** 100n), max: 2n ** 100n })
            .map((net) => [place * spacing, net] as const),
        ),
      ),
    )
    .map((nets) => nets.sort(([a], [b]) => a - b));

describe('ticks', () => {
  it('of Whirlpools are read from fixed and dynamic arrays', () => {
    const array = fc.record({
      kind: fc.constantFrom('fixed' as const, 'dynamic' as const),
      spacing: fc.constantFrom(1, 8, 64, 128),
      index: fc.integer({ min: -30, max: 30 }),
    });
    fc.assert(
      fc.property(array, netsOf(1, 87), ({ kind, spacing, index }, places) => {
        const start = index * 88 * spacing;
        const nets = places
          .filter(([place]) => place >= 0)
          .map(([place, net]) => [start + place * spacing, net] as const);
        const bytes = packWhirlpoolArray(kind, { pool: POOL, start, spacing }, nets);
        const found = readWhirlpoolArray(new AccountFields(bytes), spacing);
        expect(found).toEqual({ pool: POOL, start, ticks: nets });
      }),
    );
  });

  it('of Raydium are read from arrays in which others hold limit orders', () => {
    const array = fc.record({
      spacing: fc.constantFrom(1, 10, 60, 120),
      index: fc.integer({ min: -60, max: 60 }),
    });
    fc.assert(
      fc.property(array, netsOf(1, 59), ({ spacing, index }, places) => {
        const start = index * 60 * spacing;
        const nets = places
          .filter(([place]) => place >= 0)
          .map(([place, net]) => [start + place * spacing, net] as const);
        const bytes = packRaydiumArray({ pool: POOL, start, spacing }, nets);
        expect(bytes.length).toBe(10_240);
        const found = readRaydiumArray(new AccountFields(bytes));
        expect(found).toEqual({ pool: POOL, start, ticks: nets });
      }),
    );
  });

  it.each([
    ['Whirlpool', WHIRLPOOL, 88],
    ['Raydium CLMM', RAYDIUM_CLMM, 60],
  ] as const)('of a %s have the ladder of the whole pool', (name, program, arrayTicks) => {
    const pool = fc.record({
      spacing: fc.constantFrom(10, 64),
      tick: fc.integer({ min: -80_000, max: 80_000 }),
      ranges: fc.array(
        fc.tuple(fc.nat(3_000), fc.nat(3_000), fc.bigInt({ min: 1n, max: 2n ** 50n })),
        { minLength: 1, maxLength: 6 },
      ),
    });
    fc.assert(
      fc.property(pool, ({ spacing, tick, ranges }) => {
        const nets = new Map<number, bigint>();
        let liquidity = 0n;
        for (const [below, above, amount] of ranges) {
          const clip = (at: number) =>
            Math.max(-6_900, Math.min(6_900, Math.floor(tick / spacing) + at)) * spacing;
          const [low, high] = [clip(-below), clip(above + 1)];
          nets.set(low, (nets.get(low) ?? 0n) + amount);
          nets.set(high, (nets.get(high) ?? 0n) - amount);
          if (low <= tick && tick < high) liquidity += amount;
        }
        const ticks = [...nets].filter(([, net]) => net !== 0n).sort(([a], [b]) => a - b);
        fc.pre(ticks.length > 0);
        const sqrtPrice = BigInt(Math.round(1.0001 ** (tick / 2) * 2 ** 64));
        const account =
          name === 'Whirlpool'
            ? pack(
                WHIRLPOOL_FIELDS,
                {
                  tick_spacing: spacing,
                  liquidity,
                  sqrt_price: sqrtPrice,
                  tick_current_index: tick,
                  token_mint_a: SOL,
                  token_mint_b: USDC,
                },
                'Whirlpool',
              )
            : pack(
                RAYDIUM_POOL,
                {
                  tick_spacing: spacing,
                  liquidity,
                  sqrt_price_x64: sqrtPrice,
                  tick_current: tick,
                  token_mint_0: SOL,
                  token_mint_1: USDC,
                  status: 0,
                },
                'PoolState',
              );
        const head = program.readPool(POOL, new AccountFields(account));
        expect(head.mints).toEqual([SOL, USDC]);
        const width = arrayTicks * spacing;
        const accounts = head.depthAccounts.map((start, i) => {
          const inside = ticks.filter(([at]) => at >= start && at < start + width);
          if (inside.length === 0 && i % 2 === 0) return null;
          const place = { pool: POOL, start, spacing };
          const data =
            name === 'Whirlpool'
              ? packWhirlpoolArray(i % 3 === 0 ? 'fixed' : 'dynamic', place, inside)
              : packRaydiumArray(place, inside);
          return { owner: program.program, data };
        });
        const side = (address: string) => ({ address, decimals: 6, symbol: null });
        const state = {
          layout: program.layout,
          sides: [side(SOL), side(USDC)],
          fields: head.fields(accounts),
        } as const;
        const view = seen(state, SOL);
        const whole = {
          sqrt_price_x96: String(sqrtPrice * 2n ** 32n),
          ticks: ticks.map(([at, net]): [number, string] => [at, String(net)]),
          decimals0: 6,
          decimals1: 6,
          token: 0,
          quote_usd: 1,
        } as const;
        near(cellsOf(view.price, view.body(1)), roundLadder(binClmm(view.price, whole)));
      }),
      { numRuns: 25 },
    );
  });
});

/** Amounts that differ by no more than doubles do: two ways of working out the same. */
function near(found: [number, number, number][], expected: [number, number, number][]): void {
  const byBin = (cells: [number, number, number][]) =>
    new Map(cells.map(([bin, ...amounts]) => [bin, amounts]));
  const [some, others] = [byBin(found), byBin(expected)];
  for (const bin of new Set([...some.keys(), ...others.keys()])) {
    const [a, b] = [some.get(bin) ?? [0, 0], others.get(bin) ?? [0, 0]];
    // A cell under 1.00 USD is left out: one of 1.00 may be in only one of the two.
    const slack = a[0] + a[1] === 0 || b[0] + b[1] === 0 ? 101 : 1;
    a.forEach((amount, i) => {
      expect(Math.abs(amount - b[i])).toBeLessThanOrEqual(slack + amount * 1e-9);
    });
  }
}

/** `(1 + step / 10,000)^id` from whole numbers, rounded once. */
function exactPower(step: number, id: number): number {
  const [above, below] = id < 0 ? [10_000, 10_000 + step] : [10_000 + step, 10_000];
  // 2^320 keeps 60 digits of all that are compared.
  const scale = 1n << 320n;
  let [result, square] = [scale, (scale * BigInt(above)) / BigInt(below)];
  for (let n = Math.abs(id); n > 0; n = Math.floor(n / 2)) {
    if (n % 2 === 1) result = (result * square) / scale;
    square = (square * square) / scale;
  }
  return Number(result) / 2 ** 320;
}

describe('pools of Meteora', () => {
  it('have the bins of their arrays', () => {
    const bins = fc.uniqueArray(
      fc.tuple(
        fc.integer({ min: -900, max: 900 }),
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      ),
      { selector: ([id]) => id, maxLength: 30 },
    );
    fc.assert(
      fc.property(bins, fc.integer({ min: -300, max: 300 }), (list, active) => {
        const values = {
          active_id: active,
          bin_step: 80,
          status: 0,
          token_x_mint: SOL,
          token_y_mint: USDC,
        };
        const account = pack(LB_PAIR, values, 'LbPair');
        const head = METEORA_DLMM.readPool(POOL, new AccountFields(account));
        expect(head.mints).toEqual([SOL, USDC]);
        const accounts = head.depthAccounts.map((index) => ({
          owner: METEORA_DLMM.program,
          data: packBinArray({ pool: POOL, index }, list),
        }));
        const first = head.depthAccounts[0] * 70;
        const end = (head.depthAccounts.at(-1)! + 1) * 70;
        expect(head.fields(accounts)).toEqual({
          bin_step: 80,
          active_id: active,
          bins: list
            .filter(([id, x, y]) => id >= first && id < end && (x > 0n || y > 0n))
            .sort(([a], [b]) => a - b)
            .map(([id, x, y]) => [id, String(x), String(y)]),
        });
        // The ladder's last bin, 242, and the first, -232, are within.
        const step = Math.log(1.008);
        expect((active - first) * step).toBeGreaterThan(232.5 * Math.log(1.01));
        expect((end - 1 - active) * step).toBeGreaterThan(242.5 * Math.log(1.01));
      }),
      { numRuns: 30 },
    );
  });

  it('have the ladder of all their bins, at any price and with any decimals', () => {
    const pool = fc.record({
      step: fc.constantFrom(1, 4, 10, 25, 80, 250, 400),
      // Beyond 512 arrays to a side the pair's own bitmap ends.
      active: fc.oneof(
        fc.integer({ min: -80_000, max: 80_000 }),
        fc.constantFrom(-35_841, -35_840, -71, -70, -1, 0, 69, 70, 35_839, 35_840),
      ),
      decimals: fc.tuple(fc.nat(18), fc.nat(18)),
      token: fc.constantFrom(0 as const, 1 as const),
      // Ids around the active one by hundredths of the ladder's reach, and the amounts there in whole tokens.
      bins: fc.uniqueArray(
        fc.tuple(fc.integer({ min: -110, max: 110 }), fc.integer({ min: 1, max: 10_000 })),
        { selector: ([place]) => place, minLength: 1, maxLength: 20 },
      ),
    });
    fc.assert(
      fc.property(pool, ({ step, active, decimals, token, bins }) => {
        const exponent = active * Math.log10(1 + step / 10_000) + decimals[0] - decimals[1];
        fc.pre(Math.abs(exponent) < 6);
        const reach = Math.ceil((242.5 * Math.log(1.01)) / Math.log(1 + step / 10_000));
        const raw = (amount: number, side: 0 | 1) => BigInt(amount) * 10n ** BigInt(decimals[side]);
        const fits = (amount: bigint) => amount < 2n ** 64n;
        const list = bins
          .map(([place, amount]): [number, bigint, bigint] => [
            active + Math.round((place * reach) / 100),
            place >= 0 ? raw(amount, 0) : 0n,
            place <= 0 ? raw(amount, 1) : 0n,
          ])
          .filter(([id, x, y], i, all) => {
            const isFirst = all.findIndex(([other]) => other === id) === i;
            return isFirst && fits(x) && fits(y);
          });
        fc.pre(list.length > 0);
        const values = {
          active_id: active,
          bin_step: step,
          status: 0,
          token_x_mint: SOL,
          token_y_mint: USDC,
        };
        const head = METEORA_DLMM.readPool(
          POOL,
          new AccountFields(pack(LB_PAIR, values, 'LbPair')),
        );
        const accounts = head.depthAccounts.map((index) =>
          list.some(([id]) => Math.floor(id / 70) === index)
            ? { owner: METEORA_DLMM.program, data: packBinArray({ pool: POOL, index }, list) }
            : null,
        );
        const sides = [
          { address: SOL, decimals: decimals[0], symbol: null },
          { address: USDC, decimals: decimals[1], symbol: null },
        ] as const;
        const state = { layout: 'dlmm', sides, fields: head.fields(accounts) } as const;
        const found = viewOf(state, POOL, token === 0 ? SOL : USDC);
        // Bins beyond the accounts that are read are beyond the ladder.
        const ids = state.fields.bins as [number, string, string][];
        if (ids.length === 0) {
          expect(found).toContain('holds nothing within the ladder');
          return;
        }
        if (typeof found === 'string') throw new Error(found);
        const inY = exactPower(step, active) * 10 ** (decimals[0] - decimals[1]);
        const exact = token === 0 ? inY : 1 / inY;
        expect(Math.abs(found.price / exact - 1)).toBeLessThan(1e-11);
        const whole = {
          bin_step: step,
          active_id: active,
          bins: list.map(([id, x, y]): [number, number, number] => [
            id,
            Number(x) / 10 ** decimals[0],
            Number(y) / 10 ** decimals[1],
          ]),
          decimals_x: decimals[0],
          decimals_y: decimals[1],
          token: token === 0 ? 'x' : 'y',
          quote_usd: 1,
        } as const;
        near(cellsOf(found.price, found.body(1)), roundLadder(binDlmm(found.price, whole)));
      }),
      { numRuns: 100 },
    );
  });

  it.skipIf(!hasShared)('equal what others decoded of a real one', () => {
    const pool = 'EtAdVRLFH22rjWh3mcUasKFF27WtHhsaCvK27tPFFWig';
    const file = (part: string) =>
      new AccountFields(readFileSync(shared(`dlmm/meteora_${pool}_${part}.bin`)));
    const states = readFileSync(shared('dlmm/dlmm_bins.ndjson'), 'utf8').trim().split('\n');
    const state = states.map((line) => JSON.parse(line)).find((other) => other.pool === pool);
    const head = METEORA_DLMM.readPool(pool, file('lb_pair'));
    expect(head.mints).toEqual([state.token_x.address, state.token_y.address]);
    const empty = head.depthAccounts.map(() => null);
    expect(head.fields(empty)).toMatchObject({
      active_id: state.active_id,
      bin_step: state.bin_step,
    });
    const arrays = [file('bin_array_2'), file('bin_array_1')].map(readBinArray);
    expect(arrays.map((array) => array.pool)).toEqual([pool, pool]);
    expect(arrays.flatMap(({ bins }) => bins)).toEqual(state.bins);
    // Each bin has its price, times 2^64: that of its id by the pair's step, in exact arithmetic.
    for (const part of ['bin_array_1', 'bin_array_2']) {
      const array = file(part);
      for (let i = 0; i < 70; i++) {
        const price = Number(array.u128(56 + 144 * i + 16)) / 2 ** 64;
        if (price === 0) continue;
        const id = Number(array.i64(8)) * 70 + i;
        expect(Math.abs(price / exactPower(state.bin_step, id) - 1)).toBeLessThan(1e-14);
      }
    }
  });
});

/** `[address, data]` of the accounts of a raw snapshot. */
function rawAccounts(file: string): [string, Buffer][] {
  const text = gunzipSync(readFileSync(shared(`clmm/solana/${file}`))).toString();
  const pairs: [string, string][] = file.endsWith('.csv.gz')
    ? text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => line.split(',') as [string, string])
    : JSON.parse(text).accounts.map(({ pubkey, data }: Record<string, string>) => [pubkey, data]);
  return pairs.map(([address, data]) => [address, Buffer.from(data, 'base64')]);
}

describe.skipIf(!hasShared)('every Whirlpool of the raw snapshots', () => {
  it.each([
    [128_556_169, 'whirlpool-state-20220406.json.gz', 8],
    [128_703_662, 'whirlpool-state-20220407.json.gz', 8],
    [144_285_804, 'whirlpool-snapshot-144285804.csv.gz', 64],
  ])('of slot %i equals its decoded state and has its ladder', (slot, file, count) => {
    const decoded = gunzipSync(readFileSync(shared('clmm/solana/whirlpools_decoded.ndjson.gz')))
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter((state) => state.slot === slot);
    expect(decoded.length).toBe(count);
    const raw = rawAccounts(file);
    const accounts = new Map(raw);
    const arrays = raw.filter(([, data]) => data.length === 9_988);
    for (const state of decoded) {
      const head = WHIRLPOOL.readPool(state.pool, new AccountFields(accounts.get(state.pool)!));
      expect(head.mints).toEqual([state.token0.address, state.token1.address]);
      const key = decodeKey(state.pool);
      const own = arrays
        .filter(([, data]) => data.subarray(-32).equals(key))
        .map(([address, data]) => ({
          address,
          data,
          ...readWhirlpoolArray(new AccountFields(data), state.tick_spacing),
        }))
        .sort((a, b) => a.start - b.start);
      expect(own.every(({ pool }) => pool === state.pool)).toBe(true);
      const ticks = own.flatMap((array) => array.ticks);
      expect(ticks.map(([tick, net]) => [tick, String(net)])).toEqual(state.ticks);
      expect(head.addressOf(own[0].start)).toBe(own[0].address);
      const found = head.depthAccounts.map((start) => {
        const data = own.find((array) => array.start === start)?.data;
        return data === undefined ? null : { owner: WHIRLPOOL.program, data };
      });
      const fields = head.fields(found);
      expect(fields.sqrt_price_x96).toBe(state.sqrt_price_x96);
      if (!state.ticks_match_liquidity || state.liquidity === '0') continue;
      const sides = [state.token0, state.token1] as const;
      const view = seen({ layout: 'clmm', sides, fields }, state.token0.address);
      const whole = {
        sqrt_price_x96: state.sqrt_price_x96,
        ticks: state.ticks,
        decimals0: state.token0.decimals,
        decimals1: state.token1.decimals,
        token: 0,
        quote_usd: 1,
      } as const;
      expect(cellsOf(view.price, view.body(1))).toEqual(cellsOf(view.price, { clmm: whole }));
    }
  });
});
