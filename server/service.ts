/** Assembles a server: store, pool, the parts that follow the store, handlers, HTTP, and a cluster's node. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type ComputePool, startPool } from '../compute/pool.js';
import { withDeadline } from '../compute/running-time.js';
import { LOCK_WAIT_MS, openForServer } from '../storage/access.js';
import { sweepStaging } from '../storage/bundle.js';
import type { SegmentSource } from '../storage/contract.js';
import { listenForCommands } from '../storage/control.js';
import { FileCache, removeFiles } from '../storage/file-cache.js';
import { FRAGMENT_FILES, type FragmentFiles } from '../storage/fragment-files.js';
import type { StoreOptions } from '../storage/opening.js';
import type { Store } from '../storage/store.js';
import { wallMs } from '../storage/wall-clock.js';
import { type RunningServer, startServer } from './app.js';
import { storeOptions } from './cli/runtime.js';
import type { ServeOptions } from './cli/serve-options.js';
import { type Clock, frozenClock, systemClock } from './clock.js';
import { checksOf, joinCluster, startNode } from './cluster-node.js';
import { handlersOf } from './endpoints.js';
import { tuneCollector, prioritizeEventLoop } from './event-loop.js';
import { loadEngine, warnOfFault } from './http/load-engine.js';
import { httpLimits } from './http/server.js';
import { Limiter } from './limits/limiter.js';
import { LiveParts } from './live-parts.js';
import { LiveHub } from './live/hub.js';
import type { Logger } from './logger.js';
import { THREAD_HEAPS } from './memory.js';
import { diskGauges, fragmentTroubleLines, shortageLines } from './operations/disk.js';
import { Collectors } from './operations/collectors.js';
import { Metrics } from './operations/metrics.js';
import type { Checks } from './operations/operations.js';
import { FragmentFiller } from './replay/fragment-filler.js';
import { Fragments } from './replay/fragments.js';
import { SegmentBlocks } from './replay/segment-blocks.js';
import { startRetention } from './retention.js';
import type { LiveTokens } from './tokens/live-tokens.js';

/** If stopping takes longer than this after `--stop-delay`, the process ends at once. */
export const STOP_DEADLINE_MS = 60_000;

/**
 * Opens the store, starts the pool and the server, and listens for commands.
 * @param stop aborts the wait for the store
 * @throws InputError | StoreBusyError | Error if the port is in use
 */
