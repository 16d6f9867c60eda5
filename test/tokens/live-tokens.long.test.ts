import { afterEach, describe, expect, it, vi } from 'vitest';
import { createHeldDepth } from '../../server/tokens/newest-depth.js';
import {
  type Cell,
  commitDelete,
  commitRows,
  commitTokens,
  DataDirectory,
  openStore,
  orca,
  snapshot,
} from '../support/stores.js';
import { MarketService, NOW_S } from './market-service.js';
import type { Json } from '../support/conformance.js';
import { eventually } from '../support/waiting.js';

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
/** A mint for each number. */
function mintOf(n: number): string {
  let text = '';
  for (let rest = n; text.length < 6; rest = Math.floor(rest / 58)) text = BASE58[rest % 58] + text;
  return text.padStart(40, 'M');
}

const wide = (reach: number): Cell[] =>
  Array.from({ length: 2 * reach + 1 }, (_, i) => [
    i - reach,
    i < reach ? 500 : 0,
    i < reach ? 0 : 400,
  ]);

let service: MarketService | null = null;
afterEach(async () => {
  await service?.stop();
  service = null;
});

describe('tokens in memory', () => {
  it('stays within its bound of bytes, and reads evicted tokens on request', async () => {
    const maxHeldBytes = 20_000;
    service = await MarketService.start({ maxHeldBytes });
    const { store, tokens } = service;
    const count = 24;
    for (let n = 0; n < count; n++) {
      await commitRows(store, [snapshot(NOW_S - 1, [orca(wide(40))], { address: mintOf(n) })]);
    }
    await service.settled();
    expect([...tokens.table.all()]).toHaveLength(count);
    expect(tokens.held.calculatedSize).toBeLessThanOrEqual(maxHeldBytes);
    expect(tokens.held.size).toBeLessThan(count / 2);
    // All have their scores and their depth.
    for (let n = 0; n < count; n++) {
      const { body } = await service.get(`/market-depth?token_address=${mintOf(n)}`);
      expect(body.depth_data).toHaveLength(81);
      expect(body.service_score).toBeGreaterThan(0);
      expect(tokens.held.calculatedSize).toBeLessThanOrEqual(maxHeldBytes);
    }
    expect((await service.get('/top-scores')).body.count).toBe(count);
    // An evicted token still follows its data.
    await commitRows(store, [
      snapshot(NOW_S, [orca([[0, 9, 9]])], { address: mintOf(0), price_usd: 3 }),
    ]);
    await service.settled();
    const { body } = await service.get(`/market-depth?token_address=${mintOf(0)}`);
    expect([body.price, body.depth_data.length]).toEqual([3, 1]);
  });

  it('keeps no token without depth among those that have some', async () => {
    service = await MarketService.start();
    const { store, tokens } = service;
    const rows = Array.from({ length: 100 }, (_, n) => ({ address: mintOf(n), price_usd: 1 }));
    await commitTokens(store, rows);
    await commitRows(store, [snapshot(NOW_S - 1, [orca()], { address: mintOf(0) })]);
    await service.settled();
    expect([...tokens.table.all()]).toHaveLength(100);
    expect(tokens.held.size).toBe(1);
    const { status } = await service.get(`/market-depth?token_address=${mintOf(0)}`);
    expect(status).toBe(200);
    await commitDelete(store, { address: mintOf(0) });
    await service.settled();
    expect(tokens.held.size).toBe(0);
  });

  it('does not hold a snapshot that is deleted while it is read', async () => {
    service = await MarketService.start({ maxHeldBytes: 1 });
    const { store, tokens } = service;
    const address = mintOf(1);
    await commitRows(store, [snapshot(NOW_S - 1, [orca(wide(40))], { address })]);
    await service.settled();
    const token = tokens.table.token(address);
    if (token === null) throw new Error('the token is not in memory');
    const readSegments = store.depth.readSegments.bind(store.depth);
    let goOn = (): void => undefined;
    const deleted = new Promise<void>((resolve) => (goOn = resolve));
    const held = vi.spyOn(store.depth, 'readSegments').mockImplementation(async (ids) => {
      const blocks = await readSegments(ids);
      await deleted;
      return blocks;
    });
    const reading = tokens.depth(token);
    await eventually('its segments are read', () => held.mock.calls.length > 0);
    held.mockRestore();
    await commitDelete(store, { address });
    await service.settled();
    goOn();
    expect((await reading).newest).not.toBe(null);
    expect(tokens.held.get(token.details.tokenId)?.newest ?? null).toBe(null);
    expect((await tokens.depth(token)).newest).toBe(null);
  });

  it('knows the age of the newest snapshot without looking at all of them', async () => {
    service = await MarketService.start();
    const { store, tokens } = service;
    const all = vi.spyOn(tokens.table, 'all');
    const newestAfter = async (commit: Promise<unknown>): Promise<number | null> => {
      await commit;
      await service?.settled();
      all.mockClear();
      return tokens.newestT();
    };
    const at = (n: number, ageS: number) =>
      commitRows(store, [snapshot(NOW_S - ageS, [orca()], { address: mintOf(n) })]);
    expect(tokens.newestT()).toBe(null);
    for (const [n, ageS, newestAgeS] of [
      [0, 50, 50],
      [1, 90, 50],
      [1, 40, 40],
      [2, 40, 40],
      [0, 45, 40],
      [1, 30, 30],
    ]) {
      expect(await newestAfter(at(n, ageS))).toBe(NOW_S - newestAgeS);
      expect(all).not.toHaveBeenCalled();
    }
    // If the newest is gone, the next one has to be looked up.
    expect(await newestAfter(commitDelete(store, { address: mintOf(1) }))).toBe(NOW_S - 40);
    expect(await newestAfter(commitDelete(store, { address: mintOf(2) }))).toBe(NOW_S - 45);
    expect(await newestAfter(at(0, 20))).toBe(NOW_S - 20);
    expect(all).not.toHaveBeenCalled();
    expect(await newestAfter(commitDelete(store, { address: mintOf(0) }))).toBe(null);
  });

  describe('a requested token that is not in memory yet', () => {
    const rows = Array.from({ length: 60 }, (_, n) =>
      snapshot(NOW_S - 1, [orca()], { address: mintOf(n) }),
    );
    const address = mintOf(59);

    /** Commits all of them, and requests the last; a token's newest snapshot is read when `goes` resolves for it. */
    async function requested(goes: (isRequested: boolean, nth: number) => Promise<void>) {
      service = await MarketService.start();
      const { depth } = service.store;
      const newestSnapshots = depth.newestSnapshots.bind(depth);
      const read: string[] = [];
      vi.spyOn(depth, 'newestSnapshots').mockImplementation(async (tokenId, ...others) => {
        const one = depth.tokenById(tokenId)?.address ?? '';
        read.push(one);
        await goes(one === address, read.length);
        return newestSnapshots(tokenId, ...others);
      });
      await commitRows(service.store, rows);
      await eventually('the first tokens are read', () => read.length > 0);
      const known = vi.spyOn(depth, 'token');
      const reply = service.get(`/market-depth?token_address=${address}`);
      await eventually('the last token is asked for', () =>
        known.mock.calls.some(([chain, name]) => chain === 'mainchain' && name === address),
      );
      return { reply, read };
    }

    it('is loaded before all others that wait', async () => {
      const gates = [0, 1].map(() => {
        let open = (): void => undefined;
        return { opened: new Promise<void>((resolve) => (open = resolve)), open: () => open() };
      });
      const { reply, read } = await requested((isRequested, nth) =>
        isRequested ? Promise.resolve(gates[1].open()) : gates[nth <= 16 ? 0 : 1].opened,
      );
      expect(read.length).toBe(16);
      expect(read).not.toContain(address);
      gates[0].open();
      expect((await reply).body).toMatchObject({ price: 2 });
      expect(read.indexOf(address)).toBe(16);
      await service?.settled();
      expect([...(service?.tokens.table.all() ?? [])]).toHaveLength(rows.length);
    });

    it('is waited for no longer than its bound', async () => {
      let open = (): void => undefined;
      const opened = new Promise<void>((resolve) => (open = resolve));
      const { reply } = await requested(() => opened);
      const { status, headers, body } = await reply;
      expect([status, body.error_code, headers.get('retry-after')]).toEqual([
        503,
        'replay_busy',
        '1',
      ]);
      open();
      await service?.settled();
      const again = await service?.get(`/market-depth?token_address=${address}`);
      expect(again?.status).toBe(200);
    });
  });

  it('counts the bytes it holds, and a shared snapshot once', () => {
    const held = createHeldDepth();
    const cells = {
      t: 1,
      priceUsd: 1,
      market: new Uint16Array(1000),
      bin: new Int16Array(1000),
      supportCents: new Uint32Array(1000),
      resistanceCents: new Float64Array(1000),
    };
    const ref = { segmentId: 1, row: 0, t: 1, tier: 'raw' as const };
    const newest = { ref, cells };
    held.set(1, { newest, delayed: newest, markets: [] });
    const once = held.calculatedSize;
    expect(once).toBeGreaterThanOrEqual(16_000);
    held.set(2, { newest, delayed: { ref, cells }, markets: [] });
    expect(held.calculatedSize - once).toBeGreaterThanOrEqual(32_000);
    held.set(2, { newest: null, delayed: null, markets: [] });
    held.set(1, { newest: null, delayed: null, markets: [] });
    expect(held.calculatedSize).toBeLessThan(3000);
  });

  it('holds every token of a store at its start', async () => {
    const directory = new DataDirectory();
    const count = 300;
    const store = await openStore(directory.path);
    const rows = Array.from({ length: count }, (_, n) =>
      [NOW_S - 2000, NOW_S - 1].map((t) => snapshot(t, [orca()], { address: mintOf(n) })),
    );
    await commitRows(store, rows.flat());
    await store.close();
    service = await MarketService.start({ directory });
    expect(service.tokens.held.size).toBe(count);
    // All have the same score: the best are the first addresses, if none is missing.
    const { tokens } = (await service.get('/top-scores')).body;
    const best = Array.from({ length: count }, (_, n) => mintOf(n)).sort();
    expect(tokens.map(({ address }: Json) => address)).toEqual(best.slice(0, 50));
    const delayed = await service.get(`/market-depth?token_address=${mintOf(7)}&delayed=true`);
    expect(delayed.body.last_refresh).toBe(NOW_S - 2000);
  });

  it('follows commits that arrive while segments are joined', async () => {
    service = await MarketService.start();
    const { store } = service;
    const address = mintOf(1);
    for (let n = 0; n < 40; n++) {
      await commitRows(store, [snapshot(NOW_S - 1000 + n, [orca([[0, 100 + n, 0]])], { address })]);
      if (n % 7 === 0) {
        await service.settled();
        const { body } = await service.get(`/market-depth?token_address=${address}`);
        expect(body.depth_data[0].support).toBe(100 + n);
      }
    }
    await store.settled();
    await service.settled();
    const { body } = await service.get(`/market-depth?token_address=${address}`);
    expect(body.depth_data[0].support).toBe(139);
    const delayed = await service.get(`/market-depth?token_address=${address}&delayed=true`);
    expect(delayed.body.depth_data[0].support).toBe(139);
    expect(service.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  });

  it('answers for a token from the moment its commit returns', async () => {
    service = await MarketService.start();
    for (let n = 0; n < 10; n++) {
      const address = mintOf(n);
      await commitRows(service.store, [snapshot(NOW_S - 1, [orca([[0, 5000, 0]])], { address })]);
      const [score, depth] = await Promise.all([
        service.get(`/score/${address}`),
        service.get(`/market-depth?token_address=${address}`),
      ]);
      expect(['pending', 'available']).toContain(score.body.status);
      expect(depth.body.depth_data).toHaveLength(1);
    }
    expect(service.store.queue.list()).toEqual([]);
  });

  it('logs a damaged segment, and continues with the other tokens', async () => {
    service = await MarketService.start();
    const { store } = service;
    for (const t of [NOW_S - 9, NOW_S - 8]) {
      await commitRows(
        store,
        [1, 2].map((n) => snapshot(t, [orca([[0, 5000 - n, 0]])], { address: mintOf(n) })),
      );
    }
    await service.settled();
    const before = (await service.get(`/score/${mintOf(1)}`)).body;
    const { database, directories } = store['parts'];
    await database.run('UPDATE segments SET crc32 = crc32 - 1 WHERE token_id = 0');
    const ids = await database.rows('SELECT segment_id FROM segments');
    directories.recentBlocks.delete(ids.map(([id]) => id as number));
    // The clock alone makes the older snapshots the delayed ones: one of them is damaged.
    await service.turnTo(NOW_S + 891);
    expect(service.logged.filter((line) => line.includes('depth is damaged'))).toHaveLength(1);
    expect((await service.get(`/score/${mintOf(1)}`)).body).toEqual(before);
    const delayed = `/market-depth?token_address=${mintOf(1)}&delayed=true`;
    expect((await service.get(delayed)).body.error_code).toBe('damaged_data');
    const { body } = await service.get(`/market-depth?token_address=${mintOf(2)}&delayed=true`);
    expect(body.last_refresh).toBe(NOW_S - 9);
  });
});

it('work in the pool waits if all slots of its class are taken, and does not hide other failures', async () => {
  service = await MarketService.start();
  const { pool } = service;
  const many = Array.from({ length: 100 }, () => pool.run('ping', null));
  expect(new Set(await Promise.all(many)).size).toBe(1);
  await expect(
    pool.run('pickSnapshots', [{ block: new Uint8Array(3), rows: [0] }]),
  ).rejects.toThrow('LZ4 block');
});
