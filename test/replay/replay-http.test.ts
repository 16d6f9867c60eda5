import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { type Table, tableFromIPC } from 'apache-arrow';
import fc from 'fast-check';
import { unpack } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { plainRequest, requests, stores } from '../compute/replay-stores.js';
import {
  referencePage,
  type PlainRequest,
  type PlainSnapshot,
  visibleSnapshots,
} from '../reference/replay.js';
import { type Json } from '../support/conformance.js';
import { MemoryDepth } from '../support/memory-depth.js';
import {
  KEY,
  MARKETS,
  MINT,
  NOW_S,
  WIDE_MINT,
  heldService,
  steadyStore,
} from '../support/service.js';
import { rawReply } from '../support/raw-client.js';
import { hasProgram } from '../support/programs.js';

const run = promisify(execFile);
const LIMITS = { maxCells: 100_000, maxSnapshots: 288 };
const GROUP_MINT = 'GRoupMint11111111111111111111111111111111111';
const TIER_MINT = 'TierMint111111111111111111111111111111111111';

const small = steadyStore(40, 3);
const wide = steadyStore(400, 34);
/** 1,390 cells a snapshot: 72 of them make a page, all 288 with group=all. */
const deep = steadyStore(300, 69, {
  markets: Array.from({ length: 10 }, (_, m) => ({ ...MARKETS[m % 5], pair: `P${m}` })),
});
const tiered = {
  markets: MARKETS,
  snapshots: (['1h', '15m', 'raw'] as const).flatMap((tier, i) =>
    [7200, 3600, 1800, 900, 0].slice(i).map((ago): PlainSnapshot => ({
      t: NOW_S - ago,
      tier,
      price: 1 + i,
      cells: [{ market: i, bin: 0, support: 500n, resistance: 0n }],
    })),
  ),
};

const depth = new MemoryDepth().add('mainchain', MINT, small);
depth.add('mainchain', WIDE_MINT, wide, { perSegment: 24 });
depth.add('mainchain', GROUP_MINT, deep, { perSegment: 24 });
depth.add('mainchain', TIER_MINT, tiered);
// Counts the reads.
const service = await heldService({ depth, blockBytes: 0 });

const dayOf = (overrides: Partial<PlainRequest> = {}) =>
  plainRequest(NOW_S - 86_400, NOW_S, overrides);
const asMint = { token: MINT, resolvedToken: null, chain: 'mainchain', clamped: false };

