/**
 * A process to be killed: `hold DIR` keeps a store open for commands, as a server does; `command DIR
 * OPERATION` does one operation. Prints `ready`, then `done`.
 */
import { startPool } from '../../compute/pool.js';
import { withStore } from '../../storage/access.js';
import { listenForCommands } from '../../storage/control.js';
import { Store } from '../../storage/store.js';
import { storeOptions } from '../../server/cli/runtime.js';
import { type Operation, perform } from './operations.js';

const [role, directory, text] = process.argv.slice(2);
const pool = await startPool({ threads: 1, onError: () => undefined });
if (role === 'hold') {
  process.stdout.write('opening\n');
  const store = await Store.open(directory, storeOptions(pool));
  await listenForCommands(directory, store, () => undefined);
  process.stdout.write('ready\n');
} else {
  process.stdout.write('ready\n');
  const operation = JSON.parse(text) as Operation;
  await perform(operation, directory, pool, (body) =>
    withStore(directory, storeOptions(pool), body),
  );
  process.stdout.write('done\n');
  await pool.close();
}
