/** Fragments on disk: a cache that survives restarts, and that nothing which happens to its files makes lie. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ComputePool, startPool } from '../../compute/pool.js';
import { makeFragments } from '../../compute/replay/fragment-maker.js';
import {
  FRAGMENTS_VERSION,
  type FragmentsKey,
  packFragments,
  unpackFragments,
} from '../../compute/replay/fragment-file.js';
import { renderPage } from '../../compute/replay/render.js';
import { encodeSegment } from '../../compute/segment/segment.js';
import { FragmentFiller } from '../../server/replay/fragment-filler.js';
import { Fragments } from '../../server/replay/fragments.js';
import { FragmentsAdmission } from '../../server/replay/fragments-admission.js';
import { readOfPlan } from '../../server/replay/page-plan.js';
import type { PageIdentity } from '../../server/replay/representation.js';
import type { DepthSource } from '../../storage/contract.js';
import {
  FragmentFiles,
  type FragmentFilesOptions,
  fragmentFileOf,
  FRAGMENTS_FOLDER,
} from '../../storage/fragment-files.js';
import type { Store } from '../../storage/store.js';
import { envelopeOf, plainRequest, queryOf, runOf, stores } from '../compute/replay-stores.js';
import type { PlainStore } from '../reference/replay.js';
import { logInto } from '../support/log.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MINT, NOW_S, steadyStore } from '../support/service.js';
import { hasSmallDisks, SmallDisk } from '../support/small-disk.js';
import {
  commitDelete,
  commitRows,
  DataDirectory,
  openStore,
  orca,
  snapshot,
} from '../support/stores.js';

const GZIP = { group: 'market', coding: 'gzip' } as const;
const logged: string[] = [];
const log = logInto(logged);
const opened: Fragments[] = [];
let pool: ComputePool;
let data: DataDirectory;
/** What onTrouble was told. */
let troubles: unknown[];

beforeAll(async () => {
  const onError = (error: Error) => {
    throw error;
  };
  pool = await startPool({ threads: 1, onError });
});
afterAll(() => pool.close());

beforeEach(() => {
  data = new DataDirectory();
  mkdirSync(data.path);
  troubles = [];
});
afterEach(async () => {
  await closeAll();
  data.remove();
  expect(logged.splice(0)).toEqual([]);
});

async function closeAll(): Promise<void> {
  for (const fragments of opened.splice(0)) await fragments.close();
}

/** Opens the files as a start of the server does. */
function openFiles(options: Partial<FragmentFilesOptions> = {}): Promise<FragmentFiles> {
  return FragmentFiles.open({
    directory: data.path,
    maxBytes: 2 ** 30,
    keptFreeBytes: 0,
    stored: (ids) => Promise.resolve(new Set(ids)),
    onTrouble: (error) => void troubles.push(error),
    ...options,
  });
}

function open(depth: DepthSource, files: FragmentFiles | null, memoryBytes = 2 ** 26): Fragments {
  const fragments = new Fragments({ pool, depth, log, memoryBytes, files });
  opened.push(fragments);
  return fragments;
}

const folder = (): string => path.join(data.path, FRAGMENTS_FOLDER);
const filesOf = (): string[] => readdirSync(folder()).sort();

async function pageOf(
  fragments: Fragments,
  depth: DepthSource,
  {
    from = NOW_S - 86_400,
    to = NOW_S + 1,
    group = 'market',
  }: { from?: number; to?: number; group?: 'market' | 'all' } = {},
): Promise<Uint8Array | null> {
  const request = plainRequest(from, to, { group });
  const page: PageIdentity = {
    ...{ query: queryOf(request), envelope: envelopeOf(request) },
    ...{ format: 'json', encoding: 'gzip' },
  };
  const tokenId = depth.token('mainchain', MINT)?.tokenId as number;
  const plan = await depth.plan({
    ...{ tokenId, fromS: from, toS: to, nowS: NOW_S, maxSnapshots: 288 },
  });
  const made = await fragments.page(plan, page);
  if (made === null) return null;
  const part = readOfPlan(plan, page.query, Infinity);
  const rendered = renderPage({
    ...{ ...page, ...part, encoding: 'identity', markets: plan.markets },
    segments: await depth.readSegments(part.segmentIds),
  });
  if (rendered.status !== 'done') throw new Error(rendered.status);
  expect(zlib.gunzipSync(made.body).equals(rendered.body)).toBe(true);
  return made.body;
}

/** Asks until fragments are there. */
async function warm(fragments: Fragments, depth: DepthSource): Promise<void> {
  for (let i = 0; i < 2; i++) {
    expect(await pageOf(fragments, depth)).toBeNull();
    await fragments.idle();
  }
}

