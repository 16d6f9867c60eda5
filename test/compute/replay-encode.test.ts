import { tableFromIPC, TimeUnit, type Vector } from 'apache-arrow';
import fc from 'fast-check';
import { pack } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { textBytes } from '../../compute/replay/page-memory.js';
import { beginSnapshots, writeSnapshot } from '../../compute/replay/page-writer.js';
import { type Page, PAGE_LIMITS } from '../../compute/replay/page.js';
import { encodePage } from '../../compute/replay/page-format.js';
import { binsOfBand } from '../../compute/ladder.js';
import { decodeMsgpack } from '../reference/msgpack.js';
import { type PlainStore, usdText } from '../reference/replay.js';
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

/** Cents from which on amounts are finer than doubles: 2^46 USD. */
const SHORTEST_LIMIT_CENTS = 2 ** 46 * 100;

const pages = fc
  .tuple(stores, requests, pageLimits, supplies, fc.constantFrom(null, MINT))
  .map(([store, request, limits, supply, resolved]) => ({
    page: kernelPage(store, request, limits, supply).page,
    envelope: envelopeOf(request, resolved),
  }));

const fromJson = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes));

/** A reply reassembled from its Arrow form. */
function fromArrow(bytes: Uint8Array) {
  const table = tableFromIPC(bytes);
  const metadata = table.schema.metadata;
  const head = JSON.parse(metadata.get('page') as string);
  const rows = table.toArray().map((row) => row.toJSON());
  const columns = table.schema.names.map(String);
  const listed: { t: number; tier: string; price_usd: number; cells: number }[] = JSON.parse(
    metadata.get('snapshots') as string,
  );
  let at = 0;
  const snapshots = listed.map(({ t, tier, price_usd, cells }) => {
    const mine = rows.slice(at, (at += cells));
    for (const row of mine) {
      expect([row.t, row.tier, row.price_usd]).toEqual([t, tier, price_usd]);
      expect(row.timestamp).toBe(t * 1000);
      expect(row.price / (price_usd * 1.01 ** row.bin)).toBeCloseTo(1, 14);
    }
    const market_idx = columns.includes('market') && indexes(table.getChild('market'), mine);
    if (market_idx) {
      const markets = market_idx.map((m) => head.markets[m]);
      const named = mine.map(({ source, pair, address }) => ({ source, pair, address }));
      expect(named).toEqual(
        markets.map(({ source, pair, address }) => ({ source, pair, address })),
      );
    }
    return {
      t,
      tier,
      price_usd,
      ...(market_idx && { market_idx }),
      ...(columns.includes('group') && {
        group_idx: mine.map((row) => groupIndex(head.groups, row.group)),
      }),
      bin: mine.map((row) => row.bin),
      support_usd: mine.map((row) => row.support_usd),
      resistance_usd: mine.map((row) => row.resistance_usd),
    };
  });
  expect(at).toBe(table.numRows);
  return { ...head, snapshots };
}

/** Dictionary entry i is market i, and all entries differ. */
function indexes(column: Vector | null, rows: { market: string }[]): number[] {
  if (rows.length === 0) return [];
  const values = [...(column!.data[0].dictionary as Vector)] as string[];
  expect(new Set(values).size).toBe(values.length);
  return rows.map((row) => values.indexOf(row.market));
}

function groupIndex(groups: { key: string }[], key: string): number {
  return groups.findIndex((group) => group.key === key);
}

