/** The LP tools' tasks in the real pool give the same results as in this thread. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { splitTexts } from '../../compute/joined-texts.js';
import { joinTexts } from '../../storage/turns.js';
import { type ComputePool, startPool } from '../../compute/pool.js';

describe('LP tasks in the pool', () => {
  let pool: ComputePool;
  beforeAll(async () => {
    const onError = (error: unknown) => {
      throw error;
    };
    pool = await startPool({ threads: 1, onError });
  });
  afterAll(() => pool.close());

  it('receive lists of texts of any length unchanged', async () => {
    for (const length of [0, 1, 1024, 1025, 5000]) {
      const texts = Array.from({ length }, (_, i) => `text ${i}`);
      const joined = await joinTexts(texts);
      expect(splitTexts(joined)).toEqual(texts);
      expect(joined.parts.length).toBeLessThanOrEqual(5);
    }
  });

  it('fail if a block is damaged', async () => {
    const block = new Uint8Array(40);
    const input = { blocks: [block], selection: { run: [0], row: [0] }, firstHourS: 0 };
    await expect(pool.run('priceHours', input)).rejects.toThrow();
  });
});
