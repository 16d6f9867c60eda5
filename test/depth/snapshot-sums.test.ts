import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type SumsInput, widthOfSums } from '../../compute/depth/depth-series.js';
import type { RunTask } from '../../compute/pool.js';
import type { StoredBlock } from '../../compute/segment/segment.js';
import { replyMemory } from '../../server/api/replies.js';
import { readSums } from '../../server/depth/snapshot-sums.js';
import type { SegmentBlocks } from '../../server/replay/segment-blocks.js';

it('never makes a task of samples wait: the pool would start another thread for it', async () => {
  const readSamples = (ids: readonly number[]): Promise<Map<number, StoredBlock>> =>
    Promise.resolve(
      new Map(ids.map((id) => [id, { segmentId: id, block: new Uint8Array(1), crc32: 0 }])),
    );
  const sums = { kind: 'score', mask: new Uint8Array(1) } as const;
  const tasks: number[] = [];
  let running = 0;
  const run = async (_: string, { selection }: SumsInput) => {
    tasks.push(++running);
    await nextTurn();
    running--;
    const numbers = new Float64Array(selection.row.length * widthOfSums(sums)).fill(7);
    return { status: 'done', numbers };
  };
  const snapshots = Array.from({ length: 500 }, (_, i) => {
    return { point: i, segmentId: i + 1, row: 0, t: 3600 * i };
  });
  const blocks = null as unknown as SegmentBlocks;
  const sources = { depth: { readSamples }, blocks, kept: replyMemory(1e6) };
  const wanted = { key: '', stepS: 3600, sums };
  const numbers = await readSums(sources, wanted, snapshots, run as unknown as RunTask);
  expect(numbers?.every((number) => number === 7)).toBe(true);
  expect(tasks).toEqual([1, 1, 1, 1]);
});
