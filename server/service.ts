/** Assembles a server in stages: pool and store, what answers requests, what changes the store, HTTP. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ComputePool } from '../compute/pool.js';
import { withDeadline } from '../compute/running-time.js';
import type { SegmentSource } from '../storage/contract.js';
import type { ArchiveWorker } from '../storage/archive/archive-worker.js';
import { listenForCommands } from '../storage/control.js';
import { FileCache, removeFiles } from '../storage/file-cache.js';
import { FRAGMENT_FILES, type FragmentFiles } from '../storage/fragment-files.js';
import type { LogNode } from '../storage/log/node.js';
import type { Store } from '../storage/store.js';
import { type RunningServer, startServer } from './app.js';
import type { ServeOptions } from './cli/serve-options.js';
import type { Clock } from './clock.js';
import { checksOf, startNode } from './cluster-node.js';
import type { Handlers } from './api/endpoint.js';
import type { ReadingOptions } from './api/parameters.js';
import { type ENDPOINTS, handlersOf } from './endpoints.js';
import { tuneCollector, prioritizeEventLoop } from './event-loop.js';
import { loadEngine, warnOfFault } from './http/load-engine.js';
import { httpLimits } from './http/server.js';
import { Limiter } from './limits/limiter.js';
import { LiveParts } from './live-parts.js';
import { LiveHub } from './live/hub.js';
import { errorsTo, type Logger } from './logger.js';
import { type Opened, openStore, type Start } from './open-store.js';
import { diskGauges, fragmentTroubleLines } from './operations/disk.js';
import { Collectors } from './operations/collectors.js';
import { Metrics } from './operations/metrics.js';
import type { Checks, ServerState } from './operations/operations.js';
import { FragmentFiller } from './replay/fragment-filler.js';
import { Fragments } from './replay/fragments.js';
import { SegmentBlocks } from './replay/segment-blocks.js';
import { startRetention } from './retention.js';
import { startArchiving, tryArchive } from './archive.js';
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
  const metrics = new Metrics();
  const logger = metrics.countingDamage(plainLogger);
  const start: Start = { given, metrics, logger, closing: [] };
  const closeAll = async (hasFailed: boolean): Promise<void> => {
    for (const close of start.closing.splice(0).reverse()) {
      try {
        await close(hasFailed);
      } catch (error) {
        errorsTo(logger)('closing failed')(error);
      }
    }
  };
  let isStopping = false;
  tuneCollector();
  try {
    const opened = await openStore(start, stop);
    const parts = await makeParts(start, opened);
    const node = await followLogs(start, opened, parts);
    prioritizeEventLoop();
    const server = await serve(start, opened, parts, node, () => isStopping);
    parts.filler?.scan();
    return {
      url: server.url,
      port: server.port,
      close: async () => {
        isStopping = true;
        await stopAfterDelay(given.stopDelayS, () => closeAll(false), logger);
      },
    };
  } catch (error) {
    await closeAll(true);
    throw error;
  }
}

/** What answers requests and live subscriptions. */
interface Parts {
  live: LiveParts;
  filler: FragmentFiller | null;
  limiter: Limiter;
  reading: ReadingOptions;
  handlers: Handlers<typeof ENDPOINTS>;
  hub: LiveHub;
}

