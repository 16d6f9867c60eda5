/** GET /slippage/:address over HTTP: what can be requested, which snapshot answers, and what is refused. */
import { unpack } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import type { PlainSnapshot } from '../reference/replay.js';
import type { Json } from '../support/conformance.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MARKETS, MINT, NOW_S, heldService, steadyStore, WIDE_MINT } from '../support/service.js';

const UNKNOWN = 'UNKnown1111111111111111111111111111111111111';
const LATE = 'LATE1111111111111111111111111111111111111111';
const WITHOUT_ASKS = 'BiDs1111111111111111111111111111111111111111';
const DAY_S = 86_400;
const ORCA = 0;
const BINANCE = 3;
const PERPS = 4;

/** Markets with `[market, bin, support, resistance]` in USD. */
const snapshot = (
  t: number,
  cells: readonly (readonly [number, number, number, number])[],
  tier: PlainSnapshot['tier'] = 'raw',
  price = 2,
): PlainSnapshot => ({
  t,
  tier,
  price,
  cells: cells.map(([market, bin, support, resistance]) => ({
    market,
    bin,
    support: BigInt(support * 100),
    resistance: BigInt(resistance * 100),
  })),
});

const BOOK = [
  [ORCA, -2, 300, 0],
  [ORCA, -1, 100, 0],
  [ORCA, 1, 0, 400],
  [BINANCE, -1, 300, 0],
  [BINANCE, 1, 0, 100],
  [PERPS, -1, 5000, 0],
] as const;

const depth = new MemoryDepth();
const snapshots = [
  snapshot(NOW_S - 400 * DAY_S, BOOK),
  snapshot(NOW_S - 7200, [[ORCA, -1, 50, 0]], 'raw', 1),
  // Hidden: a finer one follows within its hour.
  snapshot(NOW_S - 3600, [[ORCA, -1, 70, 0]], '1h', 3),
  snapshot(NOW_S - 3000, [[ORCA, -1, 60, 0]], 'raw', 1.5),
  snapshot(NOW_S - 60, BOOK),
  snapshot(NOW_S + 600, [[ORCA, -1, 10, 0]]),
];
depth.add('mainchain', MINT, { markets: MARKETS, snapshots });
depth.add('mainchain', LATE, { markets: MARKETS, snapshots: [snapshot(NOW_S + 60, BOOK)] });
const bids = [snapshot(NOW_S, [[ORCA, -1, 50, 0]])];
depth.add('mainchain', WITHOUT_ASKS, { markets: MARKETS, snapshots: bids });
depth.add('mainchain', WIDE_MINT, steadyStore(1, 200));
const service = await heldService({ depth });

async function ask(query: string, address = MINT): Promise<Json> {
  const reply = await service.get(`/slippage/${address}?${query}`);
  expect(reply.status).toBe(200);
  return (await reply.json()) as Json;
}

