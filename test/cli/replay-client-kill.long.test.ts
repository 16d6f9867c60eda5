/** `fathom replay` continues after kill -9, in every format. */
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { REPLAY_FORMATS } from '../../server/download/formats.js';
import { killedRun, ProxiedMarket } from './replay-client-support.js';

const ours = new ProxiedMarket();

describe('after kill -9', () => {
  // One format is killed again while it continues; all formats record their progress in the same way.
  it.each(REPLAY_FORMATS)('%s is byte for byte the same', async (format) => {
    const killedAt = format === 'parquet' ? [2, 3] : [format === 'json' ? 3 : 2];
    const expected = await ours.uninterrupted(`whole.${format}`);
    const out = ours.at(`killed.${format}`);
    for (const pages of killedAt) {
      await killedRun(ours.market, ours.proxy, out, pages);
      expect(existsSync(out)).toBe(false);
    }
    const ended = await ours.run(out);
    expect(ended.stderr).toMatch(/pages from an earlier run/);
    expect(ended.document?.resumed_pages).toBeGreaterThan(0);
    expect(readFileSync(out).equals(expected)).toBe(true);
    expect(readdirSync(ours.directory).sort()).toEqual([`killed.${format}`, `whole.${format}`]);
  });

  it('torn writes and incomplete files do no harm', async () => {
    const expected = await ours.uninterrupted('whole.parquet');
    const out = ours.at('torn.parquet');
    await killedRun(ours.market, ours.proxy, out, 4);
    const kept = readFileSync(`${out}.part`);
    writeFileSync(`${out}.part`, Buffer.concat([kept, Buffer.from('0,17900')]));
    writeFileSync(`${out}.part.state.new`, '{"version":1,"by');
    writeFileSync(`${out}.part.done`, 'PAR1');
    expect(await ours.run(out)).toMatchObject({ error: null });
    expect(readFileSync(out).equals(expected)).toBe(true);
    expect(readdirSync(ours.directory).sort()).toEqual(['torn.parquet', 'whole.parquet']);
  });
});
