/** `fathom follow --cursor-file`: a run goes on where the one before ended. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { fathomClient, type ReplayPage } from '../../client/index.js';
import { CursorFile } from '../../server/cli/cursor-file.js';
import { fathom, newKey, serveHere, type Service } from '../support/cli.js';
import { atEnd, temporaryDirectory } from '../support/folders.js';
import { deleteSnapshots, ingestCells } from '../support/live-client.js';
import { type Ended, MAIN } from '../support/processes.js';
import { MINT, OTHER_MINT } from '../support/stores.js';
import { eventually } from '../support/waiting.js';
import { Follower } from './following.js';

const T0 = 1_794_000_000;
const NOW_S = T0 + 86_400;

let directory: string;
let service: Service;
let key: string;

beforeAll(async () => {
  directory = temporaryDirectory();
  key = await newKey(directory);
  service = await serveHere(directory, ['--as-of', String(NOW_S)]);
  await ingestCells(directory, [
    [T0, 1],
    [T0 + 60, 2],
  ]);
});

async function shown(): Promise<ReplayPage['snapshots']> {
  const reply = await service.get(`/replay/${MINT}?from=${T0}&to=${NOW_S}&group=all`, key);
  return ((await reply.json()) as ReplayPage).snapshots;
}

it('continues after a kill with what came, was revised and was deleted, from its own cursor', async () => {
  const words = [MINT, '--from', String(T0), '--group', 'all', '--url', service.url];
  const follower = new Follower(words, key);
  const same = async () => JSON.stringify(follower.held()) === JSON.stringify(await shown());
  follower.start();
  await eventually('the history', same);
  await eventually('its cursor', () => follower.isAtItsEnd);
  await follower.kill();
  const before = follower.read().messages.length;
  await ingestCells(directory, [
    [T0 + 60, 9],
    [T0 + 120, 3],
  ]);
  await deleteSnapshots(directory, T0, T0 + 1);
  // A line that the kill has cut off.
  writeFileSync(follower.out, '{"type":"snap', { flag: 'a' });
  follower.start();
  await eventually('the changes', same);
  await follower.kill('SIGINT');
  const { messages, cutOff } = follower.read();
  expect(cutOff).toBe(1);
  expect(messages.slice(before).map(({ type }) => type)).not.toContain('reset');
  const text = readFileSync(follower.cursorFile, 'utf8');
  expect(JSON.parse(text)).toEqual({
    version: 1,
    address: MINT,
    parameters: { group: 'all' },
    cursor: messages.at(-1)?.cursor,
  });
  // Nothing is repeated after an orderly end, and another store says that it is another.
  follower.start();
  await ingestCells(directory, [[T0 + 180, 4]]);
  await eventually('the next', same);
  await follower.kill('SIGTERM');
  expect(follower.read().messages.length).toBe(messages.length + 1);
  const other = temporaryDirectory();
  const otherKey = await newKey(other);
  const otherService = await serveHere(other, ['--as-of', String(NOW_S)]);
  await ingestCells(other, [[T0, 1]]);
  const moved = new Follower([MINT, '--group', 'all', '--url', otherService.url], otherKey);
  writeFileSync(moved.cursorFile, text);
  moved.start();
  await eventually('a reset', () => moved.read().messages.length > 0);
  expect(moved.read().messages[0]).toMatchObject({ type: 'reset' });
  await moved.kill();
});

it('takes back what a killed run may have printed, so that deletions since are told', async () => {
  const words = [MINT, '--from', String(T0), '--group', 'all', '--url', service.url];
  const follower = new Follower(words, key);
  const same = async () => JSON.stringify(follower.held()) === JSON.stringify(await shown());
  follower.start();
  await eventually('the history', async () => (await same()) && follower.isAtItsEnd);
  await follower.kill('SIGINT');
  const times = [T0 + 3600, T0 + 3660];
  await ingestCells(
    directory,
    times.map((t) => [t, 5]),
  );
  // A run that is killed between a printed message and its cursor.
  const kept = await CursorFile.open(follower.cursorFile, {
    address: MINT,
    parameters: { group: 'all' },
  });
  const { cursor } = kept;
  expect([typeof cursor, kept.interrupted]).toEqual(['string', null]);
  const client = fathomClient({ url: service.url, key });
  for await (const message of client.follow(MINT, { group: 'all', cursor: cursor ?? '' })) {
    await kept.begin(message);
    writeFileSync(follower.out, `${JSON.stringify(message)}\n`, { flag: 'a' });
    break;
  }
  await kept.release();
  expect(follower.held().map(({ t }) => t)).toEqual(expect.arrayContaining(times));
  await deleteSnapshots(directory, times[0], times[0] + 1);
  const before = follower.read().messages.length;
  follower.start();
  await eventually('the deletion', async () => (await same()) && follower.isAtItsEnd);
  expect(follower.read().messages.slice(before)).toMatchObject([
    { type: 'deleted', t: times, cursor, next_from: times[0] },
    { type: 'snapshots', snapshots: [{ t: times[1] }] },
  ]);
  await follower.kill('SIGINT');
});

it('takes back what the first run may have printed, too', async () => {
  const times = [T0 + 7200, T0 + 7260];
  await ingestCells(
    directory,
    times.map((t) => [t, 6]),
  );
  const words = [MINT, '--from', String(times[0]), '--group', 'all', '--url', service.url];
  const follower = new Follower(words, key);
  // A reader that does not read: the run stays within its first message.
  const full = fullPipe();
  const first = spawn(
    process.execPath,
    [MAIN, 'follow', ...words, '--cursor-file', follower.cursorFile],
    { env: { ...process.env, FATHOM_KEY: key }, stdio: ['ignore', full, 'ignore'] },
  );
  const ended = once(first, 'exit');
  await eventually(
    'its times',
    () => follower.hasCursor && readFileSync(follower.cursorFile, 'utf8').includes('"printing"'),
  );
  first.kill('SIGKILL');
  await ended;
  await deleteSnapshots(directory, times[0], times[0] + 1);
  follower.start();
  await eventually('what came', () => follower.read().messages.length >= 2);
  expect(follower.read().messages.slice(0, 2)).toMatchObject([
    { type: 'deleted', t: times },
    { type: 'snapshots', snapshots: [{ t: times[1] }] },
  ]);
  await follower.kill('SIGINT');
  await deleteSnapshots(directory, times[1], times[1] + 1);
});

/** A pipe that takes nothing more. */
function fullPipe(): number {
  const file = path.join(temporaryDirectory(), 'pipe');
  execFileSync('mkfifo', [file]);
  const fd = openSync(file, constants.O_RDWR | constants.O_NONBLOCK);
  atEnd(() => closeSync(fd));
  const bytes = Buffer.alloc(4096, '\n');
  try {
    for (;;) writeSync(fd, bytes);
  } catch (error) {
    expect(error).toMatchObject({ code: 'EAGAIN' });
  }
  // A description of its own, which waits.
  const waiting = openSync(file, constants.O_WRONLY);
  atEnd(() => closeSync(waiting));
  return waiting;
}