describe('GET /slippage/:address', () => {
  it('states what an order costs, by venue, and what moves the price', async () => {
    const reply = await service.get(`/slippage/${MINT}?side=sell&usd=200,1000&move_pct=1,50`);
    expect(reply.headers.get('x-data-time')).toBe(String(NOW_S - 60));
    const k = Math.log(1.01);
    const near = 1.01 ** -0.5;
    // Half of bin -1 is taken, evenly over the positions from -0.5 to -1.
    const tokens = (200 / 2) * (1 / near) * (Math.expm1(k / 2) / (k / 2));
    const close = (value: number) => expect.closeTo(value, 9) as number;
    const target = -Math.log(0.99) / k;
    expect(await reply.json()).toEqual({
      token: MINT,
      chain: 'mainchain',
      t: NOW_S - 60,
      price_usd: 2,
      side: 'sell',
      fillable_usd: 700,
      quotes: [
        {
          usd: 200,
          filled: true,
          average_price_usd: close(200 / tokens),
          end_price_usd: close(2 / 1.01),
          slippage_pct: close(100 * (100 / tokens - 1)),
          best_pct: close(100 * (near - 1)),
          worst_pct: close(100 * (1.01 ** -1.5 - 1)),
          venues: [
            { key: 'binance', label: 'Binance', type: 'cex_spot', usd: close(150) },
            { key: 'orca', label: 'Orca', type: 'onchain_pool', usd: close(50) },
          ],
        },
        {
          usd: 1000,
          filled: false,
          average_price_usd: null,
          end_price_usd: null,
          slippage_pct: null,
          best_pct: null,
          worst_pct: null,
          venues: [
            { key: 'orca', label: 'Orca', type: 'onchain_pool', usd: close(400) },
            { key: 'binance', label: 'Binance', type: 'cex_spot', usd: close(300) },
          ],
        },
      ],
      moves: [
        { move_pct: 1, usd: close(400 * (target - 0.5)) },
        { move_pct: 50, usd: 700 },
      ],
    });
  });

  it('omits perps unless types or venues name them', async () => {
    const fillable = async (query: string) =>
      (await ask(`side=sell&usd=1${query}`)).fillable_usd as number;
    expect(await fillable('')).toBe(700);
    expect(await fillable('&types=cex_perp')).toBe(5000);
    expect(await fillable('&venues=binance-perps')).toBe(5000);
    expect(await fillable('&venues=binance-perps,orca&exclude_types=cex_spot')).toBe(5400);
    expect(await fillable('&venues=binance-perps&types=cex_spot')).toBe(0);
    expect(await fillable('&exclude_types=cex_spot')).toBe(400);
    expect(await fillable('&exclude_types=cex_perp')).toBe(700);
    expect(await fillable('&exclude_venues=orca')).toBe(300);
    expect(await fillable('&exclude_venues=nobody')).toBe(700);
    expect(await fillable('&venues=BINANCE')).toBe(300);
    expect(await fillable('&exclude_venues=Binance%20Perps')).toBe(700);
    expect(await fillable('&onchain=true')).toBe(400);
    expect(await fillable('&onchain=false')).toBe(700);
    expect(await fillable('&venues=nobody')).toBe(0);
  });

  it('answers for each side of a snapshot separately', async () => {
    for (const [side, fillable_usd] of [
      ['sell', 700],
      ['buy', 500],
      ['sell', 700],
    ]) {
      expect(await ask(`side=${side}&usd=2`)).toMatchObject({ side, fillable_usd });
    }
  });

  it('has prices but no quote if no market is left, or the side is empty', async () => {
    const empty = { fillable_usd: 0, moves: [{ move_pct: 5, usd: 0 }] };
    const quotes = [expect.objectContaining({ usd: 1, filled: false, venues: [] }) as Json];
    const query = 'usd=1&move_pct=5';
    const nobody = await ask(`side=sell&${query}&venues=nobody`);
    expect(nobody).toMatchObject({ ...empty, t: NOW_S - 60, price_usd: 2, quotes });
    const bids = await ask(`side=buy&${query}`, WITHOUT_ASKS);
    expect(bids).toMatchObject({ ...empty, t: NOW_S, price_usd: 2, quotes });
  });

  it('answers from the newest snapshot at or before a time that replay shows', async () => {
    const at = async (time: string | number) =>
      (({ t, price_usd, fillable_usd }: Json): unknown[] => [t, price_usd, fillable_usd])(
        await ask(`side=sell&usd=1&at=${time}`),
      );
    expect(await at(NOW_S - 3000)).toEqual([NOW_S - 3000, 1.5, 60]);
    expect(await at(NOW_S - 61)).toEqual([NOW_S - 3000, 1.5, 60]);
    expect(await at(NOW_S - 3500)).toEqual([NOW_S - 7200, 1, 50]);
    expect(await at(NOW_S - 7200)).toEqual([NOW_S - 7200, 1, 50]);
    for (const now of ['now', NOW_S, NOW_S - 60, NOW_S + 900]) {
      expect(await at(now)).toEqual([NOW_S - 60, 2, 700]);
    }
    // There is one of 400 days ago, which pages do not show.
    expect(await at(NOW_S - 7201)).toEqual([null, null, null]);
    const page = await service.get(`/replay/${MINT}?from=${NOW_S - 8000}&to=${NOW_S - 60}`);
    const shown = ((await page.json()) as Json).snapshots as Json[];
    expect(shown.map(({ t }) => t as number)).toEqual([NOW_S - 7200, NOW_S - 3000]);
  });

  it('accepts the same parameters for a time as for now', async () => {
    const query = 'side=buy&usd=100,450&move_pct=0.5,1,1e9';
    expect(await ask(`${query}&at=now`)).toEqual(await ask(query));
  });

  it('has nulls and empty lists without a snapshot', async () => {
    const none = {
      chain: 'mainchain',
      t: null,
      price_usd: null,
      side: 'buy',
      fillable_usd: null,
      quotes: [],
      moves: [],
    };
    for (const [address, more] of [
      [UNKNOWN, ''],
      [LATE, ''],
      [LATE, '&at=-1h'],
      [WITHOUT_ASKS, `&at=${NOW_S - 1}`],
    ]) {
      const reply = await service.get(`/slippage/${address}?side=buy&usd=1&move_pct=1${more}`);
      expect(reply.headers.has('x-data-time')).toBe(false);
      expect(await reply.json()).toEqual({ token: address, ...none });
      const named = await ask(`side=buy&usd=1&move_pct=1${more}&venues=nobody`, address);
      expect(named).toEqual({ token: address, ...none, venues_not_found: ['nobody'] });
    }
  });

  it('sends large requests to the pool, with the same answer', async () => {
    const amounts = Array.from({ length: 20 }, (_, i) => 1000 * (i + 1));
    const { quotes } = await ask(`side=sell&usd=${amounts.join(',')}`, WIDE_MINT);
    for (const i of [0, 19]) {
      const { quotes: alone } = await ask(`side=sell&usd=${amounts[i]}`, WIDE_MINT);
      expect(quotes[i]).toEqual(alone[0]);
    }
  });

  it('encodes large replies in the pool, in every form, and keeps them', async () => {
    const amounts = Array.from({ length: 19 }, (_, i) => 500 * (i + 3)).join(',');
    const path = `/slippage/${WIDE_MINT}?side=buy&move_pct=3&usd=${amounts}`;
    const posted = () => service.pool.postedTasks;
    const before = posted();
    const document = await ask(path.split('?')[1], WIDE_MINT);
    expect(document.quotes).toHaveLength(19);
    expect(posted()).toBe(before + 1);
    for (const encoding of ['gzip', 'br', 'identity']) {
      // Without it, replies of this size are not compressed.
      const only = encoding === 'identity' ? '' : ', identity;q=0';
      const headers = { accept: 'application/msgpack', 'accept-encoding': `${encoding}${only}` };
      for (let repeats = 0; repeats < 2; repeats++) {
        const reply = await service.get(path, { headers });
        expect(reply.headers.get('content-type')).toBe('application/msgpack');
        const coding = encoding === 'identity' ? null : encoding;
        expect(reply.headers.get('content-encoding')).toBe(coding);
        expect(unpack(new Uint8Array(await reply.arrayBuffer()))).toEqual(document);
      }
    }
    expect(posted()).toBe(before + 4);
    const other = await ask(`side=sell&move_pct=3&usd=${amounts}`, WIDE_MINT);
    expect(other.quotes[0]).not.toEqual(document.quotes[0]);
  });

  it('compresses small replies only if required', async () => {
    const moves = Array.from({ length: 16 }, (_, i) => i + 1.123456).join(',');
    const path = `/slippage/${MINT}?side=sell&usd=3,4,5&move_pct=${moves}`;
    const replyTo = async (encoding: string) => {
      const reply = await service.get(path, { headers: { 'accept-encoding': encoding } });
      return [reply.headers.get('content-encoding'), await reply.json()];
    };
    const document = await ask(path.split('?')[1]);
    for (const encoding of ['gzip', 'br', 'gzip']) {
      expect(await replyTo(encoding)).toEqual([null, document]);
    }
    expect(await replyTo('gzip, identity;q=0')).toEqual(['gzip', document]);
  });

  it('counts repeated amounts once', async () => {
    const { quotes, moves } = await ask('side=buy&usd=5,5.0,7&move_pct=1,1');
    expect(quotes.map(({ usd }: Json) => usd as number)).toEqual([5, 7]);
    expect(moves).toHaveLength(1);
  });

  it('accepts amounts, moves or both', async () => {
    const reply = await service.get(`/slippage/${MINT}?side=buy`);
    expect([reply.status, await reply.json()]).toMatchObject([
      400,
      { parameter: 'usd', message: 'usd: expected usd, move_pct or both, neither was sent' },
    ]);
  });
});
