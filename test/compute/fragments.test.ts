import { spawnSync } from 'node:child_process';
import zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gathered, makeFragments } from '../../compute/replay/fragment-maker.js';
import {
  assemblePage,
  bytesOfFragments,
  type CompressedTexts,
  joinedCrc,
  crcWithEnd,
  FRAGMENT_GROUPS,
  type FragmentGroup,
  type FragmentSpan,
  type SegmentFragments,
} from '../../compute/replay/fragments.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import { encodePage } from '../../compute/replay/page-format.js';
import { encodeSegment } from '../../compute/segment/segment.js';
import {
  type PlainCell,
  type PlainMarket,
  type PlainStore,
  referencePage,
} from '../reference/replay.js';
import {
  envelopeOf,
  kernelPage,
  pageLimits,
  plainRequest,
  queryOf,
  runsOf,
  START_T,
  stores,
} from './replay-stores.js';
import { gzipReaders } from '../support/programs.js';

const WHOLE = { rows: 1000, namesNext: true, runLength: 3 };

const requestOf = (group: 'market' | 'all', from: number) =>
  plainRequest(from, START_T + 10_000_000, { group });

/** The fragments of a store's segments, and the position of each snapshot in them. */
function fragmentsOf(store: PlainStore, runLength: number, group: FragmentGroup) {
  const { runs, placeOf } = runsOf(store, runLength);
  const segments: SegmentFragments[] = [];
  for (const run of runs) {
    // Fragments do not know markets that arrived later.
    const marketCount = Math.max(-1, ...run.market) + 1;
    segments.push(makeFragments({ segment: encodeSegment(run), marketCount, group }));
  }
  return { segments, placeOf };
}

type AllFragments = ReturnType<typeof fragmentsOf>;

/** Snapshots at these times as spans of their segments' fragments. */
function spansOf({ segments, placeOf }: AllFragments, times: Iterable<number>): FragmentSpan[] {
  const spans: FragmentSpan[] = [];
  for (const t of times) {
    const { run, row } = placeOf.get(t) as { run: number; row: number };
    const last = spans.at(-1);
    if (last?.fragments === segments[run] && last.end === row) last.end++;
    else spans.push({ fragments: segments[run], first: row, end: row + 1 });
  }
  return spans;
}

/** The page from `from` on by the kernel, and its body from fragments. */
function bothWays(
  store: PlainStore,
  all: AllFragments,
  group: 'market' | 'all',
  from: number,
  limits = { ...PAGE_LIMITS },
) {
  const request = requestOf(group, from);
  const { page } = kernelPage(store, request, limits, WHOLE);
  const envelope = envelopeOf(request);
  const json = Buffer.from(encodePage(page, envelope, 'json'));
  if (page.snapshotCount === 0) return { page, json, body: null };
  const body = assemblePage({
    spans: spansOf(all, page.t),
    markets: store.markets,
    query: queryOf(request),
    envelope,
    nextFrom: page.nextFrom,
  });
  return { page, json, body };
}

const groups = fc.constantFrom(...FRAGMENT_GROUPS);

