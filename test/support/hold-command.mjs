/** A command that has changed the store of DIRECTORY: prints `held` and keeps the store open. */
import { onNewStore } from '../../dist/server/cli/runtime.js';

const hold = async (store) => {
  await store.createKey({ tier: 'premium', name: 'held' });
  console.log('held');
  await new Promise(() => setInterval(() => undefined, 1000));
};
await onNewStore({ data: process.argv[2] }, hold);
