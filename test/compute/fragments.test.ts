import { spawnSync } from 'node:child_process';
import zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assemblePage, type PackStretch } from '../../compute/fragments/assemble.js';
import { buildPack } from '../../compute/fragments/build.js';
import { crcOfBoth, crcWithEnd } from '../../compute/fragments/crc.js';
import {
  BadPackError,
  PACK_CODINGS,
  readPack,
  writePack,
  type Pack,
  type PackForm,
  type Pieces,
} from '../../compute/fragments/pack.js';
import { gatherPieces } from '../../compute/fragments/pieces.js';
import { encodeJson } from '../../compute/replay/json.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import { encodeSegment } from '../../compute/segment/segment.js';
import {
  referencePage,
  type PlainCell,
  type PlainMarket,
  type PlainStore,
} from '../reference/replay.js';
import {
  START_T,
  envelopeOf,
  kernelPage,
  pageLimits,
  plainRequest,
  queryOf,
  runsOf,
  stores,
} from './replay-stores.js';

const WHOLE = { rows: 1000, namesNext: true, runLength: 3 };
const DECODERS = { gzip: zlib.gunzipSync, br: zlib.brotliDecompressSync };

const requestOf = (group: 'market' | 'all', from: number) =>
  plainRequest(from, START_T + 10_000_000, { group });

/** A store's packs, and where each snapshot lies in them. */
function packed(store: PlainStore, runLength: number, form: PackForm) {
  const { runs, placeOf } = runsOf(store, runLength);
  const packs: Pack[] = [];
  for (const run of runs) {
    // Markets that came later are not known to a pack.
    const marketCount = Math.max(-1, ...run.market) + 1;
    packs.push(buildPack({ segment: encodeSegment(run), marketCount, ...form }));
  }
  return { packs, placeOf };
}

type Packed = ReturnType<typeof packed>;

/** Snapshots at these times as stretches of their packs. */
function stretchesOf({ packs, placeOf }: Packed, times: Iterable<number>): PackStretch[] {
  const stretches: PackStretch[] = [];
  for (const t of times) {
    const { run, row } = placeOf.get(t) as { run: number; row: number };
    const last = stretches.at(-1);
    if (last?.pack === packs[run] && last.end === row) last.end++;
    else stretches.push({ pack: packs[run], first: row, end: row + 1 });
  }
  return stretches;
}

/** The page from `from` on by the kernel, and its body from packs. */
function bothWays(
  store: PlainStore,
  all: Packed,
  group: 'market' | 'all',
  from: number,
  limits = { ...PAGE_LIMITS },
) {
  const request = requestOf(group, from);
  const { page } = kernelPage(store, request, limits, WHOLE);
  const envelope = envelopeOf(request);
  const json = Buffer.from(encodeJson(page, envelope));
  if (page.snapshotCount === 0) return { page, json, body: null };
  const body = assemblePage({
    stretches: stretchesOf(all, page.t),
    markets: store.markets,
    query: queryOf(request),
    envelope,
    nextFrom: page.nextFrom,
  });
  return { page, json, body };
}

const forms = fc.record({
  group: fc.constantFrom('market' as const, 'all' as const),
  coding: fc.constantFrom(...PACK_CODINGS),
});

