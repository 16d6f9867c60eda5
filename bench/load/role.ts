/** What a process of the load is told to be: bots, replay clients or a collector. */
import { fork } from 'node:child_process';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { collect, type CollectOrder, type CollectReport } from './collector.js';
import { flood, type FloodOrder, type FloodReport } from './flood.js';
import { generate, type LoadOrder, type LoadReport } from './generator.js';
import { replay, type ReplayOrder, type ReplayReport } from './replayer.js';

interface Roles {
  bots: { order: LoadOrder; report: LoadReport };
  flood: { order: FloodOrder; report: FloodReport };
  replay: { order: ReplayOrder; report: ReplayReport };
  collect: { order: CollectOrder; report: CollectReport };
}
type Role = keyof Roles;

const WORK: { [R in Role]: (order: Roles[R]['order']) => Promise<Roles[R]['report']> } = {
  bots: generate,
  flood,
  replay,
  collect,
};
/**
 * What disturbs runs elsewhere in the field: on the same cores it comes after the server and the bots,
 * so that they lose to the server's work for it, not to its own.
 */
const NICENESS: Record<Role, number> = { bots: 0, flood: 0, replay: 10, collect: 10 };
/** What a role takes beyond the time that it is to last. */
const GRACE_MS = 60_000;

/**
 * Runs a role in a process of its own.
 * @throws Error where it fails or hangs
 */
export function inProcess<R extends Role>(
  role: R,
  order: Roles[R]['order'],
): Promise<Roles[R]['report']> {
  const child = fork(fileURLToPath(import.meta.url), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`${role}: not done in time`));
    }, order.forMs + GRACE_MS);
    child.once('exit', () => {
      clearTimeout(timer);
      reject(new Error(`${role}: its process ended`));
    });
    child.once('message', (report: Roles[R]['report']) => {
      clearTimeout(timer);
      resolve(report);
      child.disconnect();
    });
    child.send({ role, order });
  });
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) {
  process.once('message', ({ role, order }: { role: Role; order: never }) => {
    setPriority(NICENESS[role]);
    void (WORK[role] as (order: never) => Promise<object>)(order).then(
      (report) => process.send?.(report),
      (error) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
}