export async function startService(
  given: ServeOptions,
  plainLogger: Logger,
  stop?: AbortSignal,
): Promise<RunningServer> {
  const { directory, host, port, asOfS, threads, memory } = given;
  const metrics = new Metrics();
  const logger = metrics.countingDamage(plainLogger);
  const onError = errorsTo(logger);
  const closing: (() => Promise<void>)[] = [];
  const closeAll = async (): Promise<void> => {
    for (const close of closing.splice(0).reverse()) await close().catch(onError('closing failed'));
  };
  tuneCollector();
  let isServing = false;
  let isStopping = false;
  let hub: LiveHub | null = null;
  try {
    const pool = await startPool({
      onError: onError('a worker failed'),
      onPageBegan: (waitedMs) => metrics.pageBegan(waitedMs),
      threads,
      // A thread takes some 20 MiB as it starts: an idle server keeps one.
      threadsAtStart: 1,
      heaps: THREAD_HEAPS,
    });
    closing.push(() => pool.close());
    const store = await openForServer(
      directory,
      openingOptions(given, pool, logger),
      LOCK_WAIT_MS,
      stop,
    );
    // A start that fails, for example because the port is in use, removes a store that it created.
    closing.push(() => (isServing ? store.close() : store.leave()));
    await sweepStaging(directory, wallMs());
    const clock = asOfS === null ? systemClock : frozenClock(asOfS);
    const cluster =
      given.cluster && (await joinCluster(given, given.cluster, { store, logger, closing }));
    const options = cluster?.options ?? given;
    const { staleAfterS, plans, native, quotes, evmChainId } = options;
    store.keys.plans = plans;
    const { depth } = store;
    const files = await openFragmentFiles(given, depth, logger);
    const fragments = new Fragments({ pool, depth, logger, memoryBytes: memory.fragments, files });
    closing.push(() => fragments.close());
    const filler = files && new FragmentFiller({ source: depth, fragments, files, logger });
    closing.push(async () => filler?.close());
    store.events.on('segments', (removed) => {
      files?.remove(removed);
      filler?.scan();
    });
    const live = new LiveParts({
      sources: { market: depth, depth, orders: store.orders, holders: store.holders, lp: store.lp },
      pool,
      clock,
      logger,
      staleAfterS,
      quotes,
      memory,
    });
    const { tokens, lp } = live;
    closing.push(() => live.close());
    store.events.on('change', (change) => {
      live.touch(change);
      hub?.touch(change);
    });
    live.onChange(() => hub?.touchDocuments());
    store.keys.events.on('change', (change, { id, tier }) => {
      logger.info(`key ${change}`, { key_id: id, key_tier: tier });
      hub?.connections.checkKeys();
    });
    followParts(metrics, { store, pool, fragments, files, tokens, clock });
    if (cluster === null && store.mark !== null) {
      logger.warn('the store belongs to a node of a cluster, and follows no log without --cluster');
    }
    const node =
      cluster && (await startNode({ ...cluster, store, clock, metrics, logger, closing }));
    const operations = node?.operations ?? store;
    const control = await listenForCommands(directory, operations, onError('a command failed'), {
      onNotice: (text) => logger.warn(text),
      isHeld: () =>
        store.probe().then(
          () => true,
          () => false,
        ),
    });
    closing.push(() => control.close());
    await live.start();
    const retaining =
      Object.keys(options.retention).length > 0
        ? startRetention({ retention: options.retention, store, node, tokens, clock, logger })
        : null;
    if (retaining !== null) closing.push(() => retaining.close());
    metrics.follow({ retentionWaits: () => (retaining?.waits === true ? 1 : 0) });
    prioritizeEventLoop();
    const limiter = new Limiter({ usage: store.usage, plans });
    const engine = await loadEngine(options.engine, logger);
    const blocks = new SegmentBlocks(depth, memory.blocks);
    const reading = { evmChainId, lenientParameters: options.lenientParameters };
    const handlers = handlersOf({
      depth,
      live,
      pool,
      fragments,
      limiter,
      clock,
      logger,
      quotes,
      native,
      blocks,
      queue: store.queue,
      keptReplyBytes: memory.keptReplies,
      keptPageBytes: memory.keptPages,
      isDelayed: ({ tier }) => plans[tier]?.delayedDepth === true,
      onAnswered: (source) => metrics.pageAnswered(source),
    });
    hub = new LiveHub({
      depth,
      blocks,
      pool,
      clock,
      logger,
      keys: store.keys,
      limiter,
      handlers,
      reading,
      onMessage: (type, lagMs) => metrics.streamed(type, lagMs),
      messageBytes: memory.live,
    });
    metrics.followStream(hub);
    const server = await startServer({
      keys: store.keys,
      handlers,
      hub,
      reading,
      frozenS: clock.frozenS,
      addressLimit: options.addressLimit,
      corsOrigins: options.corsOrigins,
      checkPlan: limiter.check,
      host,
      port,
      logger,
      limits: httpLimits(memory.replies),
      engine,
      operations: {
        metrics,
        checks: {
          stopping: () => !isStopping,
          store: () => store.probe(),
          disk: () => store.room.checkCommits(),
          pool: () => pool.probe(),
          boards: () => lp.isReady,
          ...(node === null ? alone(store) : checksOf(node)),
        },
        admin: options.admin,
      },
      position: () => store.applied.position,
    });
    closing.push(() => server.close());
    isServing = true;
    filler?.scan();
    void warnOfFault(engine, logger);
    return {
      url: server.url,
      port: server.port,
      close: async () => {
        isStopping = true;
        await stopAfterDelay(options.stopDelayS, closeAll, logger);
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** Files of fragments; null if the settings leave no memory or disk for them, and then earlier files are deleted. */
async function openFragmentFiles(
  { directory, memory, fragmentsDiskBytes: maxBytes }: ServeOptions,
  depth: SegmentSource,
  logger: Logger,
): Promise<FragmentFiles | null> {
  if (maxBytes === 0 || memory.fragments === 0) {
    await removeFiles(FRAGMENT_FILES, directory);
    return null;
  }
  return FileCache.open(FRAGMENT_FILES, {
    directory,
    maxBytes,
    onTrouble: fragmentTroubleLines(logger),
    stored: (ids) => depth.storedSegments(ids),
  });
}

/** Makes handlers that log an error under a message. */
const errorsTo =
  (logger: Logger) =>
  (message: string) =>
  (error: unknown): void =>
    logger.error(message, {}, error);

/** How a server opens its store: it logs what happens to it. */
function openingOptions({ memory }: ServeOptions, pool: ComputePool, logger: Logger): StoreOptions {
  const onError = errorsTo(logger);
  return {
    ...storeOptions(pool),
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
    memory: { ...memory, owners: memory.holders / 2 },
  };
}

interface MeasuredParts {
  store: Store;
  pool: ComputePool;
  fragments: Fragments;
  files: FragmentFiles | null;
  tokens: LiveTokens;
  clock: Clock;
}

/** Has the metrics count commits, and read the parts when they are collected. */
function followParts(metrics: Metrics, parts: MeasuredParts): void {
  const { store, pool, fragments, files, tokens, clock } = parts;
  store.events.on('commit', ({ rows, cells }, tookMs) => metrics.committed(rows, cells, tookMs));
  const collectors = new Collectors();
  store.events.on('sources', (report) => collectors.note(report));
  metrics.followCollectors(collectors);
  metrics.follow({
    pagesWaiting: () => pool.waiting('page'),
    busyThreads: () => pool.busyThreads,
    storeBytes: () => store.bytes(),
    ...diskGauges(() => store.room.figures()),
    fragmentsMemoryBytes: () => fragments.memoryBytes,
    fragmentFiles: () => files?.count ?? 0,
    fragmentFileBytes: () => files?.bytes ?? 0,
    fragmentFileReads: () => files?.reads ?? 0,
    fragmentFileFailures: () => files?.failures ?? 0,
    newestSnapshotAgeS: () => {
      const newestT = tokens.newestT();
      return newestT === null ? null : clock.nowS() - newestT;
    },
    staleTokens: () => tokens.table.staleCount,
  });
}

/** The condition for a server without a cluster: the store has applied its own log. A node's store needs the cluster's. */
function alone(store: Store): Checks {
  return {
    following: () => {
      store.applied.refuseOtherChanges();
      store.checkApplied();
      return true;
    },
  };
}

/** Closes a server's parts after the delay, within STOP_DEADLINE_MS; otherwise the process ends. */
async function stopAfterDelay(
  stopDelayS: number,
  closeAll: () => Promise<void>,
  logger: Logger,
): Promise<void> {
  logger.info('stopping', { stop_delay_s: stopDelayS });
  await sleep(1000 * stopDelayS);
  await withDeadline(closeAll(), STOP_DEADLINE_MS, 'stopping').catch((error: unknown) => {
    // Committed data are in the store's log.
    logger.error('ended before everything was closed', {}, error);
    process.exit(1);
  });
  logger.info('stopped');
}
