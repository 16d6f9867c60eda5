import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  fathomClient,
  type FathomError,
  type LiveMessage,
  type ReplayPage,
} from '../../client/index.js';
import { fathom, newKey, type Service, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { cutAfter, deleteSnapshots, ingestCells } from '../support/live-client.js';
import { MAIN } from '../support/processes.js';
import { MINT } from '../support/stores.js';
import { eventually } from '../support/waiting.js';

const T0 = 1_794_000_000;
const NOW_S = T0 + 86_400;

/** A fetch whose replies break off after some bytes, a different number for each reply. */
const cutting =
  (bytes: () => number): typeof fetch =>
  async (...request) => {
    const reply = await fetch(...request);
    return cutAfter(reply, bytes());
  };

describe('The client that follows a token', () => {
  let directory: string;
  let service: Service;
  let key: string;

  const ingest = (rows: Parameters<typeof ingestCells>[1]) => ingestCells(directory, rows);
  const shown = async () => {
    const page = await service.get(`/replay/${MINT}?from=${T0}&to=${NOW_S}`, key);
    return ((await page.json()) as ReplayPage).snapshots;
  };

  beforeAll(async () => {
    directory = temporaryDirectory();
    key = await newKey(directory);
    service = await serveHere(directory, ['--as-of', String(NOW_S)]);
  });

  it('has every snapshot once, however often its connection breaks', async () => {
    const [seed] = fc.sample(fc.integer({ min: 1, max: 2 ** 30 }), 1);
    let state = seed;
    const random = () => (state = (state * 48_271) % 0x7fff_ffff);
    const waits: string[] = [];
    // The first two replies always break.
    const first = [300, 700];
    const bytes = () => first.shift() ?? 200 + (random() % 12_000);
    const client = fathomClient({
      url: service.url,
      key,
      fetch: cutting(bytes),
      onWait: ({ kind }) => waits.push(kind),
    });
    await ingest(Array.from({ length: 40 }, (_, i) => [T0 + i * 60, 1 + i]));
    const held = new Map<number, object>();
    const stop = new AbortController();
    const following = (async () => {
      const { signal } = stop;
      for await (const message of client.follow(MINT, { from: T0 }, { signal })) {
        if (message.type === 'deleted') for (const t of message.t) held.delete(t);
        if (message.type !== 'snapshots' && message.type !== 'revised') continue;
        for (const one of message.snapshots) {
          expect([seed, one.t, message.type === 'snapshots' && held.has(one.t)]).toEqual([
            seed,
            one.t,
            false,
          ]);
          held.set(one.t, one);
        }
      }
    })();
    following.catch(() => undefined);
    const same = async () => {
      const inOrder = [...held].sort(([a], [b]) => a - b).map(([, one]) => one);
      return JSON.stringify(inOrder) === JSON.stringify(await shown());
    };
    await eventually('the history', same);
    await ingest([
      [T0 + 60, 99],
      [T0 + 90, 98],
      [T0 + 40 * 60, 97],
    ]);
    await deleteSnapshots(directory, T0 + 120, T0 + 181);
    await eventually('what came, was revised and was deleted', same);
    expect([...held.keys()]).not.toContain(T0 + 120);
    expect(waits.length).toBeGreaterThan(1);
    stop.abort(new Error('enough'));
    await expect(following).rejects.toThrow('enough');
  });

  it('fails at once if another attempt would not help', async () => {
    const first = async (options: object, parameters: object): Promise<LiveMessage | undefined> => {
      const client = fathomClient({ url: service.url, key, ...options });
      for await (const message of client.follow(MINT, parameters)) return message;
      return undefined;
    };
    const failing = async (...request: Parameters<typeof first>) =>
      first(...request).then(
        () => null,
        ({ status, parameter }: FathomError) => ({ status, parameter }),
      );
    expect(await failing({ key: 'wrong' }, {})).toEqual({ status: 401, parameter: null });
    expect(await failing({}, { cursor: 'x' })).toEqual({ status: 400, parameter: 'cursor' });
    const { cursor } = (await first({}, { from: T0 })) ?? {};
    expect(await failing({}, { cursor, from: T0 })).toEqual({ status: 400, parameter: 'cursor' });
    const { stdout } = await fathom([
      'keys',
      'create',
      '--tier',
      'premium',
      '--quota',
      '1',
      '--data',
      directory,
    ]);
    const spent = stdout.trim();
    expect((await service.get('/top-scores', spent)).status).toBe(200);
    // The next month is too far away to wait for.
    expect(await failing({ key: spent }, {})).toEqual({ status: 429, parameter: null });
    expect(await failing({ retry: false, url: 'http://127.0.0.1:9' }, {})).toEqual({
      status: null,
      parameter: null,
    });
  });

  it.each([
    [
      'is stopping',
      [
        { type: 'closing', retry_ms: 1, next_from: T0, cursor: 'c' },
        { type: 'close', code: 1012, reason: 'the server is stopping: reconnect in 1 ms' },
      ],
      'the server is stopping',
    ],
    ['goes away', [], 'the connection was closed'],
  ])('says how a stream ended if the server %s', async (_, messages, reason) => {
    const stop = new AbortController();
    const events = messages.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');
    const waits: string[] = [];
    const client = fathomClient({
      url: service.url,
      key,
      fetch: () => Promise.resolve(new Response(events)),
      onWait: ({ message }) => {
        waits.push(message);
        stop.abort(new Error('enough'));
      },
    });
    const { signal } = stop;
    await expect(client.follow(MINT, {}, { signal }).next()).rejects.toThrow('enough');
    expect(waits).toEqual([
      expect.stringContaining(`the stream from ${service.url} ended (${reason}); trying again in`),
    ]);
  });

  it('says that history begins later than requested', async () => {
    const client = fathomClient({ url: service.url, key });
    const heard: LiveMessage[] = [];
    for await (const message of client.follow(MINT, { from: '-366d' })) {
      heard.push(message);
      if (heard.length === 2) break;
    }
    const nextS = NOW_S - 365 * 86_400;
    expect(heard).toMatchObject([
      { type: 'subscribed', clamped: true, next_from: nextS },
      { type: 'snapshots' },
    ]);
  });

  it('is what `fathom follow` prints', async () => {
    const words = ['follow', MINT, '--from', String(T0), '--group', 'all', '--url', service.url];
    const child = spawn(process.execPath, [MAIN, ...words], {
      env: { ...process.env, FATHOM_KEY: key },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
    await eventually('a line', () => printed.includes('\n'));
    const [line] = printed.split('\n');
    const page = await service.get(`/replay/${MINT}?from=${T0}&to=${NOW_S}&group=all`, key);
    const message = JSON.parse(line) as ReplayPage;
    expect(message.snapshots).toEqual(((await page.json()) as ReplayPage).snapshots);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([0, null]);
    const wrong = await fathom(['follow', MINT, '--from', 'soon', '--url', service.url], {
      FATHOM_KEY: key,
    });
    expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringMatching(/^fathom: --from: /)]);
    const both = ['follow', MINT, '--from', '-1h', '--cursor', 'x', '--url', service.url];
    const { stderr } = await fathom(both, { FATHOM_KEY: key });
    expect(stderr).toMatch(/^fathom: --cursor: cannot be combined with --from\n/);
  });
});
