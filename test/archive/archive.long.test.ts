/** Archived days behind a really started server: the same replies as before, and one clear one where the archive fails. */
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { fathomClient } from '../../client/index.js';
import { hasNats, NatsServers } from '../../bench/nats.js';
import { sampleSegments } from '../../compute/segment/sample.js';
import { DAY_S } from '../../compute/time.js';
import { openObjects } from '../../storage/archive/open-objects.js';
import { backupStore } from '../../storage/backup.js';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import { fathom, newKey, type Server, serve } from '../support/cli.js';
import { NodeProcess } from '../support/cluster.js';
import { LiveClient } from '../support/live-client.js';
import { temporaryDirectory } from '../support/folders.js';
import { MAIN, start } from '../support/processes.js';
import { S3_KEY, S3Server } from '../support/s3-server.js';
import {
  archiveIn,
  bookCells,
  binance,
  commitDelete,
  commitRows,
  DataDirectory,
  EVM_TOKEN,
  MINT,
  openStore,
  orca,
  OTHER_MINT,
  snapshot,
  type SnapshotRow,
  storedSnapshots,
  tamper,
  tokenOf,
} from '../support/stores.js';
import { becomes, eventually } from '../support/waiting.js';
import { T0 } from './days.js';

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const DAYS = 4;
const NOW = T0 + DAYS * DAY_S + 7200;
/** Of three tokens, each of whose closed days becomes one. */
const OBJECTS = 3 * DAYS;
/** Kills of `fathom archive run`: FATHOM_KILLS=500 for a long search. */
const KILLS = Number(process.env.FATHOM_KILLS ?? 10);

/** Four days of three tokens, the last one up to now. */
function history(): SnapshotRow[] {
  const every = (seconds: number) =>
    Array.from({ length: Math.floor((NOW - T0) / seconds) }, (_, i) => T0 + i * seconds);
  const market = (t: number) => [orca(bookCells(t, 30)), binance(bookCells(t + 1, 40))];
  return [
    ...every(300).map((t) => snapshot(t, market(t), { address: MINT })),
    ...every(3600).map((t) => snapshot(t, market(t), { address: OTHER_MINT, tier: '1h' })),
    ...every(1800).map((t) => snapshot(t, market(t), { address: EVM_TOKEN })),
  ];
}

const WINDOW = `from=${T0}&to=${NOW}`;
const PATHS = [
  ...['market', 'venue', 'type', 'all'].map((group) => `/replay/${MINT}?${WINDOW}&group=${group}`),
  `/replay/${MINT}?from=${T0 + DAY_S - 600}&to=${T0 + DAY_S + 600}&min_pct=-5&max_pct=5`,
  `/replay/${OTHER_MINT}?${WINDOW}`,
  `/replay/${EVM_TOKEN}?from=${T0 + 2 * DAY_S}&to=${NOW}&step=1h`,
  `/replay/${MINT}/plan?${WINDOW}`,
  `/coverage/${MINT}`,
  `/depth-series/${MINT}?${WINDOW}&step=1h&pct=2`,
  `/slippage/${MINT}?side=sell&usd=1000&at=${T0 + 5000}`,
];

/** The clock of stores in this process. */
let clockS = NOW;
let source = '';
let key = '';
let s3: S3Server;
const environment = {
  AWS_ACCESS_KEY_ID: S3_KEY.accessKeyId,
  AWS_SECRET_ACCESS_KEY: S3_KEY.secretAccessKey,
};
beforeAll(async () => {
  source = path.join(temporaryDirectory(), 'data');
  const store = await openStore(source);
  await commitRows(store, history(), { cuts: [100, 250, 700, 1300] });
  await store.settled();
  await store.close();
  key = await newKey(source);
  s3 = await S3Server.start();
}, 300_000);
afterAll(() => s3?.close());
beforeEach(() => {
  clockS = NOW;
  s3.fault = () => null;
  s3.objects.clear();
  s3.requests.length = 0;
});

async function withCredentials(body: () => Promise<void>): Promise<void> {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  await body().finally(() => vi.unstubAllEnvs());
}

/** Keys of the days' objects. */
const archivedDays = (): string[] =>
  [...s3.objects.keys()].filter((name) => name.startsWith('fathom/segments/'));

function copyOfSource(): string {
  const copy = path.join(temporaryDirectory(), 'data');
  cpSync(source, copy, { recursive: true });
  return copy;
}

