/**
 * A server under mixed load: pages in three views, scores, boards, commits of every dataset, clients that read a byte a
 * second, and key changes, all at once. SOAK_MINUTES=10 makes it long, and then nothing may grow.
 */
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { fathom } from '../support/cli.js';
import { atEnd, temporaryDirectory } from '../support/folders.js';
import { Script } from '../support/processes.js';
import { requestText } from '../support/raw-client.js';
import { eventually } from '../support/waiting.js';
import { type Held, peakMib, type Sample, takeSample, trendsOf } from './samples.js';

const MINUTES = Number(process.env.SOAK_MINUTES ?? 0);
/** Long enough to put every kind of load on the server. */
const FOR_MS = MINUTES === 0 ? 5_000 : MINUTES * 60_000;
const SAMPLE_MS = MINUTES === 0 ? 250 : 1_000;
const MEMORY_MIB = 2048;
const VIEWS = ['group=market', 'group=all', 'group=venue'];
const CLIENTS_PER_VIEW = 2;
const BOTS = 4;
const BOT_PAUSE_MS = 10;
const BOARDS = ['/top-scores', '/dca-pressure', '/dlmm-pools', '/lp-cheat-sheet'];
const SLOW_READERS = 20;
const SLOW_READ_MS = 1_000;
const KEY_CHANGE_MS = 2_000;

const random = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)];

it(
  'serves every kind of load at once, and holds no more of anything in the end',
  async () => {
    const directory = temporaryDirectory();
    const keyWords = ['keys', 'create', '--tier', 'enterprise', '--data', directory, '--json'];
    const created = await fathom([...keyWords, '--rpm', 'unlimited', '--quota', 'unlimited']);
    const { key } = JSON.parse(created.stdout) as { key: string };
    const serve = ['serve', '--data', directory, '--port', '0', '--memory-mib', `${MEMORY_MIB}`];
    const server = Script.fathom(serve);
    const collector = Script.fathom(['demo', '--data', directory, '--live']);
    atEnd(() => Promise.all([collector.kill(), server.kill()]));
    const [, url] = await server.line(/"url":"([^"]+)"/);
    const headers = { 'x-api-key': key };
    const ask = async (path: string): Promise<unknown> => {
      const reply = await fetch(`${url}/api/v1${path}`, { headers });
      const body = await reply.text();
      expect([path, reply.status, body.slice(0, reply.ok ? 0 : 200)]).toEqual([path, 200, '']);
      return JSON.parse(body);
    };
    let addresses: string[] = [];
    await eventually('the demo market has tokens', async () => {
      const { tokens } = (await ask('/top-scores')) as { tokens: { address: string }[] };
      addresses = tokens.map(({ address }) => address);
      return addresses.length > 5;
    });

    const ending = new AbortController();
    const work = { pages: 0, botRequests: 0, slowReaders: 0, keyChanges: 0 };
    const untilEnd = async (step: () => Promise<void>, pauseMs = 0): Promise<void> => {
      while (!ending.signal.aborted) {
        await step();
        if (pauseMs > 0) await sleep(pauseMs, undefined, ending).catch(() => undefined);
      }
    };
    const loads = [
      ...VIEWS.flatMap((view) =>
        Array.from({ length: CLIENTS_PER_VIEW }, () =>
          untilEnd(async () => {
            await ask(`/replay/${random(addresses)}?${view}&from=-2h`);
            work.pages++;
          }),
        ),
      ),
      ...Array.from({ length: BOTS }, () =>
        untilEnd(async () => {
          await ask(Math.random() < 0.1 ? random(BOARDS) : `/score/${random(addresses)}`);
          work.botRequests++;
        }, BOT_PAUSE_MS),
      ),
      untilEnd(async () => {
        await changeKeys(directory);
        work.keyChanges += 3;
      }, KEY_CHANGE_MS),
    ];
    for (let n = 0; n < SLOW_READERS; n++) {
      const path = n % 2 === 0 ? '/openapi.json' : `/replay/${random(addresses)}?from=-2h`;
      readSlowly(Number(new URL(url).port), `/api/v1${path}`, headers, ending.signal);
      work.slowReaders++;
    }
    const samples: Sample[] = [];
    const endMs = performance.now() + FOR_MS;
    const watched = { url, pid: server.pid };
    try {
      while (performance.now() < endMs || samples.length < 3) {
        await Promise.race([sleep(SAMPLE_MS), Promise.all(loads)]);
        samples.push(await takeSample(watched, directory));
      }
    } finally {
      ending.abort();
    }
    await Promise.all(loads);
    for (const [name, count] of Object.entries(work)) expect(count, name).toBeGreaterThan(0);
    const trends = trendsOf(samples);
    if (MINUTES > 0) {
      // For the person who started it.
      // oxlint-disable-next-line no-console
      console.table(trends);
      expect(trends.filter(({ grew }) => grew)).toEqual([]);
      expect(await peakMib(server.pid)).toBeLessThan(MEMORY_MIB);
    }
    expect(await collector.stop()).toBe(0);
    expect(await server.stop()).toBe(0);
  },
  600_000 + FOR_MS,
);

/** Makes, rotates and revokes a key. */
async function changeKeys(directory: string): Promise<void> {
  const data = ['--data', directory];
  const json = async (words: string[]) => {
    const { status, stdout, stderr } = await fathom(['keys', ...words, ...data, '--json']);
    expect([status, stderr]).toEqual([0, expect.any(String)]);
    return JSON.parse(stdout) as { id: string };
  };
  const { id } = await json(['create', '--tier', 'premium', '--name', 'soak']);
  await json(['rotate', id]);
  await json(['revoke', id]);
}

/** Requests a path, and reads a byte of the reply at a time; again when the server has ended the connection. */
function readSlowly(
  port: number,
  path: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): void {
  const socket = net.connect(port, '127.0.0.1');
  socket.write(requestText(`GET ${path}`, headers));
  socket.pause();
  const reading = setInterval(() => void socket.read(1), SLOW_READ_MS);
  const close = (): void => void socket.destroy();
  socket.on('error', () => undefined);
  socket.once('close', () => {
    clearInterval(reading);
    signal.removeEventListener('abort', close);
    if (!signal.aborted)
      setTimeout(() => signal.aborted || readSlowly(port, path, headers, signal), SLOW_READ_MS);
  });
  signal.addEventListener('abort', close);
}

/** Samples of a server that holds `of(i)` descriptors and 100 of everything else. */
const samplesOf = (of: (i: number) => number): Sample[] =>
  Array.from({ length: 400 }, (_, i) => ({
    residentMib: 100,
    heapMib: 100,
    externalMib: 100,
    files: 100,
    databaseMib: 100,
    descriptors: of(i),
  }));
const grown = (of: (i: number) => number): Held[] =>
  trendsOf(samplesOf(of)).flatMap(({ held, grew }) => (grew ? [held] : []));

it('finds steady growth, but no warm-up, no peaks, and nothing that comes and goes', () => {
  expect(grown((i) => i)).toEqual(['descriptors']);
  expect(grown((i) => Math.min(i, 90))).toEqual([]);
  expect(grown((i) => (i % 7 === 0 ? 500 + i : 50))).toEqual([]);
  expect(grown((i) => 50 + 40 * Math.sin(i / 5))).toEqual([]);
  expect(grown((i) => (i > 350 ? 90 : 50))).toEqual([]);
});
