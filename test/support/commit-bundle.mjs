/** Commits a staged bundle: DIRECTORY BUNDLE. Prints `failed NAME: MESSAGE` if that fails, then `holds N` snapshots. */
import { rewriteSegments } from '../../dist/compute/segment/rewrite.js';
import { Store } from '../../dist/storage/store.js';

const [directory, bundle] = process.argv.slice(2);
const store = await Store.open(directory, {
  rewrite: (input) => Promise.resolve(rewriteSegments(input)),
});
try {
  await store.commit(bundle);
} catch (error) {
  console.log(`failed ${error.name}: ${error.message}`);
}
const token = { chain: 'mainchain', address: 'So11111111111111111111111111111111111111112' };
const times = await store.snapshotTimes({ ...token, tier: 'raw' });
console.log(`holds ${times.length}`);
await store.close();
