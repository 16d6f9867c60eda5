import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { type SnapshotSums, sumSnapshots } from '../../compute/depth/depth-series.js';
import type { RunTask } from '../../compute/pool.js';
import { lz4Decompress } from '../../compute/segment/lz4.js';
import {
  encodeSample,
  runOfSample,
  sampledRows,
  SNAPSHOTS_PER_SAMPLED,
} from '../../compute/segment/sample.js';
import { digestsOf, type StoredBlock } from '../../compute/segment/segment.js';
import { replyMemory } from '../../server/api/replies.js';
import { readSums } from '../../server/depth/snapshot-sums.js';
import { SegmentBlocks } from '../../server/replay/segment-blocks.js';
import type { DepthSource } from '../../storage/contract.js';
import { LEAST_NEW_SEGMENTS } from '../../storage/depth/samples.js';
import { runOf } from '../compute/replay-stores.js';
import { bookCells, commitRows, FreshStore, orca, snapshot, tokenOf } from '../support/stores.js';

const gaps = fc.array(fc.constantFrom(1, 60, 300, 3600, 7200, 90_000), {
  minLength: 1,
  maxLength: 120,
});

it('A sample has the unchanged last snapshot of each hour or each day, or is not made', () => {
  fc.assert(
    fc.property(gaps, fc.integer({ min: 1, max: 3600 }), (between, first) => {
      let t = first;
      const all = between.map((gap, i) => {
        t += gap;
        const wide = i % 5 === 0 ? 2n ** 40n : 1n;
        const cells = Array.from({ length: i % 4 }, (_, bin) => {
          return { market: 0, bin, support: wide * BigInt(i + 1), resistance: BigInt(bin) };
        });
        return { t, tier: 'raw' as const, price: 1 + i, cells };
      });
      const run = runOf('raw', all);
      const lastsOf = (periodS: number): number[] => [
        ...new Map(all.map((one, row) => [Math.ceil(one.t / periodS), row])).values(),
      ];
      const isSmall = (rows: number[]): boolean =>
        rows.length * SNAPSHOTS_PER_SAMPLED <= all.length;
      const rows = [3600, 86_400].map(lastsOf).find(isSmall) ?? null;
      expect(sampledRows(run.t)).toEqual(rows);
      const sample = encodeSample(run);
      expect(sample === null).toBe(rows === null);
      if (rows === null || sample === null) return;
      const held = runOfSample(new Uint8Array(lz4Decompress(sample)));
      expect([...held.t]).toEqual(rows.map((row) => run.t[row]));
      const digests = digestsOf(run);
      expect([...digestsOf(held)]).toEqual(rows.map((row) => digests[row]));
    }),
  );
});

const held = new FreshStore();

const MINUTES = 400;
const sums: SnapshotSums = { kind: 'within', slot: new Int32Array(1), groupCount: 1, pct: [5, 50] };

/** Enough new segments for samples of all. */
async function commitMany(): Promise<void> {
  const later = 10_000_000;
  for (let n = 0; n < LEAST_NEW_SEGMENTS; n++) {
    await commitRows(held.store, [snapshot(later + n * 100_000)]);
  }
  await held.store.settled();
}

const rowsOf = (sql: string): Promise<unknown[][]> => held.store['parts'].database.rows(sql);
const stored = () => rowsOf('SELECT segment_id FROM segment_samples ORDER BY 1');

/** The sums of the hours' last snapshots, and what was read for them: samples and segments. */
async function hours(depth: Pick<DepthSource, 'readSamples' | 'readSegments'>) {
  const window = { fromS: 0, toS: 60 * MINUTES + 1, nowS: 2 ** 32 - 1, maxSnapshots: 1000 };
  const plan = await held.store.depth.plan({
    tokenId: tokenOf(held.store),
    ...window,
    stepS: 3600,
  });
  const snapshots = plan.snapshots.map(({ segment, row, t }) => {
    return { point: Math.ceil(t / 3600), segmentId: plan.segmentIds[segment], row, t };
  });
  const read = { samples: 0, segments: 0 };
  const counted: typeof depth = {
    readSamples: async (ids) => {
      const found = await depth.readSamples(ids);
      read.samples += found.size;
      return found;
    },
    readSegments: (ids) => {
      read.segments += ids.length;
      return depth.readSegments(ids);
    },
  };
  const blocks = new SegmentBlocks(counted, 0);
  const sources = { depth: counted, blocks, kept: replyMemory(1e6) };
  const run = ((_: 'sumSnapshots', input: Parameters<typeof sumSnapshots>[0]) =>
    Promise.resolve(sumSnapshots(input))) as RunTask;
  const numbers = await readSums(sources, { key: '', stepS: 3600, sums }, snapshots, run);
  return { numbers, read };
}

describe('Samples of stored segments', () => {
  beforeEach(async () => {
    const rows = Array.from({ length: MINUTES }, (_, i) =>
      snapshot(60 * (i + 1), [orca(bookCells(i, 40))]),
    );
    await commitRows(held.store, rows);
  });

  it('are made in the background, once, and give the same results as their segments', async () => {
    const before = await hours(held.store.depth);
    expect(before.read).toMatchObject({ samples: 0 });
    await commitMany();
    const made = await stored();
    expect(made.length).toBeGreaterThan(0);
    const { numbers, read } = await hours(held.store.depth);
    expect(numbers).toEqual(before.numbers);
    // The last segment's last snapshot, and the earlier ones' hours.
    expect(read).toEqual({ samples: before.read.segments, segments: 0 });
    await held.reopen();
    await commitMany();
    expect(await stored()).toEqual(made);
  });

  it('leave missing snapshots to their segments, as do damaged samples', async () => {
    await commitMany();
    const { numbers } = await hours(held.store.depth);
    const altered = (change: (sample: StoredBlock) => StoredBlock) =>
      hours({
        readSegments: (ids) => held.store.depth.readSegments(ids),
        readSamples: async (ids) => {
          const samples = await held.store.depth.readSamples(ids);
          return new Map([...samples].map(([id, sample]) => [id, change(sample)]));
        },
      });
    const damaged = await altered((sample) => ({ ...sample, crc32: sample.crc32 ^ 1 }));
    expect(damaged.numbers).toEqual(numbers);
    expect(damaged.read.segments).toBe(damaged.read.samples);
    const other = encodeSample(
      runOf(
        'raw',
        Array.from({ length: 20 }, (_, i) => ({ t: 61 + i, tier: 'raw', price: 9, cells: [] })),
      ),
    ) as Uint8Array;
    const lacking = await altered(({ segmentId }) => ({
      segmentId,
      block: new Uint8Array(other),
      crc32: crc32(other),
    }));
    expect(lacking).toEqual(damaged);
  });

  it('are removed with their segments', async () => {
    await commitMany();
    const before = await stored();
    await commitRows(held.store, [snapshot(90, [orca(bookCells(7, 40))])]);
    await held.store.settled();
    const segments = (await rowsOf('SELECT segment_id FROM segments')).flat();
    const left = await stored();
    expect(left.length).toBe(before.length - 1);
    for (const [id] of left) expect(segments).toContain(id);
  });
});
