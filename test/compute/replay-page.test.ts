import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PAGE_LIMITS, ReplayCancelled, buildPage } from '../../compute/replay/page.js';
import { encodePage } from '../../compute/replay/render.js';
import { referencePage, type PlainRequest, type PlainStore } from '../reference/replay.js';
import {
  START_T,
  envelopeOf,
  kernelPage,
  pageLimits,
  plainRequest,
  queryOf,
  requests,
  runOf,
  stores,
  supplies,
} from './replay-stores.js';

const DEFAULT_REQUEST = plainRequest(0, 4_000_000_000);
const WHOLE = { rows: 1000, namesNext: true, runLength: 3 };

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

describe('a page of replay', () => {
  it('equals the reference if snapshots have the same cells, or nearly', () => {
    const ladders = fc.constantFrom<[market: number, bin: number][][]>(
      [
        [0, -3],
        [0, 5],
        [1, 5],
      ],
      [
        [0, -3],
        [0, 5],
        [2, 5],
      ],
      [
        [0, -3],
        [0, 4],
        [1, 5],
      ],
      [
        [0, -3],
        [0, 5],
      ],
      [],
    );
    const steps = fc.array(
      fc.record({ ladder: ladders, cents: fc.integer({ min: 100, max: 3e5 }) }),
      {
        maxLength: 30,
        size: 'max',
      },
    );
    const market = { exchangeType: 'DEX' as const, type: 'onchain_pool' as const, pair: null };
    const markets = ['A', 'B', 'C'].map((source) => ({ ...market, source, address: source }));
    const groups = fc.constantFrom('market' as const, 'venue' as const, 'all' as const);
    fc.assert(
      fc.property(steps, groups, (list, group) => {
        const snapshots = list.map(({ ladder, cents }, s) => ({
          t: START_T + s,
          tier: 'raw' as const,
          price: 2 + s,
          cells: ladder.map(([m, bin]) => ({
            market: m,
            bin,
            support: BigInt(cents),
            resistance: 7n,
          })),
        }));
        const request = { ...DEFAULT_REQUEST, group };
        const store = { markets, snapshots };
        const envelope = envelopeOf(request);
        const told = { ...envelope, clamped: false };
        const { page } = kernelPage(store, request, { ...PAGE_LIMITS }, WHOLE);
        const { reply } = referencePage(store, request, { ...PAGE_LIMITS }, told);
        expect(text(encodePage(page, envelope, 'json'))).toBe(JSON.stringify(reply));
      }),
      { numRuns: 70 },
    );
  });

  it('equals the plain reference byte for byte, however it ends', () => {
    const seen = { cells: 0, snapshots: 0, window: 0, more: 0 };
    fc.assert(
      fc.property(stores, requests, pageLimits, supplies, (store, request, limits, supply) => {
        for (let from: number | null = request.from; from !== null;) {
          const part: PlainRequest = { ...request, from };
          const { page, askedForMore } = kernelPage(store, part, limits, supply);
          const envelope = envelopeOf(part);
          const told = { ...envelope, clamped: envelope.window.clamped };
          const { reply, end } = referencePage(store, part, limits, told);
          expect(text(encodePage(page, envelope, 'json'))).toBe(JSON.stringify(reply));
          expect(page.end).toBe(end);
          seen[end]++;
          seen.more += askedForMore;
          from = page.nextFrom;
        }
      }),
      { numRuns: 500 },
    );
    for (const times of Object.values(seen)) expect(times).toBeGreaterThan(50);
  });

  it('has at most 288 snapshots and 100,000 cells', () => {
    const snapshots = Array.from({ length: 300 }, (_, i) => ({
      t: START_T + i,
      tier: 'raw' as const,
      price: 1,
      cells: [],
    }));
    const thin = kernelPage({ markets: [], snapshots }, DEFAULT_REQUEST, PAGE_LIMITS, WHOLE).page;
    expect([thin.snapshotCount, thin.end, thin.nextFrom]).toEqual([
      288,
      'snapshots',
      START_T + 288,
    ]);

    const markets = Array.from({ length: 400 }, (_, m) => ({
      source: `v${m}`,
      exchangeType: 'CEX' as const,
      type: 'cex_spot' as const,
      address: null,
      pair: null,
    }));
    const wide = (cells: number, i: number) => ({
      t: START_T + i,
      tier: 'raw' as const,
      price: 1,
      cells: Array.from({ length: cells }, (_, c) => ({
        market: Math.floor(c / 250),
        bin: (c % 250) - 125,
        support: 100n,
        resistance: 0n,
      })),
    });
    const store = { markets, snapshots: [99_999, 1, 1, 100_000].map(wide) };
    const request = { ...DEFAULT_REQUEST, minPct: -90, maxPct: 1000 };
    const first = kernelPage(store, request, PAGE_LIMITS, WHOLE).page;
    expect([first.snapshotCount, first.rowCount, first.end]).toEqual([2, 100_000, 'cells']);
    const rest = { ...request, from: START_T + 3 };
    const last = kernelPage(store, rest, PAGE_LIMITS, WHOLE).page;
    expect([last.snapshotCount, last.rowCount, last.end]).toEqual([1, 100_000, 'window']);
  });

  it('stops at the next snapshot when it is cancelled', () => {
    const snapshots = Array.from({ length: 5 }, (_, i) => ({
      t: START_T + i,
      tier: 'raw' as const,
      price: 1,
      cells: [],
    }));
    const input = {
      runs: [runOf('raw', snapshots)],
      selection: { run: [0, 0, 0, 0, 0], row: [0, 1, 2, 3, 4] },
      markets: [],
      query: queryOf(DEFAULT_REQUEST),
      windowContinues: false,
    };
    let asked = 0;
    const stop = () => {
      if (++asked === 3) throw new ReplayCancelled('gone');
    };
    expect(() => buildPage(input, PAGE_LIMITS, stop)).toThrow(ReplayCancelled);
    expect(asked).toBe(3);
  });

  it('refuses cells of a market that the token does not have', () => {
    const cells = [{ market: 1, bin: 0, support: 100n, resistance: 0n }];
    const snapshots = [{ t: START_T, tier: 'raw' as const, price: 1, cells }];
    const store: PlainStore = { markets: [], snapshots };
    expect(() => kernelPage(store, DEFAULT_REQUEST, PAGE_LIMITS, WHOLE)).toThrow(
      'cell of market 1, but the token has 0',
    );
  });
});