describe('a page from fragments', () => {
  it('is byte for byte the JSON of the kernel and of the reference, from anywhere', () => {
    let pages = 0;
    fc.assert(
      fc.property(
        stores,
        fc.array(fc.boolean(), { minLength: 24, maxLength: 24 }),
        forms,
        fc.integer({ min: 1, max: 20 }),
        pageLimits,
        (store, isHidden, form, runLength, limits) => {
          const all = packed(store, runLength, form);
          const visible = {
            ...store,
            snapshots: store.snapshots.filter((_, s) => s % 3 > 0 || !isHidden[s]),
          };
          for (const { t } of visible.snapshots) {
            const { json, body } = bothWays(visible, all, form.group, t, limits);
            const request = requestOf(form.group, t);
            const told = { ...envelopeOf(request), clamped: false };
            const { reply } = referencePage(visible, request, limits, told);
            expect(json.toString()).toBe(JSON.stringify(reply));
            expect(DECODERS[form.coding](body as Uint8Array).toString()).toBe(json.toString());
            pages++;
          }
        },
      ),
      { numRuns: 60 },
    );
    expect(pages).toBeGreaterThan(200);
  });

  it.each(PACK_CODINGS)('is right in %s of snapshots wider than the window', (coding) => {
    const store = wideStore(14, 50);
    const all = packed(store, 6, { group: 'market', coding });
    for (const from of [0, 1, 4, 5, 6, 11, 13]) {
      const { json, body } = bothWays(store, all, 'market', store.snapshots[from].t);
      expect(json.length / (14 - from)).toBeGreaterThan(32 * 1024);
      expect(DECODERS[coding](body as Uint8Array).equals(json)).toBe(true);
    }
  });

  it.each(PACK_CODINGS)('is right in %s of snapshots wider than any window', (coding) => {
    const store = wideStore(3, 250);
    const all = packed(store, 3, { group: 'market', coding });
    for (const { t } of store.snapshots) {
      const { json, body } = bothWays(store, all, 'market', t);
      expect(DECODERS[coding](body as Uint8Array).equals(json)).toBe(true);
    }
  });

  it.each(PACK_CODINGS)('is right in %s where linked pieces are left out', (coding) => {
    const store = wideStore(30, 2);
    const all = packed(store, 30, { group: 'market', coding });
    const [{ linked, ...rest }] = all.packs;
    const parts = Array.from(rest.t, (_, s) => {
      const isLeftOut = s % 3 === 1 || s === 8;
      return linked.bytes.subarray(linked.offsets[s], linked.offsets[isLeftOut ? s : s + 1]);
    });
    all.packs[0] = writePack({ ...rest, linked: gatherPieces(parts) });
    for (const { t } of store.snapshots) {
      const { json, body } = bothWays(store, all, 'market', t);
      expect(DECODERS[coding](body as Uint8Array).equals(json)).toBe(true);
    }
  });

  it.each(PACK_CODINGS)('is a fifth of its text or less in %s, where little changes', (coding) => {
    const store = wideStore(40, 3);
    const all = packed(store, 40, { group: 'market', coding });
    const { json, body } = bothWays(store, all, 'market', START_T);
    expect(json.length / (body as Uint8Array).length).toBeGreaterThan(5);
  });

  it('is null where sums depend on the order in which they are added', () => {
    const huge = 2n ** 52n;
    const [cell] = wideStore(1, 1).snapshots[0].cells;
    const snapshots = [0, 1, 2].map((i) => ({
      t: START_T + i,
      tier: 'raw' as const,
      price: 1,
      cells: [{ ...cell, support: huge, resistance: 0n }],
    }));
    const store = { ...wideStore(1, 1), snapshots };
    const all = packed(store, 3, { group: 'market', coding: 'gzip' });
    expect(bothWays(store, all, 'market', START_T).body).toBeNull();
    expect(bothWays(store, all, 'market', START_T + 2).body).not.toBeNull();
  });
});

