/** GET and POST /whale-activity over HTTP. */
import { describe, expect, it, vi } from 'vitest';
import { type HolderRow, plainHolderFlow } from '../reference/holders.js';
import type { Json } from '../support/conformance.js';
import { MemoryHolders } from '../support/memory-sources.js';
import { MINT, NOW_S, heldService } from '../support/service.js';

const UNKNOWN = 'C'.repeat(40);
const FEW = 'D'.repeat(40);
const DAY_S = 86_400;
const TIERS = ['top20', 'top50', 'top100'];
const BASE = ['token_address', 'chain', 'has_coverage', 'last_snapshot_at'];

/** 160 wallets every seven hours over 35 days, some of which come and go. */
function manyRows(): HolderRow[] {
  const rows: HolderRow[] = [];
  for (let t = NOW_S + 600; t > NOW_S - 35 * DAY_S; t -= 7 * 3600) {
    for (let id = 0; id < 160; id++) {
      const balance = (id * 104_729 + Math.floor(t / 3600) * (id % 7)) % 9973;
      if (balance > 900) rows.push({ t, owner: `Wallet${id * 31}`, balance: balance / 7 });
    }
  }
  return rows;
}

const MANY = manyRows();
const FEW_ROWS = [
  { t: NOW_S - 3 * DAY_S, owner: 'B', balance: 2 },
  { t: NOW_S, owner: 'B', balance: 3 },
  { t: NOW_S, owner: 'A', balance: 3 },
];

const time = { nowS: NOW_S };

const holderSource = new MemoryHolders();
holderSource.set(MINT, MANY);
holderSource.set(FEW, FEW_ROWS);
const service = await heldService({ holderSource, clock: { nowS: () => time.nowS } });

const get = async (query: string): Promise<{ status: number; body: Json }> => {
  const response = await service.get(`/whale-activity?${query}`);
  return { status: response.status, body: (await response.json()) as Json };
};
const post = async (document: unknown): Promise<{ status: number; body: Json }> => {
  const response = await service.post('/whale-activity', document);
  return { status: response.status, body: (await response.json()) as Json };
};
const withoutActivity = (wallets: Json[]) =>
  wallets.map((wallet) =>
    Object.fromEntries(Object.entries(wallet).filter(([k]) => k !== 'activity')),
  );

