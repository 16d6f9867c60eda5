import zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Page, PAGE_LIMITS, type ReplayEnvelope } from '../../compute/replay/page.js';
import { encodePage } from '../../compute/replay/page-format.js';
import {
  gzipPage,
  type GzippedText,
  matchedGzipPage,
  plainGzipPage,
} from '../../compute/replay/page-gzip.js';
import type { PlainStore } from '../reference/replay.js';
import { type Cents, type LadderShape, ladderStore, moving, sequence } from './ladder-store.js';
import {
  envelopeOf,
  kernelPage,
  MINT,
  pageLimits,
  plainRequest,
  requests,
  START_T,
  stores,
  supplies,
} from './replay-stores.js';

/** By matches even if they do not pay. */
const byMatches: typeof gzipPage = (page, envelope): GzippedText =>
  matchedGzipPage(
    page,
    envelope,
    () => undefined,
    () => true,
  );

const WAYS = { gzipPage, plainGzipPage, byMatches };

function checkEveryWay(page: Page, envelope: ReplayEnvelope): void {
  const plain = encodePage(page, envelope, 'json');
  for (const [name, encode] of Object.entries(WAYS)) {
    const { body, plainBytes } = encode(page, envelope);
    expect(plainBytes, name).toBe(plain.length);
    expect(body.byteLength, name).toBe(body.buffer.byteLength);
    expect(Buffer.compare(zlib.gunzipSync(body), plain), name).toBe(0);
    expect(Buffer.compare(encode(page, envelope).body, body), name).toBe(0);
  }
}

const REQUEST = plainRequest(START_T, START_T + 100_000);
const DRAWN_FROM = 99;

function storeOf(shape: LadderShape, cents: Cents): PlainStore {
  return ladderStore(shape, cents, sequence(DRAWN_FROM));
}

function pageOf(store: PlainStore, request = REQUEST): Page {
  const supply = { rows: 1000, namesNext: true, runLength: 40 };
  return kernelPage(store, request, PAGE_LIMITS, supply).page;
}

/** What dynamic codes may cost for a page that shrinks to almost nothing. */
const CODES_BYTES = 256;
/** By how much a full page of moving ladders shrinks at least. */
const LEAST_RATIO = 5.2;
const FULL = { snapshots: 120, markets: 12, bins: 28 };
const spread = (n: number) => (Math.imul(n, 0x9e37_79b1) >>> 8) % 9_999_999;

/** Different pages: consecutive snapshots are similar in some, and not in others. */
const STORES: Record<string, () => PlainStore> = {
  moving: () => storeOf(FULL, moving),
  still: () => storeOf(FULL, (draw, last) => (last < 0 ? 1e4 + draw() * 9e7 : last)),
  new: () => storeOf(FULL, (draw) => 100 + draw() * 1e7),
  drifting: () =>
    storeOf(FULL, (draw, last) => (last < 0 ? 1e7 + draw() * 9e7 : last + draw() * 100)),
  'cells that come and go': () => storeOf({ ...FULL, there: 0.95 }, moving),
  'cells that keep coming and going': () => storeOf({ ...FULL, there: 0.5 }, moving),
  'ladders that shift': () =>
    storeOf(FULL, (_draw, _last, s, m, bin) => 100 + spread(m * 7919 + (bin + (s >> 1)) * 104_729)),
  'one amount a market': () =>
    storeOf(FULL, (_draw, _last, s, m) => 100 + spread(m * 7919 + s * 104_729)),
  'few amounts': () => storeOf(FULL, (draw) => [1e5, 2.5e5, 1e6, 123_456][Math.floor(draw() * 4)]),
  'whole dollars': () => storeOf(FULL, (draw) => 100 * Math.floor(1 + draw() * 999)),
  'huge amounts': () => storeOf({ ...FULL, snapshots: 30 }, (draw) => draw() * 2 ** 43),
  'beyond the window': () => storeOf({ snapshots: 4, markets: 60, bins: 100 }, moving),
  'at the edge of the window': () => storeOf({ snapshots: 12, markets: 22, bins: 100 }, moving),
  'one snapshot': () => storeOf({ snapshots: 1, markets: 40, bins: 60 }, moving),
  'few cells': () => storeOf({ snapshots: 2, markets: 2, bins: 4 }, moving),
};

describe('a JSON page with gzip', () => {
  it('unpacks to the same text by every method, and to the same bytes every time', () => {
    const pages = fc
      .tuple(stores, requests, pageLimits, supplies, fc.constantFrom(null, MINT))
      .map(([store, request, limits, supply, resolved]) => ({
        page: kernelPage(store, request, limits, supply).page,
        envelope: envelopeOf(request, resolved),
      }));
    fc.assert(
      fc.property(pages, ({ page, envelope }) => checkEveryWay(page, envelope)),
      { numRuns: 120 },
    );
  });

  it.each(Object.keys(STORES))('is hardly larger than by zlib at its fastest: %s', (name) => {
    const store = STORES[name]();
    for (const group of ['market', 'venue', 'all'] as const) {
      const request = { ...REQUEST, group };
      const page = pageOf(store, request);
      const envelope = envelopeOf(request);
      checkEveryWay(page, envelope);
      const plain = encodePage(page, envelope, 'json');
      const fastest = zlib.gzipSync(plain, { level: 1, memLevel: 9 });
      const most = fastest.length + CODES_BYTES;
      expect(gzipPage(page, envelope).body.length, group).toBeLessThanOrEqual(most);
    }
  });

  it('shrinks a full page of moving ladders by more than a factor of five', () => {
    const page = pageOf(storeOf({ ...FULL, snapshots: 288 }, moving));
    const { body, plainBytes } = gzipPage(page, envelopeOf(REQUEST));
    expect(page.rowCount).toBeGreaterThan(90_000);
    expect(plainBytes / body.length).toBeGreaterThanOrEqual(LEAST_RATIO);
  });

  it('leaves pages to zlib if their text does not repeat itself from snapshot to snapshot', () => {
    const isPlain = (name: string): boolean => {
      const page = pageOf(STORES[name]());
      const envelope = envelopeOf(REQUEST);
      const { body } = plainGzipPage(page, envelope);
      return Buffer.compare(gzipPage(page, envelope).body, body) === 0;
    };
    for (const name of ['few amounts', 'cells that keep coming and going', 'few cells']) {
      expect(isPlain(name), name).toBe(true);
    }
    for (const name of ['moving', 'cells that come and go', 'beyond the window']) {
      expect(isPlain(name), name).toBe(false);
    }
  });
});
