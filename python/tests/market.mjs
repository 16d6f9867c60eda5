// Fills a directory with some tokens of the simulated market: node market.mjs DIRECTORY UNTIL_S SYMBOL...
import { startPool } from '../../dist/compute/pool.js';
import { rewriteSegments } from '../../dist/compute/segment/rewrite.js';
import { fillDemo } from '../../dist/demo/fill.js';
import { DEMO_SEED } from '../../dist/demo/tokens.js';
import { withStore } from '../../dist/storage/access.js';

const [directory, until, ...symbols] = process.argv.slice(2);
const rewrite = (input) => Promise.resolve(rewriteSegments(input));
const pool = await startPool({
  threads: 2,
  onError: (error) => {
    throw error;
  },
});
await fillDemo(
  {
    directory,
    pool,
    useStore: (body) => withStore(directory, { rewrite }, body),
    only: ({ symbol }) => symbols.includes(symbol),
  },
  { seed: DEMO_SEED, untilS: Number(until), filled: false },
);
// Ends its threads, and with them the program.
void pool.close();