function depthOf(store: PlainStore = steadyStore(12, 20)): MemoryDepth {
  const depth = new MemoryDepth();
  depth.add('mainchain', MINT, store, { perSegment: 4 });
  return depth;
}

function packed(segmentId: number, snapshots = 3): Uint8Array {
  const { snapshots: own, markets } = steadyStore(snapshots, 4);
  const segment = encodeSegment(runOf('raw', own));
  const made = makeFragments({ segment, ...GZIP, marketCount: markets.length });
  return packFragments(segmentId, made);
}

describe('packed fragments', () => {
  it('are what they were, and no others', () => {
    const { snapshots, markets } = steadyStore(5, 10);
    const segment = encodeSegment(runOf('raw', snapshots));
    for (const group of ['market', 'all'] as const) {
      for (const coding of ['gzip', 'br'] as const) {
        const made = makeFragments({ segment, group, coding, marketCount: markets.length });
        const key = { segmentId: 2 ** 40 + 7, group, coding };
        const bytes = packFragments(key.segmentId, made);
        expect(unpackFragments(bytes, key)).toEqual(made);
        expect(unpackFragments(bytes, { ...key, segmentId: 7 })).toBeNull();
        const other = coding === 'br' ? 'gzip' : 'br';
        expect(unpackFragments(bytes, { ...key, coding: other })).toBeNull();
      }
    }
  });

  it('are refused when any byte differs, or is missing', () => {
    const bytes = packed(1);
    const key = { segmentId: 1, ...GZIP };
    const isRefused = (damaged: Uint8Array) => unpackFragments(damaged, key) === null;
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const damaged = Uint8Array.from(bytes);
        damaged[at] ^= flip;
        return isRefused(damaged) && isRefused(bytes.slice(0, at));
      }),
    );
    expect(isRefused(bytes)).toBe(false);
  });

  it('have another version when they are other bytes', () => {
    const bytes = packed(1);
    // If this fails, fragments have changed: raise FRAGMENTS_VERSION, or files of another build are served.
    expect([FRAGMENTS_VERSION, bytes.length, zlib.crc32(bytes)]).toEqual([1, 1787, 3745447289]);
  });
});

