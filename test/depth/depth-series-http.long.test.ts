import { tableFromIPC } from 'apache-arrow';
import { unpack } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import type { PlainSnapshot } from '../reference/replay.js';
import type { Json } from '../support/conformance.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MARKETS, MINT, NOW_S, heldService, steadyStore, WIDE_MINT } from '../support/service.js';

const UNKNOWN = 'UNKnown1111111111111111111111111111111111111';
const HOUR_S = 3600;
/** A whole hour, so that every step ends there. */
const END_S = Math.floor(NOW_S / 86_400) * 86_400;
const STORE = steadyStore(600, 12, { lastT: END_S - 30 });

const depth = new MemoryDepth().add('mainchain', MINT, STORE);
depth.add('mainchain', WIDE_MINT, steadyStore(5000, 0, { lastT: END_S - 30 }), {
  perSegment: 250,
});
const service = await heldService({ depth, blockBytes: 0 });

async function ask(query: string, address = MINT): Promise<Json> {
  const reply = await service.get(`/depth-series/${address}?${query}`);
  expect(reply.status).toBe(200);
  return (await reply.json()) as Json;
}

/** Support and resistance of some markets within a percent, summed cell by cell. */
function within({ cells }: PlainSnapshot, pct: number, keeps: (market: number) => boolean) {
  const own = cells.filter(({ market }) => keeps(market));
  const below = own.filter(({ bin }) => 1.01 ** bin >= (1 - pct / 100) * (1 - 1e-9));
  const above = own.filter(({ bin }) => 1.01 ** bin <= (1 + pct / 100) * (1 + 1e-9));
  const usd = (cents: bigint[]) => Number(cents.reduce((sum, one) => sum + one, 0n)) / 100;
  return [usd(below.map((one) => one.support)), usd(above.map((one) => one.resistance))];
}

const typeOf = (market: number) => MARKETS[market].type;

