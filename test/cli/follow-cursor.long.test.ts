/** `fathom follow --cursor-file` through kills of the command and of the server, while data change. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { freePorts } from '../../bench/programs.js';
import type { ReplayPage } from '../../client/index.js';
import { newKey, serve, type Server } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { deleteSnapshots, ingestCells } from '../support/live-client.js';
import { MINT } from '../support/stores.js';
import { eventually } from '../support/waiting.js';
import { Follower } from './following.js';

const T0 = 1_794_000_000;
const NOW_S = T0 + 86_400;
/** FATHOM_KILLS=100 makes a longer search, with FATHOM_SEED=N. */
const KILLS = Number(process.env.FATHOM_KILLS ?? 6);
const SEED = Number(
  process.env.FATHOM_SEED ?? fc.sample(fc.integer({ min: 1, max: 2 ** 30 }), 1)[0],
);

it('what all runs printed is what /replay shows', { timeout: 3_600_000 }, async () => {
  let state = SEED;
  const random = (below: number) => (state = (state * 48_271) % 0x7fff_ffff) % below;
  const directory = temporaryDirectory();
  const key = await newKey(directory);
  const [port] = await freePorts(1);
  const start = (): Promise<Server> =>
    serve(directory, ['--as-of', String(NOW_S), '--threads', '1', '--port', String(port)]);
  let server = await start();
  const words = [MINT, '--from', String(T0), '--group', 'all', '--url', server.url];
  const follower = new Follower(words, key);
  await ingestCells(
    directory,
    Array.from({ length: 600 }, (_, i) => [T0 + 3600 + i * 60, 1 + random(99)]),
  );
  const change = async (): Promise<void> => {
    if (random(4) === 0) {
      const from = T0 + random(60) * 60;
      await deleteSnapshots(directory, from, from + 1 + random(600));
      return;
    }
    const times = new Set(Array.from({ length: 1 + random(8) }, () => T0 + random(300) * 60));
    await ingestCells(
      directory,
      Array.from(times, (t) => [t, 1 + random(99)]),
    );
  };
  const page = async () => {
    const snapshots: ReplayPage['snapshots'] = [];
    for (let from: number | null = T0; from !== null;) {
      const reply = await server.get(`/replay/${MINT}?from=${from}&to=${NOW_S}&group=all`, key);
      const read = (await reply.json()) as ReplayPage;
      snapshots.push(...read.snapshots);
      from = read.next_from;
    }
    return JSON.stringify(snapshots);
  };
  // A run gives up if the server stays away for longer than it retries: something starts it again.
  const running = (): void => follower.start();
  for (let kill = 0; kill < KILLS; kill++) {
    running();
    // Some runs are killed before they have begun, some while they print.
    if (random(3) > 0) {
      await eventually('its cursor', () => {
        running();
        return follower.hasCursor;
      });
    }
    const changing = change();
    await new Promise((resolve) => setTimeout(resolve, random(400)));
    if (random(3) > 0) await follower.kill();
    await changing;
    if (random(2) === 0) await change();
    if (random(3) > 0) continue;
    await server.stop('SIGKILL');
    server = await start();
  }
  await eventually(
    () => `seed ${SEED}: what was printed is what the store shows`,
    async () => {
      running();
      return JSON.stringify(follower.held()) === (await page());
    },
  );
  await follower.kill('SIGINT');
  const { messages, cutOff } = follower.read();
  expect(messages.map(({ type }) => type)).not.toContain('reset');
  // A kill repeats at most the message that it hits, once its snapshots have been taken back.
  const repeated = messages.length - new Set(messages.map((one) => JSON.stringify(one))).size;
  expect(repeated + cutOff, `seed ${SEED}`).toBeLessThanOrEqual(KILLS);
});