/** Makes the parts, and has them follow the store. */
async function makeParts(start: Start, opened: Opened): Promise<Parts> {
  const { metrics, logger, closing } = start;
  const { pool, store, options, clock } = opened;
  const { memory, staleAfterS, plans, native, quotes, evmChainId, lenientParameters } = options;
  const { depth } = store;
  const files = await openFragmentFiles(options, depth, logger);
  const fragments = new Fragments({ pool, depth, logger, memoryBytes: memory.fragments, files });
  closing.push(() => fragments.close());
  const { orders } = fragments;
  const filler = files && new FragmentFiller({ source: depth, orders, files, logger });
  closing.push(async () => filler?.close());
  const live = new LiveParts({
    sources: { market: depth, depth, orders: store.orders, holders: store.holders, lp: store.lp },
    pool,
    clock,
    logger,
    staleAfterS,
    quotes,
    memory,
  });
  closing.push(() => live.close());
  const limiter = new Limiter({ usage: store.usage, plans });
  const blocks = new SegmentBlocks(depth, memory.blocks);
  const reading = { evmChainId, lenientParameters };
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
  const hub = new LiveHub({
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
  closing.push(() => hub.close());
  store.events.on('segments', (removed) => {
    blocks.remove(removed);
    files?.remove(removed);
    filler?.scan();
  });
  store.events.on('change', (change) => {
    live.touch(change);
    hub.touch(change);
  });
  live.onChange(() => hub.touchDocuments());
  store.keys.events.on('change', (change, { id, tier }) => {
    logger.info(`key ${change}`, { key_id: id, key_tier: tier });
    hub.connections.checkKeys();
  });
  followParts(metrics, { store, pool, fragments, files, blocks, tokens: live.tokens, clock });
  metrics.followStream(hub);
  return { live, filler, limiter, reading, handlers, hub };
}

/** Follows the cluster's log, takes commands, and reads what the store has. @returns the node; null without a cluster */
async function followLogs(start: Start, opened: Opened, { live }: Parts): Promise<LogNode | null> {
  const { given, metrics, logger, closing } = start;
  const { store, cluster, options, clock } = opened;
  const node = cluster && (await startNode({ ...cluster, store, clock, metrics, logger, closing }));
  const operations = node?.operations ?? store;
  const onError = errorsTo(logger)('a command failed');
  const control = await listenForCommands(given.directory, operations, onError, {
    onNotice: (text) => logger.warn(text),
    isHeld: () =>
      store.probe().then(
        () => true,
        () => false,
      ),
  });
  closing.push(() => control.close());
  await live.start();
  const { retention } = options;
  const retaining =
    Object.keys(retention).length > 0
      ? startRetention({ retention, store, node, tokens: live.tokens, clock, logger })
      : null;
  if (retaining !== null) closing.push(() => retaining.close());
  metrics.follow({ retentionWaits: () => (retaining?.waits === true ? 1 : 0) });
  const asNode = node && cluster ? { log: node, name: cluster.name } : null;
  closing.push(tryArchive(store, logger));
  const archiving = await startArchiving({ store, node: asNode, logger });
  if (archiving !== null) closing.push(() => archiving.close());
  followArchive(metrics, store, archiving);
  return node;
}

/** Listens for requests. */
async function serve(
  { metrics, logger, closing }: Start,
  { pool, store, options, clock }: Opened,
  { live, limiter, reading, handlers, hub }: Parts,
  node: LogNode | null,
  isStopping: () => boolean,
): Promise<RunningServer> {
  const engine = await loadEngine(options.engine, logger);
  const server = await startServer({
    keys: store.keys,
    handlers,
    hub,
    reading,
    frozenS: clock.frozenS,
    addressLimit: options.addressLimit,
    corsOrigins: options.corsOrigins,
    checkPlan: limiter.check,
    host: options.host,
    port: options.port,
    logger,
    limits: httpLimits(options.memory.replies),
    engine,
    operations: {
      metrics,
      checks: {
        stopping: () => !isStopping(),
        store: () => store.probe(),
        disk: () => store.room.checkCommits(),
        pool: () => pool.probe(),
        boards: () => live.lp.isReady,
        ...(node === null ? alone(store) : checksOf(node)),
      },
      state: () => stateOf(store),
      admin: options.admin,
    },
    position: () => store.applied.position,
  });
  closing.push(() => server.close());
  void warnOfFault(engine, logger);
  return server;
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

function stateOf({ applied, archived }: Store): ServerState {
  const { position } = applied;
  if (archived.objects === null) return { position };
  return { position, archive: archived.isUnreadable ? 'unreadable' : 'ok' };
}

/** Has the metrics read the archive when they are collected; without one they have no value. */
function followArchive(metrics: Metrics, store: Store, worker: ArchiveWorker | null): void {
  const archive = store.archived;
  const ifAny = (value: () => number) => () => (archive.objects === null ? null : value());
  metrics.follow({
    archiveWaiting: () => worker?.waiting ?? null,
    archiveFails: () => worker && (worker.fails ? 1 : 0),
    archiveReads: ifAny(() => archive.reads),
    archiveReadBytes: ifAny(() => archive.readBytes),
    archiveFailures: ifAny(() => archive.failures),
    archiveFiles: ifAny(() => archive.files?.count ?? 0),
    archiveFileBytes: ifAny(() => archive.files?.bytes ?? 0),
  });
}

interface MeasuredParts {
  store: Store;
  pool: ComputePool;
  fragments: Fragments;
  files: FragmentFiles | null;
  blocks: SegmentBlocks;
  tokens: LiveTokens;
  clock: Clock;
}

/** Has the metrics count commits, and read the parts when they are collected. */
function followParts(metrics: Metrics, parts: MeasuredParts): void {
  const { store, pool, fragments, files, blocks, tokens, clock } = parts;
  store.events.on('commit', ({ rows, cells }, tookMs) => metrics.committed(rows, cells, tookMs));
  const collectors = new Collectors();
  store.events.on('sources', (report) => collectors.note(report));
  metrics.followCollectors(collectors);
  metrics.follow({
    pagesWaiting: () => pool.waiting('page'),
    busyThreads: () => pool.busyThreads,
    storeBytes: () => store.bytes(),
    ...diskGauges(() => store.room.figures()),
    blocksMemoryBytes: () => blocks.memoryBytes,
    fragmentsMemoryBytes: () => fragments.store.memoryBytes,
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