describe('the formats of a page', () => {
  it('contain the same reply', () => {
    fc.assert(
      fc.property(pages, ({ page, envelope }) => {
        const reply = fromJson(encodePage(page, envelope, 'json'));
        expect(decodeMsgpack(encodePage(page, envelope, 'msgpack'))).toEqual(reply);
        expect(fromArrow(encodePage(page, envelope, 'arrow'))).toEqual(reply);
      }),
      { numRuns: 100 },
    );
  });

  it('have the columns of their grouping in Arrow, each text of a dictionary once', () => {
    const common = 't tier price_usd bin support_usd resistance_usd timestamp price';
    fc.assert(
      fc.property(pages, ({ page, envelope }) => {
        const { schema, batches } = tableFromIPC(encodePage(page, envelope, 'arrow'));
        const { group } = page.query;
        const more = { market: ' source pair address', venue: '', type: '', all: '' }[group];
        const index = { market: 'market ', venue: 'group ', type: 'group ', all: '' }[group];
        const expected = common.replace('bin', `${index}bin`) + more;
        expect(schema.names.join(' ')).toBe(expected);
        expect(schema.fields.find(({ name }) => name === 'timestamp')?.type).toMatchObject({
          unit: TimeUnit.MILLISECOND,
          timezone: 'UTC',
        });
        const nullable = schema.fields.filter((field) => field.nullable).map(({ name }) => name);
        expect(nullable.join(' ')).toBe(group === 'market' ? 'pair address' : '');
        const dictionaries = [...(batches[0]?.dictionaries.values() ?? [])];
        for (const dictionary of dictionaries) {
          const texts = [...dictionary];
          expect(new Set(texts).size).toBe(texts.length);
        }
        // Also those of nulls are indexes of the dictionary.
        const pairs = batches[0]?.getChild('pair');
        for (const { values } of pairs?.data ?? []) {
          expect(Math.min(0, ...(values as Int32Array))).toBe(0);
        }
        const nulls = [...(pairs ?? [])].filter((pair) => pair === null).length;
        expect(pairs?.nullCount ?? 0).toBe(nulls);
      }),
      { numRuns: 50 },
    );
  });

  it('have every amount of MessagePack as a double', () => {
    const bytes = Buffer.from(encodePage(pageOf(1200n, 0n), envelopeOf(REQUEST), 'msgpack'));
    const double = (usd: number) => {
      const item = Buffer.alloc(10, 0x91);
      item[1] = 0xcb;
      item.writeDoubleBE(usd, 2);
      return item;
    };
    expect(bytes.includes(Buffer.concat([key('support_usd'), double(12)]))).toBe(true);
    expect(bytes.includes(Buffer.concat([key('resistance_usd'), double(0)]))).toBe(true);
  });

  it('have every bin of the widest band, in MessagePack in as few bytes as possible', () => {
    const bins = Array.from({ length: 472 }, (_, i) => i - 231);
    expect(binsOfBand(-90, 1000)).toEqual({ first: -231, last: 240 });
    const store: PlainStore = {
      markets: [MARKET],
      snapshots: [snapshot(bins.map((bin) => ({ market: 0, bin, support: 1n, resistance: 1n })))],
    };
    const request = plainRequest(START_T, START_T + 10, { minPct: -90, maxPct: 1000 });
    const { page } = kernelPage(store, request, PAGE_LIMITS, WHOLE);
    const bytes = Buffer.from(encodePage(page, envelopeOf(request), 'msgpack'));
    const shortest = Buffer.concat([key('bin'), pack(bins), key('support_usd')]);
    expect(bytes.includes(shortest)).toBe(true);
    const reply = fromJson(encodePage(page, envelopeOf(request), 'json'));
    expect(reply.snapshots[0].bin).toEqual(bins);
    expect(fromArrow(encodePage(page, envelopeOf(request), 'arrow'))).toEqual(reply);
  });

  it('have every index of MessagePack in as few bytes as possible', () => {
    const markets = Array.from({ length: 300 }, (_, i) => ({ ...MARKET, pair: `A/${i}` }));
    const cells = markets.map((_, market) => ({ market, bin: 0, support: 1n, resistance: 0n }));
    const store: PlainStore = { markets, snapshots: [snapshot(cells)] };
    const { page } = kernelPage(store, REQUEST, PAGE_LIMITS, WHOLE);
    const bytes = Buffer.from(encodePage(page, envelopeOf(REQUEST), 'msgpack'));
    const shortest = Buffer.concat([key('market_idx'), pack([...markets.keys()]), key('bin')]);
    expect(bytes.includes(shortest)).toBe(true);
  });

  it('distinguish two markets with the same name', () => {
    const market = { exchangeType: 'DEX' as const, type: 'onchain_pool' as const, pair: null };
    const store: PlainStore = {
      markets: [
        { ...market, source: 'a b', address: 'c' },
        { ...market, source: 'a', address: 'b c' },
      ],
      snapshots: [
        snapshot([0, 1].map((m) => ({ market: m, bin: 0, support: 1n, resistance: 99n }))),
      ],
    };
    const { page } = kernelPage(store, REQUEST, PAGE_LIMITS, WHOLE);
    const reply = fromArrow(encodePage(page, envelopeOf(REQUEST), 'arrow'));
    expect(reply.snapshots[0].market_idx).toEqual([0, 1]);
  });
});