describe('a page from fragments', () => {
  it('is byte for byte the JSON of the kernel and of the reference, from anywhere', () => {
    let pages = 0;
    fc.assert(
      fc.property(
        stores,
        fc.array(fc.boolean(), { minLength: 24, maxLength: 24 }),
        groups,
        fc.integer({ min: 1, max: 20 }),
        pageLimits,
        (store, isHidden, group, runLength, limits) => {
          const all = fragmentsOf(store, runLength, group);
          const visible = {
            ...store,
            snapshots: store.snapshots.filter((_, s) => s % 3 > 0 || !isHidden[s]),
          };
          for (const { t } of visible.snapshots) {
            const { json, body } = bothWays(visible, all, group, t, limits);
            const request = requestOf(group, t);
            const unclamped = { ...envelopeOf(request), clamped: false };
            const { reply } = referencePage(visible, request, limits, unclamped);
            expect(json.toString()).toBe(JSON.stringify(reply));
            expect(zlib.gunzipSync(body as Uint8Array).toString()).toBe(json.toString());
            pages++;
          }
        },
      ),
      { numRuns: 60 },
    );
    expect(pages).toBeGreaterThan(200);
  });

  it('is correct for snapshots wider than the window', () => {
    const store = wideStore(14, 50);
    const all = fragmentsOf(store, 6, 'market');
    for (const [s, { t }] of store.snapshots.entries()) {
      const { json, body } = bothWays(store, all, 'market', t);
      expect(json.length / (store.snapshots.length - s)).toBeGreaterThan(32 * 1024);
      expect(zlib.gunzipSync(body as Uint8Array).equals(json)).toBe(true);
    }
  });

  it('stores its head only where that is little of the page', () => {
    const store = wideStore(60, 50);
    const all = fragmentsOf(store, 6, 'market');
    const few = fragmentsOf(wideStore(14, 1), 6, 'market');
    const isHeadStored = (of: PlainStore, fragments: AllFragments): boolean => {
      const { json, body } = bothWays(of, fragments, 'market', of.snapshots[0].t);
      expect(zlib.gunzipSync(body as Uint8Array).equals(json)).toBe(true);
      const head = json.subarray(0, json.indexOf('"snapshots":['));
      return Buffer.from(body as Uint8Array).includes(head);
    };
    expect(isHeadStored(store, all)).toBe(true);
    expect(isHeadStored(wideStore(14, 1), few)).toBe(false);
  });

  it('is correct if linked fragments are left out', () => {
    const store = wideStore(30, 2);
    const all = fragmentsOf(store, 30, 'market');
    const [{ linked, ...rest }] = all.segments;
    const parts = Array.from(rest.t, (_, s) => {
      const isLeftOut = s % 3 === 1 || s === 8;
      return linked.bytes.subarray(linked.offsets[s], linked.offsets[isLeftOut ? s : s + 1]);
    });
    all.segments[0] = { ...rest, linked: gathered(parts.map((part) => [part])) };
    for (const { t } of store.snapshots) {
      const { json, body } = bothWays(store, all, 'market', t);
      expect(zlib.gunzipSync(body as Uint8Array).equals(json)).toBe(true);
    }
  });

  it('is a fifth of its text or less, where little changes', () => {
    const store = wideStore(40, 3);
    const all = fragmentsOf(store, 40, 'market');
    const { json, body } = bothWays(store, all, 'market', START_T);
    expect(json.length / (body as Uint8Array).length).toBeGreaterThan(5);
  });

  it('is null if sums depend on the order of addition', () => {
    const huge = 2n ** 52n;
    const [cell] = wideStore(1, 1).snapshots[0].cells;
    const snapshots = [0, 1, 2].map((i) => ({
      t: START_T + i,
      tier: 'raw' as const,
      price: 1,
      cells: [{ ...cell, support: huge, resistance: 0n }],
    }));
    const store = { ...wideStore(1, 1), snapshots };
    const all = fragmentsOf(store, 3, 'market');
    expect(bothWays(store, all, 'market', START_T).body).toBeNull();
    expect(bothWays(store, all, 'market', START_T + 2).body).not.toBeNull();
  });
});

describe('a fragment', () => {
  const inflate = (fragment: Uint8Array, dictionary?: Buffer): string => {
    const end = Uint8Array.of(1, 0, 0, 0xff, 0xff);
    return zlib.inflateRawSync(Buffer.concat([fragment, end]), { dictionary }).toString();
  };
  const partOf = ({ offsets, bytes }: CompressedTexts, s: number) =>
    bytes.subarray(offsets[s], offsets[s + 1]);

  it('repeats only its own snapshot, and if it is linked also the one before', () => {
    let linkedFragments = 0;
    const check = (store: PlainStore, runLength: number, group: 'market' | 'all') => {
      const { segments } = fragmentsOf(store, runLength, group);
      for (const { alone, linked, t, textEnds, crcs } of segments) {
        let before = '';
        for (let s = 0; s < t.length; s++) {
          const text = inflate(partOf(alone, s));
          expect(text.slice(1)).toBe(JSON.stringify(JSON.parse(text.slice(1))));
          expect(text.length).toBe(textEnds[s + 1] - textEnds[s]);
          expect(zlib.crc32(text, crcs[s])).toBe(crcs[s + 1]);
          const fragment = partOf(linked, s);
          if (fragment.length > 0) {
            // All that a page is sure to have before it: not even the last snapshot's comma.
            expect(inflate(fragment, Buffer.from(before))).toBe(text);
            linkedFragments++;
          }
          before = text.slice(1);
        }
      }
    };
    fc.assert(fc.property(stores, fc.integer({ min: 1, max: 20 }), groups, check), { numRuns: 60 });
    check(wideStore(20, 3), 20, 'market');
    check(wideStore(5, 12), 5, 'market');
    check(wideStore(4, 50), 4, 'market');
    expect(linkedFragments).toBeGreaterThan(100);
  });

  it('is the same whatever was encoded before', () => {
    const [first] = fragmentsOf(wideStore(20, 4), 20, 'market').segments;
    fragmentsOf(wideStore(9, 11), 4, 'all');
    const [again] = fragmentsOf(wideStore(20, 4), 20, 'market').segments;
    expect(again).toEqual(first);
  });
});

