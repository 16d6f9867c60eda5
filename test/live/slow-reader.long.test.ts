/** A client that stops reading: what waits for it is bounded, and it receives everything that it missed, once. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { EngineName } from '../../server/http/engine.js';
import { fathom, newKey, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { LiveClient, timesOf } from '../support/live-client.js';
import { MINT, OTHER_MINT } from '../support/stores.js';
import { eventually } from '../support/waiting.js';

const T0 = 1_794_000_000;
const NOW_S = T0 + 86_400;
/** More than the buffers at both ends of a connection hold. */
const COMMITS = 10;
const SNAPSHOTS_PER_COMMIT = 12;
const MARKETS = 40;
const BINS = 149;
const HISTORIES = 5;
/** The buffers at both ends of a connection may hold so many: then nothing waits at the server. */
const MAX_BUFFERED_SNAPSHOTS = 200;

/** What is read of `/usage` and of a plan. */
interface Reply {
  endpoints: { endpoint: string; requests: number }[];
  page_count: number;
}
/** MAX_WAITING_BYTES plus the longest message. */
const MAX_WAITING_BYTES = 256 * 1024 + 400 * 1024;

/** FATHOM_ENGINES=uws,node tries both; hostile.test.ts bounds what waits for a client on both. */
const ENGINES = (process.env.FATHOM_ENGINES ?? 'uws').split(',') as EngineName[];

describe.each(ENGINES)('A slow reader on engine %s', (engine) => {
  it('takes little memory, learns that it lags, and misses nothing', async () => {
    const directory = temporaryDirectory();
    const key = await newKey(directory);
    const service = await serveHere(directory, ['--as-of', String(NOW_S), '--http-engine', engine]);
    const file = path.join(temporaryDirectory(), 'cells.ndjson');
    const commit = async (number: number, mint = MINT): Promise<number[]> => {
      const times = Array.from(
        { length: SNAPSHOTS_PER_COMMIT },
        (_, i) => T0 + 60 * (number * SNAPSHOTS_PER_COMMIT + i),
      );
      const lines = times.map((t) => {
        const markets = Array.from({ length: MARKETS }, (_, market) => ({
          source: `Venue ${market}`,
          exchange_type: 'DEX',
          type: 'onchain_pool',
          address: `pool${market}`,
          pair: 'A/B',
          cells: Array.from({ length: BINS }, (_, i) => [i - 74, 1.5 + i * market, t % 1000]),
        }));
        const snapshot = { chain: 'mainchain', address: mint, t, tier: 'raw', price_usd: 2 };
        return JSON.stringify({ ...snapshot, markets });
      });
      writeFileSync(file, `${lines.join('\n')}\n`);
      const ended = await fathom(['ingest', 'snapshots', file, '--data', directory]);
      expect([ended.status, ended.stderr]).toEqual([0, expect.any(String)]);
      return times;
    };
    const waitingBytes = async (): Promise<number> => {
      const text = await (await fetch(`${service.url}/metrics`)).text();
      return Number(/^fathom_stream_waiting_bytes (\d+)/m.exec(text)?.[1]);
    };

    const [slow, quick] = [
      await LiveClient.open(service.url, key),
      await LiveClient.open(service.url, key),
    ];
    const subscribe = {
      op: 'subscribe',
      id: 'a',
      channel: 'depth',
      group: 'market',
      address: MINT,
    };
    for (const client of [slow, quick]) {
      client.send(subscribe);
      expect((await client.next()).type).toBe('subscribed');
    }
    slow.socket.pause();
    const expected: number[] = [];
    const heard: number[] = [];
    for (let number = 0; number < COMMITS; number++) {
      expected.push(...(await commit(number)));
      // The others receive each commit in the meantime.
      while (heard.length < expected.length) {
        heard.push(...timesOf(await quick.next()));
        expect(await waitingBytes()).toBeLessThan(MAX_WAITING_BYTES);
      }
    }
    expect(heard).toEqual(expected);
    await eventually('that messages wait', async () => (await waitingBytes()) > 0);

    slow.socket.resume();
    const caughtUp: number[] = [];
    const types: string[] = [];
    while (caughtUp.length < expected.length) {
      const message = await slow.next();
      types.push(message.type);
      caughtUp.push(...timesOf(message));
    }
    expect(caughtUp).toEqual(expected);
    expect(types.filter((type) => type !== 'heartbeat')).toContain('lagged');
    await commit(COMMITS, OTHER_MINT);
    expected.push(...(await commit(COMMITS + 1)));
    while (caughtUp.length < expected.length) caughtUp.push(...timesOf(await slow.next()));
    expect(caughtUp).toEqual(expected);
    await eventually('that nothing waits', async () => (await waitingBytes()) === 0);
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(Number(/^fathom_stream_lag_seconds_count (\d+)/m.exec(metrics)?.[1])).toBeGreaterThan(0);

    // Several histories share the slow connection. Each costs what replay's pages cost, however often it has to wait.
    const json = async (target: string) =>
      (await service.get(target, key)).json() as Promise<Reply>;
    const paid = async (): Promise<number> => {
      const { endpoints } = await json('/usage');
      return endpoints.find(({ endpoint }) => endpoint === 'GET /stream')?.requests ?? 0;
    };
    const { page_count: pages } = await json(`/replay/${MINT}/plan?from=${T0}`);
    const before = await paid();
    slow.socket.pause();
    for (let i = 0; i < HISTORIES; i++) slow.send({ ...subscribe, id: `h${i}`, from: T0 });
    const received = Array.from({ length: HISTORIES }, () => [] as number[]);
    const left = () => received.reduce((sum, times) => sum + expected.length - times.length, 0);
    while (left() > 0) {
      if (left() > MAX_BUFFERED_SNAPSHOTS) {
        await eventually('that messages wait', async () => (await waitingBytes()) > 0);
        slow.socket.resume();
        await eventually('that nothing waits', async () => (await waitingBytes()) === 0);
        slow.socket.pause();
      } else {
        slow.socket.resume();
        await eventually('more messages', () => slow.messages.length > 0);
      }
      for (const { id, ...message } of slow.messages) {
        if (message.type === 'snapshots') received[Number(id?.slice(1))].push(...timesOf(message));
      }
      slow.messages = [];
    }
    expect(received).toEqual(received.map(() => expected));
    expect(await paid()).toBeLessThanOrEqual(before + HISTORIES * (1 + pages));
    for (const client of [slow, quick]) client.socket.close();
  });
});