describe('fragments on disk', () => {
  it('serve the first page after a restart, without a thread and without a segment', async () => {
    const depth = depthOf();
    const before = open(depth, await openFiles());
    await warm(before, depth);
    const body = await pageOf(before, depth);
    await closeAll();
    const files = await openFiles();
    const fragments = open(depth, files);
    const posted = pool.postedTasks;
    const again = await pageOf(fragments, depth);
    expect(again).toEqual(body);
    expect([pool.postedTasks - posted, files.count, files.reads]).toEqual([0, 3, 3]);
    // From memory.
    expect(await pageOf(fragments, depth)).toEqual(body);
    expect(files.reads).toBe(3);
  });

  it('serve every page where memory holds a part of one', async () => {
    const depth = depthOf();
    const files = await openFiles();
    const fragments = open(depth, files, 10_000);
    await warm(fragments, depth);
    const posted = pool.postedTasks;
    for (let i = 0; i < 5; i++) expect(await pageOf(fragments, depth)).not.toBeNull();
    expect(fragments.memoryBytes).toBeLessThanOrEqual(10_000);
    expect([pool.postedTasks, files.reads >= 10]).toEqual([posted, true]);
  });

  const spoilers: [string, (file: string, others: string[]) => void][] = [
    ['cut short', (file) => truncateSync(file, 100)],
    ['emptied', (file) => truncateSync(file, 0)],
    ['made longer', (file) => writeFileSync(file, 'x', { flag: 'a' })],
    ['with a flipped byte', (file) => flip(file, 1000)],
    ['with a flipped byte in its head', (file) => flip(file, 5)],
    ['removed', (file) => rmSync(file)],
    ["replaced by another segment's", (file, [other]) => replaceBy(file, other)],
  ];
  it.each(spoilers)('a file %s is not served, but made again', async (_, spoil) => {
    const depth = depthOf();
    const before = open(depth, await openFiles());
    await warm(before, depth);
    await closeAll();
    const [first, ...others] = filesOf().map((name) => path.join(folder(), name));
    spoil(first, others);
    const fragments = open(depth, await openFiles());
    await warm(fragments, depth);
    expect(await pageOf(fragments, depth)).not.toBeNull();
    await closeAll();
    const posted = pool.postedTasks;
    expect(await pageOf(open(depth, await openFiles()), depth)).not.toBeNull();
    expect(pool.postedTasks).toBe(posted);
  });

  it('of an id that a segment had before are not served', async () => {
    const before = depthOf();
    await warm(open(before, await openFiles()), before);
    await closeAll();
    // Another store gives its segments the same ids.
    const store = steadyStore(12, 20);
    store.snapshots[5].cells[7].support += 1n;
    const depth = depthOf(store);
    const fragments = open(depth, await openFiles());
    await warm(fragments, depth);
    expect(await pageOf(fragments, depth)).not.toBeNull();
    expect(await pageOf(open(depth, await openFiles()), depth)).not.toBeNull();
  });

  it('may lose their folder under a running server', async () => {
    const depth = depthOf();
    const fragments = open(depth, await openFiles(), 10_000);
    await warm(fragments, depth);
    rmSync(folder(), { recursive: true });
    // Twice for those that are not in memory, and twice for the others.
    for (let i = 0; i < 4; i++) {
      await pageOf(fragments, depth);
      await fragments.idle();
    }
    expect(await pageOf(fragments, depth)).not.toBeNull();
    expect(filesOf().length).toBe(3);
    expect(troubles).toEqual([]);
  });

  it('are whole after kill -9 in the middle of writing', async () => {
    const segment = encodeSegment(runOf('raw', steadyStore(12, 20).snapshots));
    const script = path.resolve('test/support/write-fragments.mjs');
    const child = spawn(process.execPath, [
      script,
      data.path,
      Buffer.from(segment).toString('base64'),
    ]);
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    writeFileSync(path.join(folder(), '7-market-100.gzip.3.new'), 'x');
    const files = await openFiles();
    await files.settled();
    expect(filesOf().filter((name) => fragmentFileOf(name) === null)).toEqual([]);
    expect(files.count).toBe(50);
    for (let segmentId = 1; segmentId <= 50; segmentId++) {
      const key = { segmentId, ...GZIP };
      expect(unpackFragments((await files.read(key)) as Uint8Array, key)).not.toBeNull();
    }
  });

  it('are the pages without them, whatever the history', async () => {
    await fc.assert(
      fc.asyncProperty(stores, fc.integer({ min: 1, max: 9 }), async (store, perSegment) => {
        rmSync(folder(), { recursive: true, force: true });
        const depth = new MemoryDepth();
        depth.add('mainchain', MINT, store, { perSegment });
        const asked = store.snapshots.filter((_, s) => s % 5 === 0).map(({ t }) => t);
        const bodies: (Uint8Array | null)[][] = [];
        for (const files of [null, await openFiles(), await openFiles()]) {
          const fragments = open(depth, files, files === null ? 2 ** 26 : 20_000);
          const own: (Uint8Array | null)[] = [];
          for (const group of ['market', 'all'] as const) {
            for (const t of asked) {
              const options = { from: Math.max(t, NOW_S - 9_000_000), group };
              for (let i = 0; i < 3; i++) {
                await pageOf(fragments, depth, options);
                await fragments.idle();
              }
              own.push(await pageOf(fragments, depth, options));
            }
          }
          bodies.push(own);
          await fragments.close();
        }
        expect(bodies[1]).toEqual(bodies[0]);
        expect(bodies[2]).toEqual(bodies[0]);
      }),
      { numRuns: 8 },
    );
  });
});

function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at % bytes.length] ^= 1;
  writeFileSync(file, bytes);
}

/** As a copy between folders would: the name tells the length of what it holds. */
function replaceBy(file: string, other: string): void {
  const bytes = Number(path.basename(other).split('-')[2].split('.')[0]);
  const name = path.basename(file).replace(/-[0-9]+\./, `-${bytes}.`);
  rmSync(file);
  copyFileSync(other, path.join(path.dirname(file), name));
}