describe.each(gzipReaders)('%s', (command, args) => {
  it('reads the page, its length and its checksum', () => {
    const store = wideStore(20, 4);
    const all = fragmentsOf(store, 7, 'market');
    const { json, body } = bothWays(store, all, 'market', store.snapshots[5].t);
    const { status, stdout } = spawnSync(command, args, { input: body as Uint8Array });
    expect([status, stdout.equals(json)]).toEqual([0, true]);
    const damaged = Buffer.from(body as Uint8Array);
    damaged[damaged.length - 6] ^= 1;
    expect(spawnSync(command, args, { input: damaged }).status).not.toBe(0);
  });
});

describe('checksums', () => {
  const bytes = fc.uint8Array({ maxLength: 300 });

  it('of two texts combine to that of the whole', () => {
    fc.assert(
      fc.property(bytes, bytes, bytes, (first, left, second) => {
        const sumOf = (...texts: Uint8Array[]) => zlib.crc32(Buffer.concat(texts));
        const both = sumOf(first, second);
        expect(joinedCrc(sumOf(first), sumOf(second), second.length)).toBe(both);
        const [whole, before] = [sumOf(left, second), sumOf(left)];
        expect(crcWithEnd(sumOf(first), whole, before, second.length)).toBe(both);
      }),
    );
  });

  it('also combine for long texts', () => {
    const text = Buffer.alloc(20_000_001, 'fathom');
    const before = zlib.crc32('a');
    expect(joinedCrc(before, zlib.crc32(text), text.length)).toBe(zlib.crc32(text, before));
  });
});

it('the fragments of a segment take as much memory as counted, and share none', () => {
  const [fragments] = fragmentsOf(wideStore(5, 1), 5, 'market').segments;
  const { alone, linked, ...columns } = fragments;
  const views = [...Object.values(columns), ...Object.values(alone), ...Object.values(linked)]
    .filter((value) => ArrayBuffer.isView(value))
    .map(({ buffer }) => buffer as ArrayBuffer);
  expect(new Set(views).size).toBe(views.length);
  const bytes = views.reduce((sum, { byteLength }) => sum + byteLength, 0);
  expect(bytesOfFragments(fragments)).toBe(bytes);
});

/** Snapshots of 100 bins in each market; three cells in five do not change. */
function wideStore(snapshots: number, markets: number): PlainStore {
  let seed = 1;
  const draw = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const amounts = Array.from({ length: markets * 100 }, () => 100 + Math.floor(draw() * 9e6));
  const list = Array.from({ length: snapshots }, (_, s) => {
    const cells = amounts.map((amount, i): PlainCell => {
      if (draw() > 0.6) amounts[i] = amount + Math.floor(draw() * 1000);
      const bin = (i % 100) - 50;
      const support = bin < 0 ? BigInt(amounts[i]) : 0n;
      return {
        market: Math.floor(i / 100),
        bin,
        support,
        resistance: BigInt(amounts[i]) - support,
      };
    });
    return { t: START_T + 60 * s, tier: 'raw' as const, price: 1 + s, cells };
  });
  const marketAt = (m: number): PlainMarket => ({
    source: `venue ${m % 5}`,
    exchangeType: 'DEX',
    type: 'onchain_pool',
    address: `pool-${m}`,
    pair: null,
  });
  return { markets: Array.from({ length: markets }, (_, m) => marketAt(m)), snapshots: list };
}
