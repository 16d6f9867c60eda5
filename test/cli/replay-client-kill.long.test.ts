/** `fathom replay` goes on after kill -9, in every format. */
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cleanUp, temporaryDirectory } from '../support/cli.js';
import { startProxy, type Proxy } from '../support/replay-proxy.js';
import { REPLAY_FORMATS } from '../../server/download/formats.js';
import {
  killedRun,
  MINT,
  replayHere,
  startMarket,
  WHOLE,
  type Market,
} from './replay-client-support.js';

let market: Market;
let directory: string;
let proxy: Proxy;

beforeAll(async () => {
  market = await startMarket();
});
afterAll(cleanUp);
beforeEach(async () => {
  directory = temporaryDirectory();
  proxy = await startProxy(market.server.url);
});
afterEach(() => proxy.close());

const inDirectory = (name: string) => path.join(directory, name);

/** The command to its end, in this process. */
function run(out: string, words: readonly string[] = WHOLE) {
  const env = { FATHOM_KEY: market.key, FATHOM_URL: proxy.url };
  return replayHere([MINT, '--out', out, ...words], env);
}

/** The file as a run without any interruption writes it. */
async function uninterrupted(name: string): Promise<Buffer> {
  expect(await run(inDirectory(name))).toMatchObject({ error: null });
  return readFileSync(inDirectory(name));
}

describe('after kill -9', () => {
  // One format is killed again as it goes on; how far a run had come is recorded alike for all.
  it.each(REPLAY_FORMATS)('%s comes out byte for byte the same', async (format) => {
    const killedAt = format === 'parquet' ? [2, 3] : [format === 'json' ? 3 : 2];
    const expected = await uninterrupted(`whole.${format}`);
    const out = inDirectory(`killed.${format}`);
    for (const pages of killedAt) {
      await killedRun(market, proxy, out, pages);
      expect(existsSync(out)).toBe(false);
    }
    const ended = await run(out);
    expect(ended.stderr).toMatch(/pages from an earlier run/);
    expect(ended.document?.resumed_pages).toBeGreaterThan(0);
    expect(readFileSync(out).equals(expected)).toBe(true);
    expect(readdirSync(directory).sort()).toEqual([`killed.${format}`, `whole.${format}`]);
  });

  it('torn writes and half-made files do no harm', async () => {
    const expected = await uninterrupted('whole.parquet');
    const out = inDirectory('torn.parquet');
    await killedRun(market, proxy, out, 4);
    const kept = readFileSync(`${out}.part`);
    writeFileSync(`${out}.part`, Buffer.concat([kept, Buffer.from('0,17900')]));
    writeFileSync(`${out}.part.state.new`, '{"version":1,"by');
    writeFileSync(`${out}.part.done`, 'PAR1');
    expect(await run(out)).toMatchObject({ error: null });
    expect(readFileSync(out).equals(expected)).toBe(true);
    expect(readdirSync(directory).sort()).toEqual(['torn.parquet', 'whole.parquet']);
  });
});