describe('a piece', () => {
  const inflate = (piece: Uint8Array, dictionary?: Buffer): string => {
    const end = Uint8Array.of(1, 0, 0, 0xff, 0xff);
    return zlib.inflateRawSync(Buffer.concat([piece, end]), { dictionary }).toString();
  };
  const partOf = ({ offsets, bytes }: Pieces, s: number) =>
    bytes.subarray(offsets[s], offsets[s + 1]);

  it('in gzip repeats nothing but its own snapshot, and where it is linked the one before', () => {
    let linkedPieces = 0;
    const check = (store: PlainStore, runLength: number, group: 'market' | 'all') => {
      const { packs } = packed(store, runLength, { group, coding: 'gzip' });
      for (const { alone, linked, t, textEnds, crcs } of packs) {
        let before = '';
        for (let s = 0; s < t.length; s++) {
          const text = inflate(partOf(alone, s));
          expect(text.slice(1)).toBe(JSON.stringify(JSON.parse(text.slice(1))));
          expect(text.length).toBe(textEnds[s + 1] - textEnds[s]);
          expect(zlib.crc32(text, crcs[s])).toBe(crcs[s + 1]);
          const piece = partOf(linked, s);
          if (piece.length > 0) {
            // All that a page is sure to have before it: not even the last snapshot's comma.
            expect(inflate(piece, Buffer.from(before))).toBe(text);
            linkedPieces++;
          }
          before = text.slice(1);
        }
      }
    };
    fc.assert(
      fc.property(
        stores,
        fc.integer({ min: 1, max: 20 }),
        fc.constantFrom('market' as const, 'all' as const),
        check,
      ),
      { numRuns: 60 },
    );
    check(wideStore(20, 3), 20, 'market');
    check(wideStore(5, 12), 5, 'market');
    check(wideStore(4, 50), 4, 'market');
    expect(linkedPieces).toBeGreaterThan(100);
  });

  it.each(PACK_CODINGS)('in %s is the same whatever was made before', (coding) => {
    const form: PackForm = { group: 'market', coding };
    const [first] = packed(wideStore(20, 4), 20, form).packs;
    packed(wideStore(9, 11), 4, { group: 'all', coding });
    const [again] = packed(wideStore(20, 4), 20, form).packs;
    expect(again.buffer).toEqual(first.buffer);
  });
});

const isThere = (command: string) => spawnSync(command, ['--version']).status === 0;

describe.each([
  ['gzip', ['-dc']],
  [
    'python3',
    ['-c', 'import sys,gzip; sys.stdout.buffer.write(gzip.decompress(sys.stdin.buffer.read()))'],
  ],
])('%s', (command, args) => {
  it.runIf(isThere(command))('reads the page, its length and its checksum', () => {
    const store = wideStore(20, 4);
    const all = packed(store, 7, { group: 'market', coding: 'gzip' });
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

  it('of texts together are those of the whole', () => {
    fc.assert(
      fc.property(bytes, bytes, bytes, (first, left, second) => {
        const sumOf = (...texts: Uint8Array[]) => zlib.crc32(Buffer.concat(texts));
        const both = sumOf(first, second);
        expect(crcOfBoth(sumOf(first), sumOf(second), second.length)).toBe(both);
        const [whole, before] = [sumOf(left, second), sumOf(left)];
        expect(crcWithEnd(sumOf(first), whole, before, second.length)).toBe(both);
      }),
    );
  });

  it('of long texts too', () => {
    const text = Buffer.alloc(20_000_001, 'fathom');
    const before = zlib.crc32('a');
    expect(crcOfBoth(before, zlib.crc32(text), text.length)).toBe(zlib.crc32(text, before));
  });
});

describe('a pack', () => {
  it('reads back as it was written, and not at all with any byte changed', () => {
    const store = wideStore(5, 1);
    const { packs } = packed(store, 5, { group: 'market', coding: 'br' });
    const [pack] = packs;
    const { buffer } = pack;
    expect(readPack(buffer.slice())).toEqual(pack);
    fc.assert(
      fc.property(fc.nat(buffer.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const damaged = buffer.slice();
        damaged[at] ^= change;
        expect(() => readPack(damaged)).toThrow(BadPackError);
      }),
    );
    fc.assert(
      fc.property(fc.nat(buffer.length - 1), (length) => {
        expect(() => readPack(buffer.slice(0, length))).toThrow(BadPackError);
      }),
    );
  });
});

/** Snapshots of 100 bins in each market; three cells in five stay as they are. */
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
