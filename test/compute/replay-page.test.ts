import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { marketsOfPage } from '../../compute/replay/names.js';
import { PAGE_LIMITS, ReplayCancelled, drawPage } from '../../compute/replay/page.js';
import { encodePage } from '../../compute/replay/page-format.js';
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
  it('equals the plain reference byte for byte, however it ends', () => {
    const seen = { cells: 0, snapshots: 0, window: 0, more: 0 };
    fc.assert(
      fc.property(stores, requests, pageLimits, supplies, (store, request, limits, supply) => {
        for (let from: number | null = request.from; from !== null;) {
          const part: PlainRequest = { ...request, from };
          const { page, askedForMore } = kernelPage(store, part, limits, supply);
          const envelope = envelopeOf(part);
          const unclamped = { ...envelope, clamped: envelope.window.clamped };
          const { reply, end } = referencePage(store, part, limits, unclamped);
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
      markets: marketsOfPage([], queryOf(DEFAULT_REQUEST)),
      query: queryOf(DEFAULT_REQUEST),
      windowContinues: false,
    };
    let checks = 0;
    const stop = () => {
      if (++checks === 3) throw new ReplayCancelled('gone');
    };
    expect(() => drawPage(input, PAGE_LIMITS, stop)).toThrow(ReplayCancelled);
    expect(checks).toBe(3);
  });

  it('refuses a snapshot that alone has more cells than a page may', () => {
    const cells = [0, 1, 2].map((bin) => ({ market: 0, bin, support: 100n, resistance: 0n }));
    const snapshots = [{ t: START_T, tier: 'raw' as const, price: 1, cells }];
    const market = { exchangeType: 'CEX' as const, type: 'cex_spot' as const, address: null };
    const store: PlainStore = { markets: [{ ...market, source: 'X', pair: 'A/B' }], snapshots };
    const pageOf = (maxCells: number) =>
      kernelPage(store, DEFAULT_REQUEST, { ...PAGE_LIMITS, maxCells }, WHOLE).page;
    expect(pageOf(3)).toMatchObject({ snapshotCount: 1, end: 'window' });
    expect(() => pageOf(2)).toThrow(`snapshot ${START_T} alone exceeds a page's cells`);
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