const archiveFlags = (cacheGib: string): string[] => [
  ...['--archive-url', s3.url, '--archive-endpoint', s3.endpoint, '--archive-region', 'test'],
  ...['--archive-after', '1h', '--archive-cache-gib', cacheGib],
];

const serveOn = (data: string, words: readonly string[] = []): Promise<Server> =>
  serve(data, ['--port', '0', '--threads', '1', '--as-of', String(NOW), ...words], {
    env: environment,
  });

interface Answer {
  path: string;
  status: number;
  tag: string | null;
  body: string;
}

async function answers(server: Server, paths = PATHS): Promise<Answer[]> {
  const all: Answer[] = [];
  for (const one of paths) {
    const reply = await server.get(one, key);
    const [tag, body] = [reply.headers.get('etag'), await reply.text()];
    all.push({ path: one, status: reply.status, tag, body });
  }
  return all;
}

async function metric(server: Server, name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}

/** What /readyz says of the server and of its archive. */
async function ready(server: Server): Promise<unknown[]> {
  const reply = await fetch(`${server.url}/readyz`);
  const { status, archive } = (await reply.json()) as { status: string; archive?: string };
  return [status, archive];
}

describe('A server with an archive', () => {
  it.each(['0', '1'])('answers as before, with %s GiB for blocks', async (cacheGib) => {
    const plain = await serveOn(copyOfSource());
    const expected = await answers(plain);
    await plain.stop();
    expect(expected.filter(({ status }) => status !== 200)).toEqual([]);

    const data = copyOfSource();
    let server = await serveOn(data, archiveFlags(cacheGib));
    // The newest day of each token stays.
    await becomes(() => archivedDays().length, OBJECTS);
    await becomes(() => metric(server, 'fathom_archive_days_waiting'), 0);
    expect(await answers(server)).toEqual(expected);
    for (const name of archivedDays()) {
      expect(name).toMatch(
        /^fathom\/segments\/(main|evm)chain\/\w+\/(raw|1h)\/2026-11-\d\d-[0-9a-f]{64}$/,
      );
    }
    const status = (...words: string[]) =>
      fathom(['archive', 'status', '--data', data, '--token', MINT, ...words]);
    const found = JSON.parse((await status('--json')).stdout) as Record<string, unknown>;
    expect(found).toMatchObject({
      archive: s3.url,
      problem: null,
      objects: OBJECTS,
      unused_objects: 0,
      days_due: 0,
      archived_days: [{ tier: 'raw', from: '2026-11-07', to: '2026-11-10', days: DAYS }],
    });
    expect(Number(found.cached_blocks) > 0).toBe(cacheGib === '1');
    const { stdout } = await status();
    expect(stdout).toContain('\nreachable yes, and the newest object can be read\n');
    expect(stdout).toContain('\narchived  raw  2026-11-07 to 2026-11-10  4 days\n');
    const kept = new Map(s3.objects);
    s3.objects.clear();
    const emptied = await status('--json');
    expect([emptied.status, JSON.parse(emptied.stdout)]).toMatchObject([
      1,
      { archive: s3.url, problem: expect.stringContaining('has lost the newest object: ') },
    ]);
    for (const [name, object] of kept) s3.objects.set(name, object);
    await server.stop();

    // A copy of the store serves the whole history at once, without a setting of the archive, and says so.
    const backup = path.join(temporaryDirectory(), 'backup');
    expect(await fathom(['backup', '--data', data, '--out', backup])).toMatchObject({ status: 0 });
    // A look elsewhere is not remembered.
    const elsewhere = ['--archive-url', pathToFileURL(temporaryDirectory()).href];
    const looked = await fathom(['archive', 'status', '--data', backup, ...elsewhere]);
    expect(looked.status).toBe(1);
    expect(looked.stdout).toContain('\nreachable no: the place answers, but has lost the newest');
    const nowhere = ['--archive-url', `${elsewhere[1]}/none`];
    const missed = await fathom(['archive', 'status', '--data', backup, ...nowhere]);
    expect(missed.status).toBe(1);
    expect(missed.stdout).toMatch(
      /\nreachable no: .*\/none cannot .*: the folder does not exist\n/,
    );
    server = await serveOn(backup);
    expect(server.logged()).toContain(
      `${OBJECTS} archived days, but no archive is configured: they are read in ${s3.url}`,
    );
    expect(await answers(server)).toEqual(expected);
    expect(await fathom(['check', '--data', backup, '--archive'], environment)).toMatchObject({
      status: 0,
    });

    const object = s3.objects.get(archivedDays()[0])!;
    const whole = Buffer.from(object.bytes);
    object.bytes[object.bytes.length >> 1] ^= 1;
    const checked = await fathom(['check', '--data', backup, '--archive'], environment);
    expect(checked.status).toBe(1);
    expect(checked.stderr).toContain('the checksum of bytes');
    object.bytes.set(whole);
    await server.stop();
  });

  it.each([
    ['refuses', { status: 403, code: 'AccessDenied' }],
    ['is busy', { status: 503, code: 'SlowDown' }],
    ['cuts what it sends', 'cut' as const],
    ['sends other bytes', 'flip' as const],
    ['has lost its objects', { status: 404, code: 'NoSuchKey' }],
  ])('whose bucket %s says so, and answers the rest', async (_, fault) => {
    const data = copyOfSource();
    const server = await serveOn(data, [...archiveFlags('0'), '--blocks-memory-mib', '0']);
    const expected = await answers(server);
    await becomes(() => archivedDays().length, OBJECTS);
    await becomes(() => metric(server, 'fathom_archive_days_waiting'), 0);
    s3.fault = (method) => (method === 'GET' ? fault : null);
    const old = await server.get(`/replay/${MINT}?from=${T0}&to=${T0 + 3600}&venues=orca`, key);
    expect([old.status, old.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await old.json()).toMatchObject({ error_code: 'archive_unavailable' });
    // A lost bucket shows as lost objects only.
    expect(await ready(server)).toEqual(['ready', 'unreadable']);
    for (const one of [
      `/replay/${MINT}?from=${T0 + DAYS * DAY_S}&to=${NOW}`,
      `/replay/${MINT}/plan?${WINDOW}`,
      `/score/${MINT}`,
      `/coverage/${MINT}`,
    ]) {
      expect((await server.get(one, key)).status).toBe(200);
    }
    expect(await metric(server, 'fathom_archive_failures_total')).toBeGreaterThan(0);
    const live = await LiveClient.open(server.url, key);
    live.send({ op: 'subscribe', id: 'a', channel: 'depth', address: MINT, from: T0 });
    expect(await live.next(({ type }) => type !== 'subscribed')).toMatchObject({
      type: 'error',
      error_code: 'archive_unavailable',
      retry_ms: 5000,
    });
    live.socket.terminate();
    let waits = (): void => undefined;
    const failed = new Promise<void>((resolve) => (waits = resolve));
    const client = fathomClient({ url: server.url, key, onWait: () => waits() });
    const following = client.follow(MINT, { from: T0 });
    const first = following.next();
    await failed;
    s3.fault = () => null;
    expect((await first).value).toMatchObject({ type: 'snapshots', snapshots: { 0: { t: T0 } } });
    await following.return(undefined);
    // A failure answers others for a moment.
    await eventually('the archive answers again', async () => {
      return (await server.get(PATHS[1], key)).status === 200;
    });
    expect(await answers(server)).toEqual(expected);
    expect(await ready(server)).toEqual(['ready', 'ok']);
    await server.stop();
  });

  it('keeps what it cannot write or read back', async () => {
    const data = copyOfSource();
    const server = await serveOn(data, archiveFlags('0'));
    s3.fault = (method) => (method === 'PUT' ? { status: 403, code: 'AccessDenied' } : 'flip');
    const fails = () => metric(server, 'fathom_archive_fails');
    await eventually('archiving fails', async () => (await fails()) === 1, 50);
    expect(server.logged()).toContain('archiving fails and is tried again');
    const status = async () => {
      const { stdout } = await fathom(['archive', 'status', '--data', data, '--json']);
      return JSON.parse(stdout) as Record<string, unknown>;
    };
    expect(await status()).toMatchObject({
      problem: null,
      last_error: expect.stringContaining('AccessDenied') as string,
      days_due: OBJECTS,
    });
    const reply = await server.get(`/replay/${MINT}?${WINDOW}`, key);
    expect(reply.status).toBe(200);
    await server.stop();
  });
});

describe('A damaged day', () => {
  it('stays, and does not keep the others from the archive', async () => {
    const data = copyOfSource();
    await tamper(
      path.join(data, DATABASE_FILE),
      `UPDATE segment_parts SET data = unhex('00' || substr(hex(data), 3))
       WHERE part = 1 AND segment_id = (SELECT min(segment_id) FROM segment_parts)`,
    );
    const server = await serveOn(data, archiveFlags('0'));
    await eventually('the damage is logged', () =>
      server.logged().includes('a day cannot be archived'),
    );
    await eventually(
      () => `the other days are archived: ${[...s3.objects.keys()].join('\n')}\n${server.logged()}`,
      () => archivedDays().length >= OBJECTS - 2,
      50,
    );
    await server.stop();
  });
});

describe('Changes of archived days', () => {
  it('are archived again, and objects that nothing names go', async () => {
    const data = new DataDirectory();
    const objects = temporaryDirectory();
    const archive = archiveIn(objects, () => clockS);
    const store = await openStore(data.path, { archive });
    await commitRows(store, history());
    const archiveAll = async (): Promise<void> => {
      while ((await store.archiveNext(false)) !== null);
    };
    await archiveAll();
    // Long series need no object: the entries had the samples.
    const sampled = await store['parts'].database.rows(
      'SELECT segment_id, segment_samples.data FROM segment_samples JOIN segments USING (segment_id) WHERE object_id IS NOT NULL',
    );
    expect(sampled.length).toBeGreaterThan(DAYS);
    for (const [id, sample] of sampled as [number, Uint8Array][]) {
      const [block] = await store.depth.readSegments([id]);
      const [made] = sampleSegments([{ segmentId: id, block, crc32: crc32(block) }]);
      expect(Buffer.compare(sample, made!)).toBe(0);
    }
    const late = T0 + DAY_S + 450;
    await commitRows(store, [snapshot(late, [orca([[3, 0, 99]])])]);
    await commitDelete(store, { address: OTHER_MINT, fromS: T0, toS: T0 + DAY_S });
    const before = await storedSnapshots(store, tokenOf(store));
    expect(before.find(({ t }) => t === late)?.cells).toEqual([[0, 3, 0, 9900]]);
    await archiveAll();
    expect(await storedSnapshots(store, tokenOf(store))).toEqual(before);
    // Two objects are no longer named: of the late day and of the deleted one.
    expect(await store.archiveStatus()).toMatchObject({ objects: OBJECTS - 1, unused: 2, due: 0 });
    clockS = Math.ceil(Date.now() / 1000) + 1;
    expect(await store.collectObjects(0, false)).toBe(0);
    expect(await store.collectObjects(Infinity, false)).toBe(2);
    clockS = NOW;
    expect(await store.archiveStatus()).toMatchObject({ objects: OBJECTS - 1, unused: 0 });
    expect(await storedSnapshots(store, tokenOf(store))).toEqual(before);

    // The refusal of a change names all of what a lost object held, in whichever of its segments the change is.
    const folder = path.join(objects, 'segments', 'mainchain', MINT, 'raw');
    const lost = readdirSync(folder).find((name) => name.startsWith('2026-11-09'))!;
    rmSync(path.join(folder, lost));
    const wayOut = '--tier raw --from 2026-11-09T00:00:00Z --to 2026-11-09T23:55:01Z';
    for (const rehearse of [false, true]) {
      for (const t of [T0 + 2 * DAY_S + 450, T0 + 3 * DAY_S - 450]) {
        const changing = commitRows(store, [snapshot(t, [orca([[3, 0, 99]])])], { rehearse });
        await expect(changing).rejects.toThrow(wayOut);
      }
      const part = { address: MINT, fromS: T0 + 2 * DAY_S + 450, toS: T0 + 2 * DAY_S + 900 };
      await expect(commitDelete(store, part, { rehearse })).rejects.toThrow(wayOut);
    }
    await commitDelete(store, { address: MINT, fromS: T0 + 2 * DAY_S, toS: T0 + 3 * DAY_S });
    await store.close();
    data.remove();
    rmSync(objects, { recursive: true });
  });
});

describe('Objects that no entry names', () => {
  it('are removed by fathom archive collect --unnamed after the grace, and no others', async () => {
    const data = copyOfSource();
    const place = await openObjects({
      url: s3.url,
      endpoint: s3.endpoint,
      region: 'test',
      credentialsFile: null,
    });
    const stray = `segments/mainchain/${MINT}/raw/2026-11-07-${'0'.repeat(64)}`;
    const write = () => place.put(stray, Uint8Array.of(1), sha256Of(Uint8Array.of(1)));
    await withCredentials(write);
    s3.listedAtOnce = 5;
    const run = (words: readonly string[], ...more: string[]) =>
      fathom(['archive', ...words, '--data', data, ...archiveFlags('0'), ...more], environment);
    expect(await run(['run'])).toMatchObject({ status: 0 });
    expect(await run(['collect'])).toMatchObject({ stderr: 'removed 0 objects\n' });
    /** After which only the flag finds what the store never named. */
    const swept = (...more: string[]) => run(['collect'], '--unnamed', ...more);
    s3.objects.get(`fathom/${stray}`)!.writtenMs -= 8 * DAY_S * 1000;
    for (const since of ['-30d', 'now']) {
      expect(await run(['collect'], '--keep-since', since)).toMatchObject({
        stderr: 'removed 0 objects\n',
      });
    }
    expect(await run(['collect'], '--keep-since', '-30d')).toMatchObject({ status: 0 });
    expect(await swept()).toMatchObject({ stderr: 'removed 0 objects\n' });
    expect(await run(['collect'], '--keep-since', 'now')).toMatchObject({ status: 0 });
    expect(await swept()).toMatchObject({ stderr: 'removed 1 object\n' });
    for (const [, object] of s3.objects) object.writtenMs -= 100 * DAY_S * 1000;
    expect(await swept()).toMatchObject({ stderr: 'removed 0 objects\n' });
    expect(archivedDays().length).toBe(OBJECTS);
    const words = ['check', '--data', data, '--archive'];
    expect(await fathom(words, environment)).toMatchObject({ status: 0 });
  });
});

describe('A copy of a store', () => {
  it('removes none of the objects, unless it takes them over', async () => {
    const data = new DataDirectory();
    const objects = temporaryDirectory();
    const store = await openStore(data.path, { archive: archiveIn(objects, () => clockS) });
    await commitRows(store, history());
    while ((await store.archiveNext(false)) !== null);
    clockS = Math.ceil(Date.now() / 1000) + 1;
    expect(await store.archiver?.collect()).toBe(0);
    const expected = await storedSnapshots(store, tokenOf(store));
    const copy = path.join(temporaryDirectory(), 'copy');
    await backupStore({ directory: data.path, useStore: (body) => body(store), out: copy });

    const other = await openStore(copy, { archive: archiveIn(objects, () => clockS) });
    // Even before its first own change: what the original has archived since the backup would be nobody's.
    await expect(other.archiver?.collect()).rejects.toThrow('belong to another store');
    await expect(other.archiver?.sweep(null)).rejects.toThrow('belong to another store');
    await commitDelete(other, { address: MINT, fromS: T0, toS: T0 + DAY_S });
    await expect(other.archiver?.collect()).rejects.toThrow('belong to another store');
    expect(await storedSnapshots(store, tokenOf(store))).toEqual(expected);
    await expect(other.collectObjects(null, false)).rejects.toThrow('collect --take-over');
    expect(await other.collectObjects(null, true)).toBe(1);
    await expect(store.archiver?.collect()).rejects.toThrow('belong to another store');
    await other.close();
    await store.close();
    data.remove();
    rmSync(objects, { recursive: true });
  });
});

describe('Two stores in one prefix', () => {
  it('lose nothing by what the other removes, unless it is told to remove the unnamed', async () => {
    const data = copyOfSource();
    const copy = path.join(temporaryDirectory(), 'copy');
    const run = (own: string, ...words: string[]) =>
      fathom(['archive', ...words, '--data', own, ...archiveFlags('0')], environment);
    const isWhole = async (own: string): Promise<void> => {
      const checked = await fathom(['check', '--data', own, '--archive'], environment);
      expect(checked).toMatchObject({ status: 0 });
    };
    /** Another row of the first day, which becomes another object. */
    const change = async (own: string, bin: number): Promise<void> => {
      const file = path.join(temporaryDirectory(), 'late.ndjson');
      const row = snapshot(T0 + 450, [orca([[bin, 0, 99]])]);
      writeFileSync(file, JSON.stringify(row));
      const loaded = await fathom(['ingest', 'snapshots', file, '--data', own], environment);
      expect(loaded).toMatchObject({ status: 0 });
      expect(await run(own, 'run')).toMatchObject({ status: 0 });
    };
    // Whoever archives first is the owner, even if it has yet to collect.
    expect(await run(data, 'run')).toMatchObject({ status: 0 });
    expect(await fathom(['backup', '--data', data, '--out', copy])).toMatchObject({ status: 0 });
    expect((await run(copy, 'collect', '--unnamed')).stderr).toContain('another store');
    await change(copy, 3);
    await change(data, 4);
    expect(archivedDays().length).toBe(OBJECTS + 2);
    for (const [, object] of s3.objects) object.writtenMs -= 100 * DAY_S * 1000;

    expect(await run(data, 'collect')).toMatchObject({ stderr: 'removed 0 objects\n' });
    await isWhole(copy);
    expect((await run(copy, 'collect')).stderr).toContain('collect --take-over');
    const both = await run(copy, 'collect', '--take-over', '--unnamed');
    expect([both.status, both.stderr]).toEqual([1, expect.stringContaining('--unnamed: not with')]);
    const taken = await run(copy, 'collect', '--take-over');
    expect(taken).toMatchObject({ stderr: 'removed 0 objects\n' });
    await isWhole(data);
    expect((await run(data, 'collect', '--unnamed')).stderr).toContain('another store');
    expect(await run(copy, 'collect', '--unnamed')).toMatchObject({
      stderr: 'removed 1 object\n',
    });
    await isWhole(copy);
  });

  it('have the owner that they had if its name cannot be read whole', async () => {
    const data = copyOfSource();
    const run = (...words: string[]) =>
      fathom(['archive', ...words, '--data', data, ...archiveFlags('0')], environment);
    const owner = { bytes: Buffer.from('another'), writtenMs: Date.now() };
    s3.objects.set('fathom/owner', owner);
    expect((await run('collect')).status).toBe(1);
    expect(s3.objects.get('fathom/owner')).toBe(owner);
    expect(await run('run')).toMatchObject({ status: 0 });
    expect(s3.objects.get('fathom/owner')).toBe(owner);
    expect(await run('collect', '--take-over')).toMatchObject({ status: 0 });
    expect(await run('collect')).toMatchObject({ status: 0 });
  });
});

describe('A lost object', () => {
  const late = (day: number): SnapshotRow => snapshot(T0 + day * DAY_S + 450, [orca([[3, 0, 99]])]);

  it('keeps no other day from the archive', async () => {
    const data = copyOfSource();
    const objects = temporaryDirectory();
    const flags = ['--data', data, '--archive-url', pathToFileURL(objects).href];
    const run = () => fathom(['archive', 'run', ...flags, '--archive-after', '1h', '--json']);
    expect(await run()).toMatchObject({ status: 0 });
    const file = path.join(temporaryDirectory(), 'late.ndjson');
    writeFileSync(file, [0, 1, 2].map((day) => JSON.stringify(late(day))).join('\n'));
    const loaded = await fathom(['ingest', 'snapshots', file, '--data', data]);
    expect(loaded).toMatchObject({ status: 0 });
    const folder = path.join(objects, 'segments', 'mainchain', MINT, 'raw');
    for (const name of readdirSync(folder))
      if (name.startsWith('2026-11-07')) rmSync(path.join(folder, name));

    for (const days of [2, 0]) {
      const { status, stdout, stderr } = await run();
      expect(status).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({ days, failed_days: 1 });
      expect(stderr).toMatch(/fathom delete .*--tier raw --from 2026-11-07T/);
      expect(stderr).toMatch(/1 day could not be archived\n$/);
    }
    // What one process could not archive, its next run tries again.
    const archive = archiveIn(objects, () => NOW);
    const store = await openStore(data, { archive });
    for (const beginsRun of [false, false, true, false]) {
      const next = await store.archiveNext(beginsRun);
      if (beginsRun) expect(next?.failure).toContain('fathom delete');
    }
    expect(await store.archiveNext(false)).toBeNull();
    await store.close();
  });

  it('keeps no other day from archive restore and export, and is named with the way out', async () => {
    const data = copyOfSource();
    const objects = temporaryDirectory();
    const place = pathToFileURL(objects).href;
    const onData = async (...words: string[]) => {
      const { status, stdout, stderr } = await fathom([...words, '--data', data, '--json']);
      return { status, stderr, document: JSON.parse(stdout) as Record<string, unknown> };
    };
    await onData('archive', 'run', '--archive-url', place, '--archive-after', '1h');
    const copied = await onData('backup', '--out', path.join(temporaryDirectory(), 'copy'));
    const archived = (await onData('archive', 'status')).document;
    expect(copied.document.not_copied).toEqual({
      archive: archived.archive,
      objects: OBJECTS,
      object_bytes: archived.object_bytes,
    });
    expect(copied.stderr).toMatch(
      new RegExp(
        `^not in it: ${OBJECTS} objects of archived days, [\\d.]+ \\w+, which .*${objects}$`,
        'm',
      ),
    );
    const folder = path.join(objects, 'segments', 'mainchain', MINT, 'raw');
    const [lost] = readdirSync(folder).filter((name) => name.startsWith('2026-11-08'));
    renameSync(path.join(folder, lost), path.join(objects, lost));

    // Beside a server, too, the first file of the lost day keeps no later one from the folder.
    const out = path.join(temporaryDirectory(), 'out');
    const file = `cells/chain=mainchain/date=2026-11-08/${MINT}-raw.parquet`;
    const exporting = (...words: string[]) =>
      onData('export', '--out', out, '--dataset', 'cells', '--as-of', String(NOW), ...words);
    const server = await serveOn(data, ['--archive-cache-gib', '0']);
    const first = await exporting();
    await server.stop();
    expect(first).toMatchObject({ status: 1, document: { failed: 1 } });
    expect(first.stderr).toMatch(
      new RegExp(
        `^${file}: .*${lost}.*put the object back.*docs/recovering.md#.*\\n1 file was not written`,
        'm',
      ),
    );
    const written = Number(first.document.written);
    expect(await exporting()).toMatchObject({
      status: 1,
      document: { written: 0, unchanged: written, failed: 1 },
    });

    const restoring = () => onData('archive', 'restore', '--from', '2026-11-01', '--to', 'now');
    const restored = await restoring();
    expect(restored).toMatchObject({
      status: 1,
      document: { days: OBJECTS - 1, failed_days: 1 },
    });
    expect(restored.stderr).toMatch(/raw {2}2026-11-08 {2}not restored/);
    expect(restored.stderr).toMatch(/fathom delete .*--tier raw --from 2026-11-08T/);
    expect(restored.stderr).toMatch(/\n1 day could not be restored\n$/);
    renameSync(path.join(objects, lost), path.join(folder, lost));
    expect(await exporting()).toMatchObject({ status: 0, document: { written: 1 } });
    expect(await restoring()).toMatchObject({ status: 0, document: { days: 1, failed_days: 0 } });
    expect((await onData('archive', 'status')).document).toMatchObject({
      objects: 0,
      unused_objects: OBJECTS,
    });
  });

  it('is one of twenty that fathom check --archive names', async () => {
    const data = path.join(temporaryDirectory(), 'data');
    const objects = temporaryDirectory();
    const store = await openStore(data, { archive: archiveIn(objects, () => NOW) });
    const days = Array.from({ length: 30 }, (_, i) => T0 - i * DAY_S);
    await commitRows(
      store,
      days.map((t) => snapshot(t, [orca([[3, 0, 99]])])),
    );
    while ((await store.archiveNext(false)) !== null);
    await store.close();
    rmSync(path.join(objects, 'segments'), { recursive: true });
    const check = ['check', '--archive', '--data', data];
    const document = JSON.parse((await fathom([...check, '--json'])).stdout) as {
      damage_count: number;
      damaged: unknown[];
    };
    expect(document.damage_count).toBeGreaterThan(20);
    expect(document.damaged.length).toBe(document.damage_count);
    const { status, stderr } = await fathom(check);
    const lines = stderr.trim().split('\n');
    expect([status, lines.length]).toEqual([1, 22]);
    expect(lines[20]).toBe(`and ${document.damage_count - 20} more`);
    expect(lines[21]).toContain('is damaged in');
  });
});

describe('fathom archive run', () => {
  it('that is killed at any moment loses nothing', async () => {
    const data = copyOfSource();
    const objects = temporaryDirectory();
    const flags = ['--data', data, '--archive-url', pathToFileURL(objects).href];
    const words = ['archive', 'run', ...flags, '--archive-after', '1h'];
    /** @param again whether a store with nothing left to archive gets all of it back */
    const stored = async (again = false) => {
      const store = await openStore(data);
      const all = [];
      for (const address of [MINT, OTHER_MINT, EVM_TOKEN])
        all.push(await storedSnapshots(store, tokenOf(store, address)));
      const archived = await store.archivedWindows(null, 0, 2 ** 32);
      if (again && archived.length === OBJECTS)
        for (const window of archived) await store.restoreArchived(window);
      await store.close();
      return all;
    };
    const expected = await stored();
    const run = () => {
      const child = start(process.execPath, [MAIN, ...words]);
      return { child, ended: new Promise((resolve) => child.once('close', resolve)) };
    };
    const beganMs = performance.now();
    await run().ended;
    const lastsMs = performance.now() - beganMs;
    expect(await stored(true)).toEqual(expected);
    for (let kill = 0; kill < KILLS; kill++) {
      const { child, ended } = run();
      await sleep(Math.random() * lastsMs);
      child.kill('SIGKILL');
      await ended;
      expect(await stored(true)).toEqual(expected);
    }
    expect(await fathom(words)).toMatchObject({ status: 0 });
    expect(await stored()).toEqual(expected);
    expect(await fathom(['check', '--data', data, '--archive'])).toMatchObject({ status: 0 });
    const restored = await fathom([
      'archive',
      'restore',
      ...flags,
      '--from',
      String(T0),
      '--to',
      String(NOW),
      '--json',
    ]);
    expect(JSON.parse(restored.stdout)).toMatchObject({ days: OBJECTS });
    rmSync(objects, { recursive: true });
    expect(await stored()).toEqual(expected);
  });
});

/** The whole history of a token as a node shows it, with its tag. */
async function shownBy({ directory, url }: NodeProcess): Promise<string> {
  const made = await fathom([
    'keys',
    'create',
    '--tier',
    'enterprise',
    '--data',
    directory.path,
    '--json',
  ]);
  const { key: own } = JSON.parse(made.stdout) as { key: string };
  const reply = await fetch(`${url}/api/v1/replay/${MINT}?${WINDOW}&venues=orca`, {
    headers: { 'x-api-key': own },
  });
  return `${reply.status} ${reply.headers.get('etag')} ${await reply.text()}`;
}

describe.skipIf(!hasNats)('The nodes of a cluster', () => {
  it('name the same objects, and each serves all of them', async () => {
    const servers = await NatsServers.start(1);
    const names = ['a', 'b', 'c'];
    const variables = {
      ...environment,
      FATHOM_AS_OF: String(NOW),
      FATHOM_ARCHIVE_URL: s3.url,
      FATHOM_ARCHIVE_ENDPOINT: s3.endpoint,
      FATHOM_ARCHIVE_AFTER: '1h',
    };
    const nodes: NodeProcess[] = [];
    try {
      for (const name of names) nodes.push(await NodeProcess.start(name, servers.urls, variables));
      for (const node of nodes) await node.ready(1);
      const file = path.join(temporaryDirectory(), 'all.ndjson');
      writeFileSync(
        file,
        history()
          .map((row) => JSON.stringify(row))
          .join('\n'),
      );
      const [first] = nodes;
      const loaded = await fathom(['ingest', 'snapshots', file, '--data', first.directory.path]);
      expect(loaded).toMatchObject({ status: 0 });
      // All at once: each would archive everything if it were alone.
      const runs = nodes.map(({ directory }) =>
        fathom(['archive', 'run', '--data', directory.path, '--json']),
      );
      const archived = (await Promise.all(runs)).map(({ stdout }) => {
        return (JSON.parse(stdout) as { days: number }).days;
      });
      // Each day was written by one node, or by two that began it at the same moment.
      expect(archived.reduce((sum, days) => sum + days, 0)).toBeLessThanOrEqual(OBJECTS + 2);
      const written = s3.requests.filter((one) => one.startsWith('PUT fathom/segments/'));
      expect(written.length).toBeLessThanOrEqual(OBJECTS + 2);
      for (const node of nodes) {
        const due = async () => {
          const words = ['archive', 'status', '--data', node.directory.path, '--json'];
          const { objects, days_due } = JSON.parse((await fathom(words)).stdout) as {
            objects: number;
            days_due: number;
          };
          return [objects, days_due];
        };
        await becomes(due, [OBJECTS, 0]);
      }
      expect(archivedDays().length).toBe(OBJECTS);
      const stored = await Promise.all(nodes.map((node) => shownBy(node)));
      expect(new Set(stored).size).toBe(1);
    } finally {
      for (const node of nodes) await node.close();
      await servers.close();
    }
  });
});