describe('the folder', () => {
  const key = (segmentId: number): FragmentsKey => ({ segmentId, ...GZIP });

  it('keeps its bound: what nobody asked for goes first, the oldest segments before others', async () => {
    const bytes = packed(1).length;
    const files = await openFiles({ maxBytes: 4 * bytes });
    for (const id of [3, 1, 4, 2]) await files.write(key(id), packed(id));
    files.touch(key(1));
    files.touch(key(2));
    await files.write(key(5), packed(5));
    await files.write(key(6), packed(6));
    await files.write(key(7), packed(7));
    expect([1, 2, 3, 4, 5, 6, 7].filter((id) => files.has(key(id)))).toEqual([1, 2, 6, 7]);
    expect([files.bytes, files.count]).toEqual([4 * bytes, 4]);
    expect(filesOf().length).toBe(4);
    await files.write(key(8), packed(8, 40));
    expect(files.bytes).toBeLessThanOrEqual(4 * bytes);
  });

  it('takes what nobody asked for only where something older goes that nobody asked for', async () => {
    const bytes = packed(1).length;
    const files = await openFiles({ maxBytes: 2 * bytes });
    expect(await files.takesUnasked(1, 1)).toBe(true);
    for (const id of [3, 4]) await files.write(key(id), packed(id));
    expect(await files.takesUnasked(2, 1)).toBe(false);
    expect(await files.takesUnasked(5, 1)).toBe(true);
    files.touch(key(3));
    files.touch(key(4));
    expect(await files.takesUnasked(5, 1)).toBe(false);
  });

  it('holds nothing of removed segments, even if they were just being made', async () => {
    const files = await openFiles();
    await files.write(key(1), packed(1));
    await files.write(key(2), packed(2));
    files.remove([1, 3]);
    await files.write(key(3), packed(3));
    await files.settled();
    expect(filesOf().map((name) => fragmentFileOf(name)?.segmentId)).toEqual([2]);
  });

  it('loses what belongs to no stored segment at the start', async () => {
    const files = await openFiles();
    for (const id of [1, 2]) await files.write(key(id), packed(id));
    writeFileSync(path.join(folder(), 'notes.txt'), 'x');
    mkdirSync(path.join(folder(), 'deeper', 'still'), { recursive: true });
    const again = await openFiles({ stored: () => Promise.resolve(new Set([2])) });
    await again.settled();
    expect([again.count, filesOf().map((name) => fragmentFileOf(name)?.segmentId)]).toEqual([
      1,
      [2],
    ]);
  });

  it('is not written to while the disk has too little room; that is said once', async () => {
    const files = await openFiles({ keptFreeBytes: 2 ** 60 });
    const depth = depthOf();
    const fragments = open(depth, files);
    await warm(fragments, depth);
    expect(await pageOf(fragments, depth)).not.toBeNull();
    expect([files.count, files.failures, troubles.length]).toEqual([0, 3, 1]);
    expect(String(troubles[0])).toContain('are left to the store');
  });

  it.skipIf(!hasSmallDisks)('goes on when a full disk has room again', async () => {
    const disk = SmallDisk.make(1) as SmallDisk;
    try {
      const files = await openFiles({ directory: disk.path });
      const content = packed(1);
      let id = 1;
      while (!files.inTrouble) await files.write(key(id++), content);
      await files.write(key(id++), content);
      const written = files.count;
      expect(readdirSync(path.join(disk.path, FRAGMENTS_FOLDER)).length).toBe(written);
      expect([troubles.length, files.failures]).toEqual([1, 2]);
      disk.resize(4);
      await files.write(key(id), content);
      expect([files.count, troubles.length, troubles[1]]).toEqual([written + 1, 2, null]);
    } finally {
      disk.remove();
    }
  });
});

describe('admission', () => {
  it('lets fragments take free room, and makes others go only for what pages have saved', () => {
    const admission = new FragmentsAdmission();
    expect([admission.takes(true), admission.takes(false)]).toEqual([true, false]);
    admission.served(8);
    expect([1, 2, 3].map(() => admission.takes(false))).toEqual([true, true, false]);
  });

  it('costs a thirty-second of the pool’s pages at most where no page is ever made of fragments', () => {
    const admission = new FragmentsAdmission();
    let made = 0;
    for (let page = 0; page < 1000; page++) {
      admission.missed(8);
      for (let i = 0; i < 8; i++) if (admission.takes(false)) made++;
    }
    // Making a segment's fragments costs as much as four pages of it.
    expect((4 * made) / (1000 * 8)).toBeLessThanOrEqual(1 / 32);
    expect(made).toBeGreaterThan(0);
  });

  it('makes no fragments again that memory cannot keep', async () => {
    const { snapshots } = steadyStore(80, 20);
    const depth = depthOf(steadyStore(80, 20));
    // Some four of twenty segments.
    const fragments = open(depth, null, 40_000);
    let served = 0;
    const tasksOfRound = async () => {
      const before = pool.postedTasks;
      for (let s = 0; s < snapshots.length; s += 4) {
        const from = snapshots[s].t;
        if ((await pageOf(fragments, depth, { from, to: from + 240 })) !== null) served++;
        await fragments.idle();
      }
      return pool.postedTasks - before;
    };
    const tasks: number[] = [];
    for (let round = 0; round < 8; round++) tasks.push(await tasksOfRound());
    expect(fragments.memoryBytes).toBeGreaterThan(20_000);
    // Each page is of one segment: without the rule, every round but the first would make all twenty.
    expect(tasks[0]).toBe(0);
    const made = tasks.reduce((sum, own) => sum + own);
    const earned = served / 4 + (8 * 20) / 128;
    expect(made).toBeLessThanOrEqual(5 + earned);
    expect(made).toBeLessThan(30);
  });
});

