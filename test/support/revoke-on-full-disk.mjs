/**
 * Makes keys in DIRECTORY until the disk is full, revokes the first, and is killed. Prints `key ID TEXT`,
 * `full NAME after COUNT`, `revoked`.
 */
import { spawnSync } from 'node:child_process';
import { Store } from '../../dist/storage/store.js';

const store = await Store.open(process.argv[2], { rewrite: () => Promise.reject(new Error()) });
const request = { tier: 'premium' };
const { id, key } = await store.createKey(request);
process.stdout.write(`key ${id} ${key}\n`);
// Its files may not grow beyond 32 KiB from now on.
spawnSync('prlimit', ['--pid', String(process.pid), '--fsize=32768']);
let made = 1;
try {
  for (; ; made++) await store.createKey(request);
} catch (error) {
  process.stdout.write(`full ${error.constructor.name} after ${made}\n`);
}
await store.revokeKey(id);
process.stdout.write('revoked\n', () => process.kill(process.pid, 'SIGKILL'));
