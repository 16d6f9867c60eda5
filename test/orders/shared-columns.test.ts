import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SharedColumns, type SharedColumn } from '../../server/orders/shared-columns.js';
import { Turns } from '../../storage/turns.js';

const values = (block: SharedColumn, memory: SharedArrayBuffer): number[] => [
  ...new Float64Array(memory).subarray(block.at, block.at + block.length),
];

describe('shared blocks', () => {
  it('keep their contents through drops and new memory', async () => {
    const length = fc.integer({ min: 0, max: 4000 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ parts: fc.array(length, { maxLength: 3 }), drops: fc.boolean() }), {
          maxLength: 60,
        }),
        async (steps) => {
          const blocks = new SharedColumns();
          const live = new Map<SharedColumn, number[]>();
          const memories = new Set<SharedArrayBuffer>([blocks.memory]);
          let next = 1;
          for (const { parts, drops } of steps) {
            const [oldest] = live.keys();
            if (drops && oldest !== undefined) {
              blocks.drop(oldest);
              blocks.drop(oldest);
              live.delete(oldest);
            }
            const arrays = parts.map((n) => new Float64Array(n).fill(next++));
            live.set(
              await blocks.put(arrays, new Turns()),
              arrays.flatMap((one) => [...one]),
            );
            memories.add(blocks.memory);
          }
          for (const [block, want] of live) expect(values(block, blocks.memory)).toEqual(want);
          // It grows with live blocks, not with all blocks ever put.
          const most = [...live.values()].reduce((sum, one) => sum + one.length, 0);
          if (memories.size > 1) expect(most * 8).toBeLessThanOrEqual(blocks.memory.byteLength);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('do not change what a task has received', async () => {
    const blocks = new SharedColumns();
    const first = await blocks.put([Float64Array.of(1, 2, 3)], new Turns());
    const { memory } = blocks;
    const given = values(first, memory);
    blocks.drop(first);
    for (let i = 0; i < 20; i++) {
      blocks.drop(await blocks.put([new Float64Array(3000).fill(9)], new Turns()));
    }
    expect(blocks.memory).not.toBe(memory);
    expect([...new Float64Array(memory).subarray(0, 3)]).toEqual(given);
    // Dropped blocks take no room in the new memory.
    expect(blocks.memory.byteLength).toBe(memory.byteLength);
  });
});
