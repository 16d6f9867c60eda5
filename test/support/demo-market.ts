/** A part of the demo market as a store, made once per run. */
import { cpSync } from 'node:fs';
import { DEMO_SEED } from '../../demo/tokens.js';
import { fillDemo } from '../../demo/fill.js';
import { temporaryDirectory } from './folders.js';
import { storeIn } from './ingest.js';
import { sharedPool } from './pool.js';
import { preparedFolder } from './prepared.js';
import { NOW_S } from './service.js';

/** Made in seconds: the market's first token, which the description's examples use, and a thin one. */
const SYMBOLS = ['SOL', 'BARN'];

/** A directory for the caller with the market as of NOW_S. */
export async function demoMarket(): Promise<string> {
  const made = await preparedFolder('demo-market', async (directory) => {
    const pool = await sharedPool(2);
    const only = ({ symbol }: { symbol: string }) => SYMBOLS.includes(symbol);
    const market = { seed: DEMO_SEED, untilS: NOW_S, filled: false };
    await fillDemo({ directory, pool, useStore: storeIn(directory), only }, market);
  });
  const directory = temporaryDirectory();
  cpSync(made, directory, { recursive: true });
  return directory;
}