describe('GET /replay/:address', () => {
  it('serves the last 24 hours by default', async () => {
    const response = await service.get(`/replay/${MINT}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('x-api-tier')).toBe('premium');
    expect(response.headers.get('vary')).toBe('Accept, Accept-Encoding');
    expect(await response.json()).toEqual(referencePage(small, dayOf(), LIMITS, asMint).reply);
  });

  it('agrees with the reference on random stores and requests', async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(stores, requests, async (store, sent) => {
        // The reply names each venue once.
        const once = (list: string[] | null) => list && [...new Set(list)];
        const request = {
          ...sent,
          venues: once(sent.venues),
          excludeVenues: once(sent.excludeVenues),
        };
        const { depth } = service;
        const mint = `Random${String(count++).replaceAll('0', 'o').padStart(30, 'x')}`;
        depth.add('mainchain', mint, store, { perSegment: 3 });
        const response = await service.get(`/replay/${mint}?${queryText(sent)}`);
        const visible = { ...store, snapshots: visibleSnapshots(store.snapshots, NOW_S) };
        const { reply } = referencePage(visible, request, LIMITS, { ...asMint, token: mint });
        expect(await response.json()).toEqual(reply);
      }),
      { numRuns: 30 },
    );
  });

  it('hides coarse snapshots behind finer ones, and those later than the clock', async () => {
    const response = await service.get(`/replay/${TIER_MINT}?to=${NOW_S + 10}`);
    const { snapshots } = (await response.json()) as { snapshots: { t: number; tier: string }[] };
    expect(snapshots.map(({ t, tier }) => [NOW_S - t, tier])).toEqual([
      [7200, '1h'],
      [3600, '15m'],
      [1800, 'raw'],
      [900, 'raw'],
      [0, 'raw'],
    ]);
  });

  it('pages a window without gaps or repetitions, each page full', async () => {
    let from: number | null = NOW_S - 86_400;
    const seen: number[] = [];
    const counts: [number, number][] = [];
    while (from !== null) {
      const response = await service.get(`/replay/${WIDE_MINT}?from=${from}&to=${NOW_S + 1}`);
      const page = (await response.json()) as {
        next_from: number | null;
        snapshot_count: number;
        row_count: number;
        snapshots: { t: number }[];
      };
      const header = response.headers.get('x-next-from');
      expect(header).toBe(page.next_from === null ? null : String(page.next_from));
      counts.push([page.snapshot_count, page.row_count]);
      seen.push(...page.snapshots.map(({ t }) => t));
      from = page.next_from;
    }
    expect(seen).toEqual(wide.snapshots.map(({ t }) => t));
    expect(counts).toEqual([
      [288, 99_360],
      [112, 38_640],
    ]);
  });

  it('ends a page before the snapshot that would exceed 100,000 cells, and reads no further', async () => {
    service.depth.reads.length = 0;
    const window = `from=${NOW_S - 86_400}&to=${NOW_S + 1}`;
    const response = await service.get(`/replay/${GROUP_MINT}?${window}`);
    const page = (await response.json()) as Record<string, unknown>;
    expect(page.snapshot_count).toBe(71);
    expect(page.row_count).toBe(71 * 1390);
    expect(page.next_from).toBe(deep.snapshots[71].t);
    expect(service.depth.reads.map((ids) => ids.length)).toEqual([3]);
  });

  it.each([
    ['group=all', 288, 288 * 139, 1],
    ['group=type', 179, 179 * 556, 1],
    ['venues=orca&group=venue', 288, 288 * 139, 2],
    ['venues=ORCA&group=venue', 288, 288 * 139, 2],
    ['venues=nowhere', 288, 0, 2],
    ['min_pct=-3&max_pct=3', 288, 288 * 60, 1],
  ])('reads only as far as %s needs', async (query, snapshots, rows, reads) => {
    service.depth.reads.length = 0;
    const window = `from=${NOW_S - 86_400}&to=${NOW_S + 1}`;
    const response = await service.get(`/replay/${GROUP_MINT}?${window}&${query}`);
    const page = (await response.json()) as Record<string, unknown>;
    expect([page.snapshot_count, page.row_count]).toEqual([snapshots, rows]);
    expect(service.depth.reads.length).toBe(reads);
  });

  it.each(['5m', '1h', '1d'] as const)(
    'with step=%s serves the newest snapshot of each step, and reads no other segment',
    async (step) => {
      const stepS = { '5m': 300, '1h': 3600, '1d': 86_400 }[step];
      const from = NOW_S - 20_000;
      const request = dayOf({ from, venues: ['orca'], group: 'venue' });
      const inWindow = wide.snapshots.filter(({ t }) => t >= from && t < NOW_S);
      const stepOf = (one: PlainSnapshot) => Math.ceil(one.t / stepS);
      const snapshots = inWindow.filter((one, i) => {
        const next = inWindow.at(i + 1);
        return next === undefined || stepOf(next) > stepOf(one);
      });
      const store = { ...wide, snapshots };
      const wideToken = { ...asMint, token: WIDE_MINT };
      const served = [];
      service.depth.reads.length = 0;
      for (let next: number | null = from; next !== null;) {
        const path = `/replay/${WIDE_MINT}?${queryText({ ...request, from: next })}&step=${step}`;
        const page = (await (await service.get(path)).json()) as Json;
        const expected = referencePage(store, { ...request, from: next }, LIMITS, wideToken).reply;
        expect(page).toEqual(expected);
        served.push(...(page.snapshots as { t: number }[]));
        next = page.next_from as number | null;
      }
      expect(served.map(({ t }) => t)).toEqual(snapshots.map(({ t }) => t));
      // 24 snapshots per segment.
      const segmentOf = (one: PlainSnapshot) => Math.floor(wide.snapshots.indexOf(one) / 24);
      const read = new Set(service.depth.reads.flat());
      expect(read.size).toBe(new Set(snapshots.map(segmentOf)).size);
    },
  );

  it('answers an unknown token with an empty page', async () => {
    const response = await service.get('/replay/0x00000000000000000000000000000000000000bb');
    expect(response.status).toBe(200);
    const { reply } = referencePage({ markets: [], snapshots: [] }, dayOf(), LIMITS, {
      token: '0x00000000000000000000000000000000000000bb',
      resolvedToken: null,
      chain: 'evmchain',
      clamped: false,
    });
    expect(await response.json()).toEqual(reply);
  });

  it('plans again when compaction replaces segments meanwhile, and gives up in the end', async () => {
    const { depth } = service;
    const asItIs = () => Promise.resolve();
    depth.beforeRead = () => {
      depth.beforeRead = asItIs;
      return Promise.resolve(depth.compact(MINT, 7));
    };
    const response = await service.get(`/replay/${MINT}`);
    expect(await response.json()).toEqual(referencePage(small, dayOf(), LIMITS, asMint).reply);
    let size = 8;
    depth.beforeRead = () => Promise.resolve(depth.compact(MINT, size++));
    const busy = await service.get(`/replay/${MINT}`);
    depth.beforeRead = asItIs;
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '1']);
    expect(size).toBe(11);
  });
});

describe('representations', () => {
  const decoders = {
    gzip: zlib.gunzipSync,
    br: zlib.brotliDecompressSync,
    identity: (bytes: Buffer) => bytes,
  };

  it.each(Object.entries(decoders))('come in %s, with their length', async (encoding, decode) => {
    const plain = await (await service.get(`/replay/${WIDE_MINT}`)).json();
    const sent = { 'x-api-key': KEY, 'accept-encoding': encoding };
    const url = `${service.server.url}/api/v1/replay/${WIDE_MINT}`;
    const { headers, body } = await rawReply(url, sent);
    expect(headers['content-encoding']).toBe(encoding === 'identity' ? undefined : encoding);
    expect(headers['content-length']).toBe(String(body.length));
    expect(JSON.parse(decode(body).toString())).toEqual(plain);
  });

  it.runIf(hasProgram('curl'))('are decoded by curl, which shares no code with Node', async () => {
    const plain = await (await service.get(`/replay/${WIDE_MINT}`)).json();
    const url = `${service.server.url}/api/v1/replay/${WIDE_MINT}`;
    const args = ['-s', '--http1.1', '--compressed', '-H', `x-api-key: ${KEY}`, url];
    const { stdout } = await run('curl', args, { maxBuffer: 64e6 });
    expect(JSON.parse(stdout)).toEqual(plain);
  });

  it('come as MessagePack and as an Arrow stream', async () => {
    const plain = (await (await service.get(`/replay/${MINT}`)).json()) as Record<string, unknown>;
    const packed = await service.get(`/replay/${MINT}`, {
      headers: { accept: 'application/msgpack' },
    });
    expect(packed.headers.get('content-type')).toBe('application/msgpack');
    const unpacked = unpack(Buffer.from(await packed.arrayBuffer()));
    expect(unpacked.row_count).toBe(plain.row_count);
    expect(unpacked.window).toEqual(plain.window);
    const mediaType = 'application/vnd.apache.arrow.stream';
    const arrow = await service.get(`/replay/${MINT}`, { headers: { accept: mediaType } });
    expect(arrow.headers.get('content-type')).toBe(mediaType);
    const table = tableFromIPC(Buffer.from(await arrow.arrayBuffer()));
    expect(table.numRows).toBe(plain.row_count);
  });

  it('come page by page as Arrow, with only the header', async () => {
    const tables: Table[] = [];
    let from: string | null = String(NOW_S - 86_400);
    while (from !== null) {
      const path = `/replay/${WIDE_MINT}?to=${NOW_S + 1}&group=all&from=${from}`;
      const accept = 'application/vnd.apache.arrow.stream';
      const reply: Response = await service.get(path, { headers: { accept } });
      tables.push(tableFromIPC(Buffer.from(await reply.arrayBuffer())));
      from = reply.headers.get('x-next-from');
    }
    expect(tables.map(({ schema }) => schema.fields.map(String))).toEqual(
      tables.map(() => tables[0].schema.fields.map(String)),
    );
    const times = tables.flatMap((table) => [...(table.getChild('t')!.toArray() as Uint32Array)]);
    expect([...new Set(times)]).toEqual(wide.snapshots.map(({ t }) => t));
  });
});

describe('caching', () => {
  const past = `/replay/${MINT}?from=${NOW_S - 86_400}&to=${NOW_S - 600}`;
  const settled = `/replay/${MINT}?from=${NOW_S - 86_400}&to=${NOW_S - 3600}`;

  it.each([
    ['a window that reaches now', `/replay/${MINT}`, 'no-store', false],
    ['one that lies in the future', `/replay/${MINT}?to=${NOW_S + 9}`, 'no-store', false],
    ['one that ended a while ago', past, 'private, no-cache', true],
    ['one that ended long ago', settled, 'private, max-age=300', true],
    ['one whose end moves', `/replay/${MINT}?from=2026-11-01&to=-2h`, 'private, no-cache', true],
    [
      'one whose start moves',
      `${settled.replace(/from=\d+/, 'from=-1d')}`,
      'private, no-cache',
      true,
    ],
    ['one that ends at a named now', `/replay/${MINT}?from=-2h&to=now`, 'no-store', false],
  ])('of %s', async (_, path, control, tagged) => {
    const { headers } = await service.get(path);
    expect(headers.get('cache-control')).toBe(control);
    expect(headers.has('etag')).toBe(tagged);
  });

  it('304 while the page is the same, without reading it, even if its segments change', async () => {
    const first = await service.get(past);
    const etag = first.headers.get('etag') as string;
    service.depth.reads.length = 0;
    for (const tag of [etag, etag.replace('W/', ''), `"other", ${etag}`, '*']) {
      const same = await service.get(past, { headers: { 'if-none-match': tag } });
      expect([same.status, same.headers.get('etag')]).toEqual([304, etag]);
      expect(same.headers.get('vary')).toBe('Accept, Accept-Encoding');
      expect(await same.text()).toBe('');
    }
    expect(service.depth.reads).toEqual([]);
    const other = await service.get(past, { headers: { 'if-none-match': '"other"' } });
    expect(other.status).toBe(200);
    service.depth.compact(MINT, 5);
    const after = await service.get(past, { headers: { 'if-none-match': etag } });
    expect([after.status, after.headers.get('etag')]).toEqual([304, etag]);
  });

  it('the same tag for a window, however its times are written', async () => {
    const written = [
      `from=${NOW_S - 86_400}&to=${NOW_S - 3600}`,
      'from=-1d&to=-1h',
      `from=-24h&to=${new Date((NOW_S - 3600) * 1000).toISOString()}`,
    ];
    const replies = await Promise.all(written.map((q) => service.get(`/replay/${MINT}?${q}`)));
    const tags = replies.map(({ headers }) => headers.get('etag'));
    expect(tags[0]).not.toBeNull();
    expect(new Set(tags).size).toBe(1);
  });

  it('the same tag and page for venues in any case', async () => {
    const written = ['venues=binance-perps', 'venues=Binance-Perps', 'venues=Binance%20Perps'];
    const replies = await Promise.all(written.map((q) => service.get(`${past}&${q}`)));
    expect(new Set(replies.map(({ headers }) => headers.get('etag'))).size).toBe(1);
    const pages = await Promise.all(replies.map((reply) => reply.json() as Promise<Json>));
    expect(pages[0]).toMatchObject({ filter: { venues: ['binance-perps'], venues_not_found: [] } });
    expect(pages[0].row_count).toBeGreaterThan(0);
    expect(pages[1]).toEqual(pages[0]);
    expect(pages[2]).toEqual(pages[0]);
  });

  it('a different tag for every form and question', async () => {
    const headers = [
      { 'accept-encoding': 'identity' },
      { accept: 'application/msgpack' },
      { 'accept-encoding': 'br' },
    ];
    const paths = [
      past,
      settled,
      `${past}&group=all`,
      `${past}&min_pct=-49`,
      `${past}&step=1h`,
      `${past}&venues=orca`,
    ];
    const replies = [
      ...headers.map((h) => service.get(past, { headers: h as object as Record<string, string> })),
      ...paths.slice(1).map((path) => service.get(path)),
    ];
    const tags = (await Promise.all(replies)).map((response) => response.headers.get('etag'));
    expect(new Set(tags).size).toBe(tags.length);
  });
});

function queryText(request: PlainRequest): string {
  const { from, to, group, types, excludeTypes, venues, excludeVenues, minPct, maxPct } = request;
  const lists = { types, exclude_types: excludeTypes, venues, exclude_venues: excludeVenues };
  const query = new URLSearchParams({
    from: String(from),
    to: new Date(to * 1000).toISOString(),
    group,
    min_pct: String(minPct),
    max_pct: String(maxPct),
  });
  for (const [name, list] of Object.entries(lists)) if (list) query.set(name, list.join(','));
  return query.toString();
}
