import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DEMO_15M_S,
  DEMO_1H_S,
  DEMO_RAW_S,
  demoPlan,
  demoSnapshotRow,
  demoSnapshotTimes,
} from '../../demo/history.js';
import { DEMO_SEED, type DemoToken, demoTokenRows, demoTokens } from '../../demo/tokens.js';
import { binSnapshotRows } from '../../compute/ingest/snapshots.js';
import {
  canonicalAddress,
  chainOfAddress,
  marketKey,
  TIERS,
  venueKey,
} from '../../compute/market.js';

const UNTIL_S = 1_794_659_696;
const HOUR_S = 3_600;
const tokens = demoTokens(DEMO_SEED);
const traded = tokens.filter((token) => token.markets.length > 0);
const named = (symbol: string, chain = 'mainchain') => {
  const token = tokens.find((one) => one.symbol === symbol && one.chain === chain);
  if (token === undefined) throw new Error(`no ${symbol} on ${chain}`);
  return token;
};

/** Bytes of a base58 text, by long division: a different method from the demo's. */
function base58Bytes(text: string): number[] {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  const bytes: number[] = [];
  for (const letter of text) {
    let carry = alphabet.indexOf(letter);
    for (let i = 0; i < bytes.length || carry > 0; i++) {
      carry += (bytes[i] ?? 0) * 58;
      bytes[i] = carry & 0xff;
      carry >>= 8;
    }
  }
  for (const letter of text) {
    if (letter !== '1') break;
    bytes.push(0);
  }
  return bytes;
}

describe('demo tokens', () => {
  it('are about sixty on both chains, twelve assets with a leg on each', () => {
    expect(tokens.length).toBeGreaterThanOrEqual(55);
    expect(tokens.length).toBeLessThanOrEqual(65);
    const legs = new Map<string, string[]>();
    for (const { asset, chain } of tokens) {
      if (asset !== null) legs.set(asset, [...(legs.get(asset) ?? []), chain]);
    }
    expect(legs.size).toBe(12);
    for (const chains of legs.values()) expect(chains).toEqual(['mainchain', 'evmchain']);
    expect(tokens.filter(({ chain }) => chain === 'evmchain').length).toBeGreaterThan(15);
    tokens.forEach((token, index) => expect(token.index).toBe(index));
  });

  it('have distinct addresses that are valid on their chain', () => {
    const addresses = tokens.flatMap((token) => [
      [token.chain, token.address],
      ...token.markets.flatMap(({ head }) => (head.address ? [[token.chain, head.address]] : [])),
    ]);
    for (const [chain, address] of addresses) {
      expect(chainOfAddress(address)).toBe(chain);
      expect(canonicalAddress(address)).toBe(address);
      if (chain === 'mainchain') expect(base58Bytes(address), address).toHaveLength(32);
    }
    expect(new Set(addresses.map(([, address]) => address)).size).toBe(addresses.length);
  });

  it('keep their addresses whatever the seed, and include each state of coverage', () => {
    expect(demoTokens(7).map(({ address }) => address)).toEqual(tokens.map((t) => t.address));
    const rows = demoTokenRows(DEMO_SEED, UNTIL_S);
    const of = (coverage: string) => rows.filter((row) => row.coverage === coverage);
    expect(of('excluded').map(({ symbol, price_usd }) => [symbol, price_usd])).toEqual([
      ['USDC', 1],
    ]);
    expect(of('depth_only')).toHaveLength(1);
    expect(rows.filter(({ price_usd }) => price_usd === null)).toHaveLength(1);
    for (const row of rows) {
      if (row.price_usd === null) continue;
      expect(row.price_usd).toBeGreaterThan(0);
      expect(row.mcap).toBeGreaterThan(1e5);
      expect(row.liquidity_usd).toBeGreaterThan(1e4);
    }
  });

  it('have one type per venue and no market twice', () => {
    const types = new Map<string, string>();
    for (const { markets } of tokens) {
      for (const { head } of markets) {
        const venue = venueKey(head.source);
        expect(types.get(venue) ?? head.type, venue).toBe(head.type);
        types.set(venue, head.type);
      }
      expect(new Set(markets.map(({ head }) => marketKey(head))).size).toBe(markets.length);
    }
    expect(new Set(types.values()).size).toBe(4);
  });
});

