/** Runs the parts of the load as processes: bots, replay clients, a collector. */
import { fork } from 'node:child_process';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { collect, type CollectOrder, type CollectReport } from './collector.js';
import { load, type Target } from './client.js';
import { type BotsOrder, type BotsReport, sendBots } from './generator.js';
import { runOnCores } from '../processes.js';

/** Heavy clients: each requests its next page as soon as one is complete. */
interface ReplayOrder extends Omit<Target, 'pathOf' | 'headersOf' | 'status'> {
  paths: string[];
  clients: number;
  forMs: number;
}

interface ReplayReport {
  pages: number;
  pagesPerSecond: number;
}

interface Roles {
  bots: { order: BotsOrder; report: BotsReport };
  replay: { order: ReplayOrder; report: ReplayReport };
  collect: { order: CollectOrder; report: CollectReport };
}
type Role = keyof Roles;

const WORK: { [R in Role]: (order: Roles[R]['order']) => Promise<Roles[R]['report']> } = {
  bots: sendBots,
  replay,
  collect,
};
async function replay({ paths, clients, forMs, ...target }: ReplayOrder): Promise<ReplayReport> {
  const pathOf = (n: number): string => paths[n % paths.length];
  const { sortedMs, elapsedMs } = await load({ ...target, pathOf, status: 200 }, clients, forMs);
  return { pages: sortedMs.length, pagesPerSecond: (1000 * sortedMs.length) / elapsedMs };
}

/**
 * In production, replay clients and collectors run on other machines. Here they have a low priority, so that bots wait for
 * the server's work on their behalf, but not for their own.
 */
const NICENESS: Record<Role, number> = { bots: 0, replay: 10, collect: 10 };
/** Extra time for a role beyond its order's duration. */
const GRACE_MS = 60_000;

/**
 * Runs a role in a separate process.
 * @param core the only core on which it runs, if given
 * @throws Error if it fails or hangs
 */
export function inProcess<R extends Role>(
  role: R,
  order: Roles[R]['order'],
  core?: number,
): Promise<Roles[R]['report']> {
  const child = fork(fileURLToPath(import.meta.url), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  if (core !== undefined && child.pid !== undefined) runOnCores(child.pid, [core]);
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