describe('fragments made ahead', () => {
  /** A store whose segments are larger than tiny. */
  const rows = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => snapshot(NOW_S - 40_000 + 60 * (from + i)));

  async function serve(store: Store, maxBytes = 2 ** 30) {
    const stored = (ids: readonly number[]) => store.depth.storedSegments(ids);
    const files = await openFiles({ stored, maxBytes });
    const fragments = open(store.depth, files);
    const filler = new FragmentFiller({ source: store.depth, fragments, files, log });
    store.onSegments((removed) => {
      files.remove(removed);
      filler.look();
    });
    filler.look();
    const settled = async () => {
      await store.settled();
      await filler.idle();
      await files.settled();
    };
    await settled();
    return { files, fragments, filler, settled };
  }

  const idsOf = () => [...new Set(filesOf().map((name) => fragmentFileOf(name)?.segmentId))];

  it('serve the first page, and follow late data, merges and deletions', async () => {
    const store = await openStore(data.path);
    try {
      await commitRows(store, rows(0, 320));
      const { fragments, filler, settled } = await serve(store);
      const before = idsOf();
      expect(before.length).toBe(2);
      expect(await pageOf(fragments, store.depth)).not.toBeNull();
      const changes: [string, () => Promise<unknown>][] = [
        ['late', () => commitRows(store, [snapshot(NOW_S - 39_990)])],
        ['corrected', () => commitRows(store, [snapshot(NOW_S - 40_000, [orca([[0, 99, 0]])])])],
        [
          'merged',
          () =>
            commitRows(store, [snapshot(NOW_S - 40_000, [orca([[1, 0, 7]])])], { mode: 'merge' }),
        ],
        ['deleted', () => commitDelete(store, { address: MINT, toS: NOW_S - 39_000 })],
      ];
      for (const [what, change] of changes) {
        const old = idsOf();
        await change();
        await settled();
        const ids = idsOf() as number[];
        expect([what, await store.depth.storedSegments(ids)]).toEqual([what, new Set(ids)]);
        expect([what, ids]).not.toEqual([what, old]);
        // A tiny segment that a change leaves is not made ahead.
        for (let i = 0; i < 2; i++) {
          await pageOf(fragments, store.depth);
          await fragments.idle();
        }
        expect([what, await pageOf(fragments, store.depth)]).not.toEqual([what, null]);
      }
      await commitDelete(store, { address: MINT });
      await settled();
      expect(filesOf()).toEqual([]);
      await filler.close();
    } finally {
      await closeAll();
      await store.close();
    }
  });

  it('are those of the newest segments, within the bound', async () => {
    const store = await openStore(data.path);
    try {
      await commitRows(store, rows(0, 288));
      const whole = await serve(store);
      const { bytes } = whole.files;
      await whole.filler.close();
      await closeAll();
      rmSync(folder(), { recursive: true });
      const { files, filler, settled } = await serve(store, 1.5 * bytes);
      for (const from of [300, 600]) {
        await commitRows(store, rows(from, 288));
        await settled();
      }
      await filler.close();
      expect(files.bytes).toBeLessThanOrEqual(1.5 * bytes);
      const { lastSegmentId } = store.depth;
      expect(Math.max(...(idsOf() as number[]))).toBe(lastSegmentId);
    } finally {
      await closeAll();
      await store.close();
    }
  });

  it('wait until the pool has nothing else to do', async () => {
    const store = await openStore(data.path);
    try {
      await commitRows(store, rows(0, 288));
      const files = await openFiles();
      const fragments = open(store.depth, files);
      const filler = new FragmentFiller({ source: store.depth, fragments, files, log });
      let end = (): void => undefined;
      const page = pool.schedule(
        'page',
        'someone',
        () => new Promise<void>((done) => (end = done)),
      );
      filler.look();
      // What begins the other work would have begun this by then.
      await pool.run('ping', null);
      expect(files.count).toBe(0);
      end();
      await page;
      await filler.idle();
      expect(files.count).toBe(2);
      await filler.close();
    } finally {
      await closeAll();
      await store.close();
    }
  });
});