describe('GET /whale-activity', () => {
  it('equals its definition', async () => {
    const expected = plainHolderFlow(MANY, NOW_S);
    if (expected === null) throw new Error('no flow');
    const { status, body } = await get(`token_address=${MINT}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      token_address: MINT,
      chain: 'mainchain',
      has_coverage: true,
      last_snapshot_at: new Date(expected.newestT * 1000).toISOString(),
      windows: ['1d', '7d', '30d'],
      tiers: TIERS,
      summary: expected.summary,
      sparkline: expected.sparkline,
      wallets: withoutActivity(expected.wallets),
    });
    expect(body.wallets).toHaveLength(100);
    const active = await get(`token_address=${MINT}&wallet_activity=true&wallet_limit=50`);
    expect(active.body.wallets).toEqual(expected.wallets.slice(0, 50));
  });

  it.each([
    ['', ['summary', 'sparkline', 'wallets']],
    ['&include=wallets', ['wallets']],
    ['&include=sparkline,summary', ['summary', 'sparkline']],
    ['&include=summary,summary,summary,summary', ['summary']],
  ])('has the requested sections (%s)', async (more, sections) => {
    for (const address of [MINT, UNKNOWN]) {
      const { body } = await get(`token_address=${address}&chain=all${more}`);
      expect(Object.keys(body)).toEqual([...BASE, 'windows', 'tiers', ...sections]);
    }
  });

  it('lists as many wallets as requested, at most those that exist', async () => {
    for (const limit of [20, 50, 100]) {
      const { body } = await get(`token_address=${MINT}&include=wallets&wallet_limit=${limit}`);
      expect(body.wallets.map(({ rank }: Json) => rank as number)).toEqual(
        Array.from({ length: limit }, (_, i) => i + 1),
      );
      expect(body.wallets[0]).not.toHaveProperty('activity');
    }
    const { body } = await get(`token_address=${FEW}`);
    // Ties are ordered by address.
    expect(body.wallets.map(({ owner }: Json) => owner as string)).toEqual(['A', 'B']);
    expect(body.summary.new_wallets).toEqual(
      Object.fromEntries(TIERS.map((tier) => [tier, { '1d': 1, '7d': 0, '30d': 0 }])),
    );
  });

  it('is empty, without an error, for an unknown mint', async () => {
    const { status, body } = await get(`token_address=${UNKNOWN}&wallet_activity=true`);
    expect(status).toBe(200);
    expect(body).toEqual({
      token_address: UNKNOWN,
      chain: 'mainchain',
      has_coverage: false,
      last_snapshot_at: null,
      windows: ['1d', '7d', '30d'],
      tiers: TIERS,
      summary: {},
      sparkline: {},
      wallets: [],
    });
    expect(service.queue.list()).toEqual([]);
  });

  it('moves with the clock, and is computed once for all requests', async () => {
    // Boards that follow the clock have their own tasks.
    const run = vi.spyOn(service.pool, 'schedule');
    time.nowS = NOW_S + 600;
    try {
      const replies = await Promise.all(
        Array.from({ length: 8 }, () => get(`token_address=${MINT}&include=summary`)),
      );
      const newest = new Date((NOW_S + 600) * 1000).toISOString();
      for (const { body } of replies) expect(body.last_snapshot_at).toBe(newest);
      expect(run.mock.calls.filter(([, key]) => key === 'holderFlow')).toHaveLength(1);
    } finally {
      run.mockRestore();
      time.nowS = NOW_S;
      service.holderFlows.touch([MINT]);
      await service.holderFlows.settled();
    }
  });

  it('has new rows as soon as they are committed, and waits if the pool is busy', async () => {
    const quiet = 'E'.repeat(40);
    expect((await get(`token_address=${quiet}`)).body.has_coverage).toBe(false);
    service.holderSource.set(quiet, FEW_ROWS.slice(0, 1));
    service.holderFlows.touch([quiet]);
    const busy = Array.from({ length: 50 }, () => service.pool.run('ping', null));
    const { status, body } = await get(`token_address=${quiet}`);
    await Promise.all(busy);
    expect([status, body.has_coverage, body.wallets.length]).toEqual([200, true, 1]);
    service.holderSource.set(quiet, FEW_ROWS);
    service.holderFlows.touch([quiet]);
    expect((await get(`token_address=${quiet}`)).body.wallets).toHaveLength(2);
  });
});

describe('POST /whale-activity', () => {
  it('answers in the order of the request, including duplicates', async () => {
    const addresses = [FEW, UNKNOWN, MINT, FEW];
    const { status, body } = await post({ token_addresses: addresses, chain: 'all' });
    expect(status).toBe(200);
    expect([body.chain, body.count]).toEqual(['mainchain', 4]);
    expect(body.tokens.map((item: Json) => item.token_address as string)).toEqual(addresses);
    expect(body.tokens[1]).toEqual({
      token_address: UNKNOWN,
      chain: 'mainchain',
      has_coverage: false,
      last_snapshot_at: null,
    });
    expect(body.tokens[3]).toEqual(body.tokens[0]);
    const { body: single } = await get(`token_address=${MINT}&include=summary,sparkline`);
    expect(body.tokens[2]).toEqual({
      ...Object.fromEntries(BASE.map((field) => [field, single[field] as unknown])),
      summary: single.summary,
      sparkline: single.sparkline,
    });
  });

  it.each([
    [['summary'], ['summary']],
    [['sparkline', 'sparkline'], ['sparkline']],
    [[], []],
  ])('has the requested sections (%s)', async (include, sections) => {
    const { body } = await post({ token_addresses: [MINT, UNKNOWN], include, chain: 'mainchain' });
    expect(Object.keys(body.tokens[0] as Json)).toEqual([...BASE, ...sections]);
    expect(Object.keys(body.tokens[1] as Json)).toEqual(BASE);
  });

  it('answers an empty request with an empty list', async () => {
    const { status, body } = await post({ token_addresses: [] });
    expect([status, body]).toEqual([200, { chain: 'mainchain', count: 0, tokens: [] }]);
  });
});