const MARKET = {
  source: 'X',
  exchangeType: 'CEX' as const,
  type: 'cex_spot' as const,
  address: null,
  pair: 'A/B',
};
const REQUEST = plainRequest(START_T, START_T + 10);
/** A key of a map of MessagePack. */
const key = (name: string) => Buffer.from([0xa0 | name.length, ...Buffer.from(name)]);
const WHOLE = { rows: 1000, namesNext: true, runLength: 3 };

function snapshot(cells: PlainStore['snapshots'][number]['cells']) {
  return { t: START_T, tier: 'raw' as const, price: 1.5, cells };
}

function pageOf(support: bigint, resistance: bigint): Page {
  const store: PlainStore = {
    markets: [MARKET],
    snapshots: [snapshot([{ market: 0, bin: 0, support, resistance }])],
  };
  return kernelPage(store, REQUEST, PAGE_LIMITS, WHOLE).page;
}

describe('amounts', () => {
  /** The amounts of a snapshot with these in one array, and zeros in the others. */
  const write = (amounts: number[]): string => {
    const count = amounts.length;
    const columns = {
      cellOffsets: Int32Array.of(0, count),
      index: null,
      bin: new Int16Array(count),
      supportCents: Float64Array.from(amounts),
      resistanceCents: new Float64Array(count),
    };
    const texts = {
      isPacked: false,
      openings: [['', '']] as const,
      arrayKeys: ['', '[', '[', '['],
    };
    beginSnapshots(columns, texts, new Uint8Array(0), 0, 0);
    const text = new TextDecoder().decode(textBytes(writeSnapshot(0, false)));
    const [bins, support, resistance, end] = text.split(']');
    const zeros = `[${amounts.map(() => 0).join(',')}`;
    expect([bins, resistance, end]).toEqual([zeros, zeros, '}']);
    return support.slice(1);
  };

  it('are written with every cent and no superfluous digit', () => {
    const scales = Array.from({ length: 16 }, (_, i) => 10 ** i);
    const cents = fc.oneof(
      fc.integer({ min: 0, max: 100_000 }),
      fc.maxSafeInteger().map(Math.abs),
      fc.constantFrom(...scales.flatMap((n) => [n - 1, n, n + 1, n * 5, n * 9 + 99])),
      fc.constantFrom(2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1),
    );
    fc.assert(
      fc.property(fc.array(cents), (amounts) => {
        expect(write(amounts)).toBe(amounts.map((c) => usdText(BigInt(c))).join(','));
        const common = amounts.filter((c) => c < SHORTEST_LIMIT_CENTS);
        expect(`[${write(common)}]`).toBe(JSON.stringify(common.map((c) => c / 100)));
      }),
      { numRuns: 800 },
    );
  });

  it('are exact up to 2^53 cents on a page', () => {
    const widest = BigInt(Number.MAX_SAFE_INTEGER);
    const page = pageOf(widest - 7_000_000_001n, 7_000_000_001n);
    const json = new TextDecoder().decode(encodePage(page, envelopeOf(REQUEST), 'json'));
    expect(json).toContain('"support_usd":[90071922547409.9],"resistance_usd":[70000000.01]');
    expect(json).toContain(`"usd":${Number(widest) / 100}`);
    const widestAlone = new TextDecoder().decode(
      encodePage(pageOf(widest, 0n), envelopeOf(REQUEST), 'json'),
    );
    expect(widestAlone).toContain('"support_usd":[90071992547409.91]');
  });
});
