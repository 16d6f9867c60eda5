/**
 * A process to be killed: `hold DIR` keeps a store open for commands, as a server does; `retain DIR TIME` lets
 * raw depth before a time go; `command DIR OPERATION` does one operation. Prints `ready`, then `done`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startPool } from '../../compute/pool.js';
import { withStore } from '../../storage/access.js';
import { listenForCommands } from '../../storage/control.js';
import { Retaining } from '../../storage/retention.js';
import { Store } from '../../storage/store.js';
import { storeOptions } from '../../server/cli/runtime.js';
import { type Operation, perform } from './operations.js';

/** For how long raw depth is kept. */
const KEPT_S = 3600;

const [role, directory, text] = process.argv.slice(2);
const pool = await startPool({ threads: 1, onError: () => undefined });
if (role === 'hold') {
  process.stdout.write('opening\n');
  const store = await Store.open(directory, storeOptions(pool));
  await listenForCommands(directory, store, () => undefined);
  process.stdout.write('ready\n');
} else if (role === 'retain') {
  const store = await Store.open(directory, storeOptions(pool));
  process.stdout.write('ready\n');
  const beforeS = Number(text);
  const retaining = new Retaining({
    ...{ store, retention: { raw: KEPT_S }, nowS: () => beforeS + KEPT_S, restShare: 0 },
    ...{ newestT: () => null, allowedToS: () => Promise.resolve(Infinity) },
    ...{ onWaiting: () => undefined, onGoingOn: () => undefined, onRemoved: () => undefined },
    onError: (error) => {
      throw error;
    },
  });
  while ((await store.tokensBefore({ raw: beforeS, '15m': 0, '1h': 0 })).length > 0) await sleep(2);
  process.stdout.write('done\n');
  await retaining.close();
  await store.close();
  await pool.close();
} else {
  process.stdout.write('ready\n');
  const operation = JSON.parse(text) as Operation;
  await perform(operation, directory, pool, (body) =>
    withStore(directory, storeOptions(pool), body),
  );
  process.stdout.write('done\n');
  await pool.close();
}