it('keeps where a subscription without history began, before anything came', async () => {
  const follower = new Follower([MINT, '--url', service.url], key);
  follower.start();
  await eventually('its cursor', () => follower.hasCursor);
  expect(follower.read().messages).toEqual([]);
  await follower.kill();
});

const REMEDY = 'use another file, or delete this one to begin anew';
const OWN = { version: 1, address: MINT, parameters: {}, cursor: 'c' };

it.each([
  ['', 1, `is damaged, or not written by fathom follow; ${REMEDY}`],
  ['{"version":1,"addr', 1, 'is damaged'],
  ['[1]', 1, 'is damaged'],
  ['null', 1, 'is damaged'],
  [JSON.stringify({ ...OWN, version: 2 }), 1, 'is damaged'],
  [JSON.stringify({ ...OWN, cursor: '' }), 1, 'is damaged'],
  [JSON.stringify({ ...OWN, printing: { t: [1, 'x'], next_from: 1 } }), 1, 'is damaged'],
  [
    JSON.stringify({ ...OWN, address: OTHER_MINT }),
    1,
    `is of another request: address (was ${OTHER_MINT}, is ${MINT}); ${REMEDY}`,
  ],
  [
    JSON.stringify({ ...OWN, parameters: { group: 'venue' } }),
    1,
    'is of another request: group (was venue, is not given)',
  ],
  [JSON.stringify(OWN), 1, ': the server refuses its cursor: expected'],
])('refuses a file with %j', async (text, status, message) => {
  const file = path.join(temporaryDirectory(), 'cursor');
  writeFileSync(file, text);
  const ended = await run('--cursor-file', file);
  expect(ended.stderr).toContain(`--cursor-file: ${file}`);
  expect(ended.stderr).toContain(message);
  expect([ended.status, ended.stdout]).toEqual([status, '']);
  expect(readFileSync(file, 'utf8')).toBe(text);
});

it('refuses a file that another run uses, and a cursor besides the file', async () => {
  const file = path.join(temporaryDirectory(), 'cursor');
  writeFileSync(`${file}.lock`, `${process.ppid} other`);
  const ended = await run('--cursor-file', file);
  expect([ended.status, ended.stderr]).toEqual([
    1,
    expect.stringContaining(
      `process ${process.ppid} is writing --cursor-file ${file}; if that is not fathom follow, delete ${file}.lock`,
    ),
  ]);
  const both = await run('--cursor-file', file, '--cursor', 'x');
  expect([both.status, both.stderr]).toEqual([
    2,
    expect.stringContaining('--cursor: cannot be combined with --cursor-file'),
  ]);
});

const run = (...words: string[]): Promise<Ended> =>
  fathom(['follow', MINT, ...words, '--url', service.url], { FATHOM_KEY: key });
