/**
 * Commits a staged bundle: DIRECTORY BUNDLE. Prints `ready` before, then `committed MS` or
 * `failed NAME: MESSAGE`, then `holds N` snapshots.
 */
import { performance } from 'node:perf_hooks';
import { rewriteSegments } from '../../dist/compute/segment/rewrite.js';
import { Store } from '../../dist/storage/store.js';

const [directory, bundle] = process.argv.slice(2);
const store = await Store.open(directory, {
  rewrite: (input) => Promise.resolve(rewriteSegments(input)),
});
console.log('ready');
const startedMs = performance.now();
try {
  await store.commit(bundle);
  console.log(`committed ${performance.now() - startedMs}`);
} catch (error) {
  console.log(`failed ${error.name}: ${error.message}`);
}
const token = { chain: 'mainchain', address: 'So11111111111111111111111111111111111111112' };
const times = await store.snapshotTimes({ ...token, tier: 'raw' });
console.log(`holds ${times.length}`);
await store.close();
