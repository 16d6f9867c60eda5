/** Pages from fragments on disk: whatever happens to the files, the pages stay right. */
import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeSegment } from '../../compute/segment/segment.js';
import { FRAGMENT_FILES } from '../../storage/fragment-files.js';
import { runOf, stores } from '../compute/replay-stores.js';
import { depthOf, FragmentsFixture, BY_MARKET, pageOf, warm } from '../support/fragments.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MINT, NOW_S, steadyStore } from '../support/service.js';

const here = FragmentsFixture.forEach();

describe('fragments on disk', () => {
  it('serve the first page after a restart without a thread or a segment', async () => {
    const depth = depthOf();
    const before = here.open(depth, await here.openFiles());
    await warm(before, depth);
    const body = await pageOf(before, depth);
    await here.closeAll();
    const files = await here.openFiles();
    const fragments = here.open(depth, files);
    const posted = here.pool.postedTasks;
    const again = await pageOf(fragments, depth);
    expect(again).toEqual(body);
    expect([here.pool.postedTasks - posted, files.count, files.reads]).toEqual([0, 3, 3]);
    // From memory.
    expect(await pageOf(fragments, depth)).toEqual(body);
    expect(files.reads).toBe(3);
  });

  it('serve every page while memory holds only part of one', async () => {
    const depth = depthOf();
    const files = await here.openFiles();
    const fragments = here.open(depth, files, 10_000);
    await warm(fragments, depth);
    const posted = here.pool.postedTasks;
    for (let i = 0; i < 5; i++) expect(await pageOf(fragments, depth)).not.toBeNull();
    expect(fragments.store.memoryBytes).toBeLessThanOrEqual(10_000);
    expect([here.pool.postedTasks, files.reads >= 10]).toEqual([posted, true]);
  });

  it('serve many pages at once, though each reads into memory that others use before and after it', async () => {
    const store = steadyStore(48, 20);
    const depth = depthOf(store);
    const files = await here.openFiles();
    const fragments = here.open(depth, files, 1);
    await warm(fragments, depth);
    const pages = store.snapshots.map(({ t }) => pageOf(fragments, depth, { from: t }));
    expect(await Promise.all(pages)).not.toContain(null);
    expect([fragments.store.memoryBytes, files.reads >= 12 * 24]).toEqual([0, true]);
  });

  it('that pages use again stay in memory while another walks through the rest of a history', async () => {
    const store = steadyStore(48, 20);
    const depth = depthOf(store);
    const before = here.open(depth, await here.openFiles());
    await warm(before, depth);
    const {
      store: { memoryBytes },
    } = before;
    const files = await here.openFiles();
    const fragments = here.open(depth, files, Math.ceil(memoryBytes / 3));
    const page = (snapshot: number, end = snapshot + 8) => {
      const [from, to] = [snapshot, end - 1].map((at) => store.snapshots[at].t);
      return pageOf(fragments, depth, { from, to: to + 1 });
    };
    // Fills the memory with the oldest, which nobody reads twice.
    await page(0, 24);
    // The newest gain their place when they are read twice.
    await page(40);
    await page(40);
    const { reads } = files;
    for (let at = 0; at < 40; at += 8) await page(at);
    const walked = files.reads;
    expect(walked).toBeGreaterThan(reads);
    await page(40);
    expect(files.reads).toBe(walked);
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
  it.each(spoilers)('a file that is %s is made again, not served', async (_, spoil) => {
    const depth = depthOf();
    const before = here.open(depth, await here.openFiles());
    await warm(before, depth);
    await here.closeAll();
    const [first, ...others] = here.names().map((name) => path.join(here.folder, name));
    spoil(first, others);
    const fragments = here.open(depth, await here.openFiles());
    await warm(fragments, depth);
    expect(await pageOf(fragments, depth)).not.toBeNull();
    await here.closeAll();
    const posted = here.pool.postedTasks;
    expect(await pageOf(here.open(depth, await here.openFiles()), depth)).not.toBeNull();
    expect(here.pool.postedTasks).toBe(posted);
  });

  it('of another segment that once had the same id are not served', async () => {
    const before = depthOf();
    await warm(here.open(before, await here.openFiles()), before);
    await here.closeAll();
    // Another store gives the same ids to its segments.
    const store = steadyStore(12, 20);
    store.snapshots[5].cells[7].support += 1n;
    const depth = depthOf(store);
    const fragments = here.open(depth, await here.openFiles());
    await warm(fragments, depth);
    expect(await pageOf(fragments, depth)).not.toBeNull();
    expect(await pageOf(here.open(depth, await here.openFiles()), depth)).not.toBeNull();
  });

  it('of another segment are not served even if they fit the page up to a gap', async () => {
    const hidden = () => {
      const store = steadyStore(12, 20, { everyS: 900 });
      for (const coarse of store.snapshots) coarse.tier = '15m';
      // Hides the third snapshot: a page shows the segment in two spans.
      const t = store.snapshots[2].t + 10;
      store.snapshots.push({ ...store.snapshots[2], t, tier: 'raw' });
      return store;
    };
    const before = depthOf(hidden(), 12);
    await warm(here.open(before, await here.openFiles()), before);
    await here.closeAll();
    const store = hidden();
    store.snapshots[5].cells[7].support += 1n;
    const depth = depthOf(store, 12);
    const fragments = here.open(depth, await here.openFiles());
    expect(await pageOf(fragments, depth, { to: store.snapshots[2].t })).not.toBeNull();
    expect(await pageOf(fragments, depth)).toBeNull();
  });

  it('may lose their folder under a running server', async () => {
    const depth = depthOf();
    const fragments = here.open(depth, await here.openFiles(), 10_000);
    await warm(fragments, depth);
    rmSync(here.folder, { recursive: true });
    // Twice for those that are not in memory, twice for the others.
    for (let i = 0; i < 4; i++) {
      await pageOf(fragments, depth);
      await fragments.idle();
    }
    expect(await pageOf(fragments, depth)).not.toBeNull();
    expect(here.names().length).toBe(3);
    expect(here.troubles).toEqual([]);
  });

  it('are whole after kill -9 in the middle of a write', async () => {
    const segment = encodeSegment(runOf('raw', steadyStore(12, 20).snapshots));
    const script = path.resolve('test/support/write-fragments.mjs');
    const child = spawn(process.execPath, [
      script,
      here.data.path,
      Buffer.from(segment).toString('base64'),
    ]);
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    writeFileSync(path.join(here.folder, '7-market-100.gzip.3.new'), 'x');
    const files = await here.openFiles();
    await files.settled();
    expect(here.names().filter((name) => FRAGMENT_FILES.fileOf(name) === null)).toEqual([]);
    expect(files.count).toBe(50);
    for (let segmentId = 1; segmentId <= 50; segmentId++) {
      const key = { segmentId, ...BY_MARKET };
      expect(await files.read(key)).not.toBeNull();
    }
  });

  it('give the same pages as without them, whatever the history', async () => {
    await fc.assert(
      fc.asyncProperty(stores, fc.integer({ min: 1, max: 9 }), async (store, perSegment) => {
        rmSync(here.folder, { recursive: true, force: true });
        const depth = new MemoryDepth().add('mainchain', MINT, store, { perSegment });
        const times = store.snapshots.filter((_, s) => s % 5 === 0).map(({ t }) => t);
        const bodies: (Uint8Array | null)[][] = [];
        for (const files of [null, await here.openFiles(), await here.openFiles()]) {
          const fragments = here.open(depth, files, files === null ? 2 ** 26 : 20_000);
          const own: (Uint8Array | null)[] = [];
          for (const group of ['market', 'all'] as const) {
            for (const t of times) {
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
      { numRuns: 4 },
    );
  });
});

function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at % bytes.length] ^= 1;
  writeFileSync(file, bytes);
}

/** As a copy between folders would do: the name contains the length of the contents. */
function replaceBy(file: string, other: string): void {
  const bytes = Number(path.basename(other).split('-')[2].split('.')[0]);
  const name = path.basename(file).replace(/-[0-9]+\./, `-${bytes}.`);
  rmSync(file);
  copyFileSync(other, path.join(path.dirname(file), name));
}
