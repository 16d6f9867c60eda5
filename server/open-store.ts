/** The first stage of a server's start: the pool, the store, and the settings of its cluster. */
import { type ComputePool, startPool } from '../compute/pool.js';
import { LOCK_WAIT_MS, openForServer, workIn } from '../storage/access.js';
import { sweepStaging } from '../storage/bundle.js';
import type { StoreOptions } from '../storage/opening.js';
import type { Store } from '../storage/store.js';
import { wallMs } from '../storage/wall-clock.js';
import type { ServeOptions } from './cli/serve-options.js';
import { type Clock, frozenClock, systemClock } from './clock.js';
import { joinCluster, type Joined } from './cluster-node.js';
import { planOfKey, type Plans } from './limits/plans.js';
import { errorsTo, type Logger } from './logger.js';
import { THREAD_HEAPS } from './memory.js';
import { shortageLines } from './operations/disk.js';
import type { Metrics } from './operations/metrics.js';

/** What the stages of a start share. */
export interface Start {
  given: ServeOptions;
  metrics: Metrics;
  logger: Logger;
  /** Closes what the stages have opened, the last first. @param hasFailed whether the start has */
  closing: ((hasFailed: boolean) => void | Promise<void>)[];
}

/** An open store; `options` are the server's own, or those of its cluster. */
export interface Opened {
  pool: ComputePool;
  store: Store;
  cluster: Joined | null;
  options: ServeOptions;
  clock: Clock;
}

/**
 * Starts the pool, opens the store, and joins the cluster's log.
 * @param stop aborts the wait for the store
 */
export async function openStore(start: Start, stop?: AbortSignal): Promise<Opened> {
  const { given, metrics, logger, closing } = start;
  const { directory, asOfS, threads } = given;
  const pool = await startPool({
    onError: errorsTo(logger)('a worker failed'),
    onPageBegan: (waitedMs) => metrics.pageBegan(waitedMs),
    threads,
    // A thread takes some 20 MiB as it starts: an idle server keeps one.
    threadsAtStart: 1,
    heaps: THREAD_HEAPS,
  });
  closing.push(() => pool.close());
  const clock = asOfS === null ? systemClock : frozenClock(asOfS);
  const store = await openForServer(
    directory,
    openingOptions(given, clock, pool, logger),
    LOCK_WAIT_MS,
    stop,
  );
  // A start that fails, for example because the port is in use, removes a store that it created.
  closing.push((hasFailed) => (hasFailed ? store.leave() : store.close()));
  await sweepStaging(directory, wallMs());
  const cluster =
    given.cluster && (await joinCluster(given, given.cluster, { store, logger, closing }));
  const options = cluster?.options ?? given;
  store.keys.plans = options.plans;
  warnOfUnknownPlans(store, options.plans, logger);
  if (cluster === null && store.mark !== null) {
    logger.warn('the store belongs to a node of a cluster, and follows no log without --cluster');
  }
  return { pool, store, cluster, options, clock };
}

/** A store may come without the configuration that its keys were made with, as a backup does. */
function warnOfUnknownPlans(store: Store, plans: Plans, logger: Logger): void {
  const refused = store.keys
    .list()
    .filter(
      (key) =>
        key.revokedAtS === null &&
        (key.expiresAtS ?? Infinity) > wallMs() / 1000 &&
        planOfKey(plans, key) === null,
    );
  if (refused.length === 0) return;
  const names = [...new Set(refused.map(({ tier }) => tier))].sort().join(', ');
  logger.warn('keys get 401: their plans are not configured', {
    plans: names,
    keys: refused.length,
  });
}

/** How a server opens its store: it logs what happens to it. */
function openingOptions(
  { memory, archive, archiveCacheBytes }: ServeOptions,
  clock: Clock,
  pool: ComputePool,
  logger: Logger,
): StoreOptions {
  const onError = errorsTo(logger);
  return {
    ...workIn(pool),
    onBackgroundError: (error, work) => onError(`${work} failed`)(error),
    onNotice: (text) => logger.warn(text),
    onFault: onError('the database failed and is being reopened'),
    onShortage: shortageLines(logger),
    onWaiting: (why) => {
      if (why === null) logger.info('every change in the log is applied');
      else logger.error('changes in the log wait to be applied', { why });
    },
    onLost: (error) => {
      logger.fatal('ended: the database can no longer be used', error);
      process.exit(1);
    },
    archive: archive && { ...archive, nowS: () => clock.nowS() },
    archiveCacheBytes,
    memory: { ...memory, owners: memory.holders / 2 },
    // Most statements are short: with a second thread, DuckDB spins while that one works.
    threads: 1,
  };
}