describe('demo history', () => {
  it('is planned newest first, without gaps or overlaps', () => {
    const plan = demoPlan(tokens, UNTIL_S);
    const first = plan.slice(0, traded.length);
    expect(first.map(({ token }) => token)).toEqual(traded);
    for (const { tier, fromS, toS } of first) {
      expect({ tier, fromS, toS }).toEqual({
        tier: 'raw',
        fromS: UNTIL_S + 1 - 2 * HOUR_S,
        toS: UNTIL_S + 1,
      });
    }
    for (let i = 1; i < plan.length; i++) expect(plan[i].toS).toBeLessThanOrEqual(plan[i - 1].toS);
    for (const token of traded) {
      const units = plan.filter((unit) => unit.token === token);
      for (let i = 1; i < units.length; i++) expect(units[i].toS).toBe(units[i - 1].fromS);
      const raw = units.filter(({ tier }) => tier === 'raw');
      expect(raw.at(-1)?.fromS).toBe(UNTIL_S + 1 - DEMO_RAW_S);
      const older = units.filter(({ tier }) => tier !== 'raw');
      const isMain = token.chain === 'mainchain';
      expect(older.map(({ tier, fromS, toS }) => [tier, toS - fromS])).toEqual([
        isMain ? ['15m', DEMO_15M_S] : ['1h', DEMO_1H_S],
      ]);
    }
  });

  it('has its times on an absolute grid, however a window is cut', () => {
    const moment = fc.integer({ min: UNTIL_S - 4 * HOUR_S, max: UNTIL_S + 4 * HOUR_S });
    const window = fc.tuple(moment, moment, moment).map((all) => all.sort((a, b) => a - b));
    fc.assert(
      fc.property(
        fc.constantFrom(...traded),
        fc.constantFrom(...TIERS),
        window,
        (token, tier, w) => {
          const whole = demoSnapshotTimes(token, w[0], w[2], tier);
          const parts = [
            ...demoSnapshotTimes(token, w[0], w[1], tier),
            ...demoSnapshotTimes(token, w[1], w[2], tier),
          ];
          expect(parts).toEqual(whole);
          const step = { raw: token.cadenceS, '15m': 900, '1h': 3_600 }[tier];
          for (const t of whole) {
            expect(t % step).toBe(tier === 'raw' ? token.offsetS : 0);
            expect(t).toBeGreaterThanOrEqual(w[0]);
            expect(t).toBeLessThan(w[2]);
          }
        },
      ),
    );
  });

  it('has raw snapshots one to two minutes apart, with a few missing', () => {
    let kept = 0;
    let slots = 0;
    for (const token of traded) {
      expect(token.cadenceS).toBeGreaterThanOrEqual(60);
      expect(token.cadenceS).toBeLessThanOrEqual(120);
      kept += demoSnapshotTimes(token, UNTIL_S - DEMO_RAW_S, UNTIL_S, 'raw').length;
      slots += DEMO_RAW_S / token.cadenceS;
    }
    expect(kept / slots).toBeGreaterThan(0.99);
    expect(kept / slots).toBeLessThan(1);
  });

  it('gives the same rows for a seed in any order, and different ones for another seed', () => {
    const times = Array.from({ length: 40 }, (_, i) => UNTIL_S - i * 1_711);
    for (const { index } of traded.filter((_, i) => i % 6 === 0)) {
      const rows = (all: DemoToken[], at: number[]) =>
        new Map(at.map((t) => [t, JSON.stringify(demoSnapshotRow(all[index], t, 'raw'))]));
      const backward = rows(demoTokens(5), times);
      const forward = rows(demoTokens(5), times.toReversed());
      expect(new Map([...forward].reverse())).toEqual(backward);
      expect(rows(demoTokens(6), times)).not.toEqual(backward);
    }
  });

  it('is binned without a fault, for every tier of every token', () => {
    for (const token of traded) {
      for (const tier of TIERS) {
        const times = demoSnapshotTimes(token, UNTIL_S - 3 * HOUR_S, UNTIL_S, tier).slice(-3);
        const rows = times.map((t) => demoSnapshotRow(token, t, tier));
        const batch = binSnapshotRows(rows, { firstLine: 1, mode: 'replace' });
        expect(batch.faults, token.symbol).toEqual([]);
        expect(batch.snapshots).toBe(times.length);
        expect(batch.cells).toBeGreaterThan(20 * times.length);
        expect(batch.droppedLevels).toBe(0);
        const run = batch.runs[0].run;
        expect([run.chain, run.address, run.tier]).toEqual([token.chain, token.address, tier]);
        if (tier !== '1h') continue;
        // About -25% to +22%; pools are cut at their own ticks.
        expect(Math.min(...run.bin)).toBeGreaterThanOrEqual(-31);
        expect(Math.max(...run.bin)).toBeLessThanOrEqual(22);
      }
    }
  });

  it('refuses a snapshot of a token without a price', () => {
    expect(() => demoSnapshotRow(named('WRECK'), UNTIL_S, 'raw')).toThrow(/WRECK has no price/);
  });
});