describe('GET /depth-series/:address', () => {
  const window = `from=${END_S - 8 * HOUR_S}&to=${END_S + 1}`;

  it('has the newest snapshot of each step, and the depth within each percent of its price', async () => {
    service.depth.reads.length = 0;
    const reply = await ask(`${window}&step=1h&pct=5,1,100`);
    const points = Array.from({ length: 9 }, (_, i) => END_S + (i - 8) * HOUR_S);
    const shown = points.map((t) => STORE.snapshots.filter((one) => one.t <= t).at(-1));
    const sums = [5, 1, 100].map((pct) =>
      shown.map((one) => within(one as PlainSnapshot, pct, (m) => typeOf(m) !== 'cex_perp')),
    );
    expect(reply).toEqual({
      token: MINT,
      chain: 'mainchain',
      window: { from: END_S - 8 * HOUR_S, to: END_S + 1, clamped: false },
      step: '1h',
      pct: [5, 1, 100],
      t: points,
      snapshot_t: points.map((t) => t - 30),
      price_usd: shown.map((one) => one?.price),
      support_usd: sums.map((ofPct) => ofPct.map(([support]) => support)),
      resistance_usd: sums.map((ofPct) => ofPct.map(([, resistance]) => resistance)),
      next_from: null,
    });
    // 4 snapshots per segment: no two points share a segment.
    expect(service.depth.reads.flat()).toHaveLength(points.length);
  });

  it('by venue or type adds up to the total, and can be filtered', async () => {
    const query = `${window}&step=4h&pct=2,10&types=cex_spot,cex_perp,onchain_pool`;
    const whole = await ask(query);
    for (const group of ['venue', 'type']) {
      const { groups, ...grouped } = await ask(`${query}&group=${group}`);
      expect((groups as Json[]).length).toBeGreaterThan(1);
      for (const side of ['support_usd', 'resistance_usd']) {
        const ofGroups = grouped[side] as number[][][];
        expect(ofGroups).toHaveLength((groups as Json[]).length);
        (whole[side] as number[][]).forEach((ofPct, p) =>
          ofPct.forEach((usd, i) => {
            expect(ofGroups.reduce((sum, own) => sum + own[p][i], 0)).toBeCloseTo(usd, 4);
          }),
        );
      }
    }
    const venue = await ask(`${window}&step=4h&pct=2&venues=ORCA&group=venue`);
    expect(venue.groups).toEqual([{ key: 'orca', label: 'Orca', type: 'onchain_pool' }]);
    const nowhere = await ask(`${window}&step=4h&pct=2&venues=nowhere`);
    expect(nowhere).toMatchObject({ support_usd: [[0, 0, 0]], resistance_usd: [[0, 0, 0]] });
  });

  it('pages without gaps or repetitions, whatever the snapshots', async () => {
    const query = `to=${END_S}&step=1m&pct=1&types=cex_spot`;
    const times: number[] = [];
    const counts: number[] = [];
    for (let next: number | null = END_S - 5000 * 60; next !== null;) {
      const reply: Json = await ask(`from=${next}&${query}`, WIDE_MINT);
      times.push(...(reply.t as number[]));
      counts.push((reply.t as number[]).length);
      next = reply.next_from as number | null;
    }
    expect(counts).toEqual([2000, 2000, 999]);
    expect(times).toEqual(Array.from({ length: 4999 }, (_, i) => END_S - (4999 - i) * 60));
  });

  it('reads a segment once for all series of one kind, however the window moves', async () => {
    const of = (from: number, more = '') =>
      `from=${END_S - from * HOUR_S}&to=${END_S - (from - 6) * HOUR_S}&step=1h&pct=3,30${more}`;
    const first = await ask(of(9));
    service.depth.reads.length = 0;
    const moved = await ask(of(8));
    expect(service.depth.reads.flat()).toHaveLength(1);
    for (const field of ['t', 'price_usd']) {
      expect((moved[field] as number[]).slice(0, -1)).toEqual((first[field] as number[]).slice(1));
    }
    const support = (reply: Json) => reply.support_usd as number[][];
    support(moved).forEach((own, p) =>
      expect(own.slice(0, -1)).toEqual(support(first)[p].slice(1)),
    );
    expect(await ask(of(8, '&types=cex_spot'))).not.toEqual(moved);
    expect(service.depth.reads.flat()).toHaveLength(1 + 6);
  });

  it('ends with the newest snapshot', async () => {
    const series = await ask(`from=${END_S - HOUR_S}&to=now&step=1m&pct=100&venues=orca,raydium`);
    const sell = await service.get(`/slippage/${MINT}?side=sell&usd=1&venues=orca,raydium`);
    const newest = (await sell.json()) as Json;
    const last = (field: string) => (series[field] as unknown[]).at(-1);
    expect([last('snapshot_t'), last('price_usd')]).toEqual([newest.t, newest.price_usd]);
    expect((series.support_usd as number[][])[0].at(-1)).toBe(newest.fillable_usd);
    expect(newest.t).toBe(END_S - 30);
  });

  it('chooses the smallest step that gives at most 500 points', async () => {
    const steps: [number, string][] = [
      [500 * 60, '1m'],
      [501 * 60, '5m'],
      [30 * 86_400, '4h'],
      [365 * 86_400, '1d'],
    ];
    for (const [length, step] of steps) {
      expect(await ask(`from=${END_S - length}&to=${END_S}`)).toMatchObject({ step });
    }
  });

  it('has empty lists for a token without snapshots', async () => {
    expect(await ask('pct=1,2', UNKNOWN)).toMatchObject({
      t: [],
      snapshot_t: [],
      price_usd: [],
      next_from: null,
      support_usd: [[], []],
      resistance_usd: [[], []],
    });
    expect(await ask('pct=1,2&group=type', UNKNOWN)).toMatchObject({ groups: [], support_usd: [] });
  });

  it('comes as MessagePack and as an Arrow stream', async () => {
    const path = `/depth-series/${MINT}?${window}&step=4h&pct=1,5&group=type&score=true`;
    const json = (await (await service.get(path)).json()) as Json;
    const form = async (accept: string) =>
      new Uint8Array(await (await service.get(path, { headers: { accept } })).arrayBuffer());
    expect(unpack(await form('application/msgpack'))).toEqual(json);
    const table = tableFromIPC(await form('application/vnd.apache.arrow.stream'));
    const { t, snapshot_t, price_usd, score, support_usd, resistance_usd, ...head } = json as {
      [name: string]: unknown;
    } & Record<'t' | 'snapshot_t' | 'price_usd' | 'score', number[]> &
      Record<'support_usd' | 'resistance_usd', number[][][]>;
    expect(JSON.parse(table.schema.metadata.get('series') as string)).toEqual(head);
    const rows = (head.groups as Json[]).flatMap(({ key }, g) =>
      [1, 5].flatMap((pct, p) =>
        t.map((time, i) => ({
          t: time,
          snapshot_t: snapshot_t[i],
          price_usd: price_usd[i],
          score: score[i],
          group: key,
          pct,
          support_usd: support_usd[g][p][i],
          resistance_usd: resistance_usd[g][p][i],
        })),
      ),
    );
    expect(table.toArray().map((row) => ({ ...(row as Json) }))).toEqual(rows);
  });

  it('has a tag for every request, and replies 304 while the data is the same', async () => {
    const path = `/depth-series/${MINT}?${window}&step=1h`;
    const queries = ['', '&pct=1', '&group=venue', '&types=cex_spot', '&score=true'];
    const tagOf = async (query: string) => (await service.get(path + query)).headers.get('etag');
    const tags = await Promise.all(queries.map(tagOf));
    expect(new Set(tags).size).toBe(queries.length);
    service.depth.reads.length = 0;
    const headers = { 'if-none-match': tags[0] as string };
    expect((await service.get(path, { headers })).status).toBe(304);
    expect(service.depth.reads).toEqual([]);
    const scored = { headers: { 'if-none-match': tags[4] as string } };
    expect((await service.get(`${path}&score=true`, scored)).status).toBe(304);
    const head = await service.get(`${path}&score=true`, { method: 'HEAD' });
    expect([head.status, head.headers.get('etag')]).toEqual([200, tags[4]]);
    expect((await service.get(`/depth-series/${MINT}`)).headers.get('etag')).toBeNull();
  });
});
