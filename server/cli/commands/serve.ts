/** `fathom serve` */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPool } from '../../../compute/pool.js';
import { withDeadline } from '../../../compute/running-time.js';
import { LOCK_WAIT_MS, openForServer } from '../../../storage/access.js';
import { sweepStaging } from '../../../storage/bundle.js';
import type { SegmentSource } from '../../../storage/contract.js';
import { listenForCommands } from '../../../storage/control.js';
import { FragmentFiles, FRAGMENTS_FOLDER } from '../../../storage/fragment-files.js';
import { wallMs } from '../../../storage/wall-clock.js';
import type { LogNode } from '../../../storage/log/node.js';
import { SharedSettings } from '../../../storage/log/settings.js';
import type { Store } from '../../../storage/store.js';
import { type RunningServer, startServer } from '../../app.js';
import { type Clock, frozenClock, systemClock } from '../../clock.js';
import { liveHandlers } from '../../endpoints.js';
import { HolderFlows } from '../../holders/holder-flows.js';
import { httpLimits } from '../../http/server.js';
import { Limiter } from '../../limits/limiter.js';
import { markOutsideLoop, putLoopFirst } from '../../event-loop.js';
import { loadEngine, warnOfFault } from '../../http/load-engine.js';
import { createLog, type Log } from '../../log.js';
import { THREAD_HEAPS } from '../../memory.js';
import { Metrics } from '../../operations/metrics.js';
import { diskGauges, fragmentTroubleLines, shortageLines } from '../../operations/disk.js';
import type { Checks } from '../../operations/operations.js';
import { LpTools } from '../../lp/lp-tools.js';
import { LiveOrders } from '../../orders/live-orders.js';
import { FragmentFiller } from '../../replay/fragment-filler.js';
import { Fragments } from '../../replay/fragments.js';
import { SegmentColumns } from '../../replay/segment-columns.js';
import { TopScores } from '../../scores/top-scores.js';
import { startRetention } from '../../retention.js';
import { LiveTokens } from '../../tokens/live-tokens.js';
import { VERSION } from '../../version.js';
import { answersOf, withAnswers } from '../answers.js';
import { defineCommand } from '../command.js';
import { reportCrashesWith } from '../output.js';
import { ACCEPT_DAMAGED_LOG } from '../flags.js';
import { onStore, storeOptions } from '../runtime.js';
import { stopSignal } from '../signals.js';
import { SERVE_ENVIRONMENT, SERVE_FLAGS, serveOptions, type ServeOptions } from '../settings.js';

/** A damaged log is accepted for one start, so no variable stands for the flag. */
const FLAGS = { ...SERVE_FLAGS, 'accept-damaged-log': ACCEPT_DAMAGED_LOG };

/** A server that has not stopped by then, its `--stop-delay` aside, ends at once. */
export const STOP_DEADLINE_MS = 60_000;

export const command = defineCommand({
  about:
    'Runs the server until SIGTERM, SIGINT or SIGHUP. A flag overrides its variable, which overrides the config file; docs/operating.md has more about each setting.',
  words: {},
  flags: FLAGS,
  environment: SERVE_ENVIRONMENT,
  examples: [
    'fathom serve --data data --host 127.0.0.1 --port 8080',
    'fathom serve --data books --port 0 --as-of 2024-08-09T00:00:00Z --threads 2',
  ],
  run: (flags) => serve({ ...serveOptions(flags), acceptDamagedLog: flags['accept-damaged-log'] }),
});

async function serve(options: ServeOptions): Promise<void> {
  await serveUntilSignal(options, async (_, log, stopped) => {
    const { tokens } = await onStore(options.directory, (store) => store.summary());
    // A new store may be a mistyped directory.
    if (tokens === 0) log.warn('the store is empty', { data: options.directory });
    await stopped;
  });
}

/**
 * Starts the server, then `body`, which ends once a signal has come; then the server drains. A signal that
 * comes before it serves is heard, too.
 */
export async function serveUntilSignal(
  options: ServeOptions,
  body: (service: RunningServer, log: Log, stopped: Promise<void>) => Promise<void>,
): Promise<void> {
  const ending = new AbortController();
  const stopped = stopSignal().then(() => ending.abort());
  const log = createLog(options.log);
  reportCrashesWith((error) => log.fatal('the server crashed', error));
  try {
    const service = await startService(options, log, ending.signal);
    await body(service, log, stopped);
    await service.close();
  } catch (error) {
    // Stopped before it listened, so there is nothing to drain.
    if (!ending.signal.aborted || error !== ending.signal.reason) throw error;
  }
}

/**
 * Opens the store, starts the pool and the server, and listens for commands.
 * @param stop aborts the wait for the store
 * @throws InputError | StoreBusyError | Error if the port is in use
 */
export async function startService(
  given: ServeOptions,
  plainLog: Log,
  stop?: AbortSignal,
): Promise<RunningServer> {
  const { directory, host, port, asOfS, threads, memory } = given;
  const metrics = new Metrics();
  const log = metrics.countingDamage(plainLog);
  const onError = (message: string) => (error: unknown) => log.error(message, {}, error);
  const closing: (() => Promise<void>)[] = [];
  const closeAll = async (): Promise<void> => {
    for (const close of closing.splice(0).reverse()) await close().catch(onError('closing failed'));
  };
  markOutsideLoop();
  let isServing = false;
  let isStopping = false;
  try {
    const pool = await startPool({
      onError: onError('a worker failed'),
      onPageBegan: (waitedMs) => metrics.pageBegan(waitedMs),
      threads,
      heaps: THREAD_HEAPS,
    });
    closing.push(() => pool.close());
    const opening = {
      ...storeOptions(pool),
      onBackgroundError: (error: unknown, work: string) => onError(`${work} failed`)(error),
      acceptDamagedLog: given.acceptDamagedLog,
      onMigration: (text: string) => log.warn(text),
      onLogNotice: (text: string) => log.warn(text),
      onFault: onError('the database failed, and is opened anew'),
      onShortage: shortageLines(log),
      onLost: (error: unknown) => {
        log.fatal('ended: the database cannot be used any more', error);
        process.exit(1);
      },
      memory: { ...memory, owners: memory.holders / 2 },
    };
    const store = await openForServer(directory, opening, LOCK_WAIT_MS, stop);
    // A start that fails, as where the port is in use, leaves no store behind that it made itself.
    closing.push(() => (isServing ? store.close() : store.leave()));
    await sweepStaging(directory, wallMs());
    const clock = asOfS === null ? systemClock : frozenClock(asOfS);
    const settings = given.cluster && sharedSettings(given, given.cluster.node, store, log);
    const options = settings === null ? given : withAnswers(given, settings.serving);
    const { staleAfterS, plans, native, quotes, evmChainId } = options;
    const tokens = new LiveTokens({
      ...{ source: store.depth, pool, clock, log, staleAfterS },
      maxHeldBytes: memory.ladders,
    });
    closing.push(() => tokens.close());
    const topScores = new TopScores(tokens, log);
    closing.push(() => topScores.close());
    const { depth } = store;
    const files = await openFragmentFiles(given, depth, log);
    const fragments = new Fragments({ pool, depth, log, memoryBytes: memory.fragments, files });
    closing.push(() => fragments.close());
    const filler = files && new FragmentFiller({ source: depth, fragments, files, log });
    closing.push(async () => filler?.close());
    store.onSegments((removed) => {
      files?.remove(removed);
      filler?.look();
    });
    const orders = new LiveOrders({ source: store.orders, tokens, pool, clock, log });
    closing.push(() => orders.close());
    const holderFlows = new HolderFlows({
      ...{ source: store.holders, pool, clock, log },
      maxKeptBytes: memory.holders / 2,
    });
    closing.push(() => holderFlows.close());
    const lp = new LpTools({ source: store.lp, depth, tokens, workers: pool, clock, log, quotes });
    closing.push(() => lp.close());
    store.onChange((change) => {
      tokens.touch(change.tokenIds);
      lp.change(change);
      orders.touch(change);
      holderFlows.touch(change.holderTokens);
    });
    store.keys.onChange((change, { id, tier }) =>
      log.info(`key ${change}`, { key_id: id, key_tier: tier }),
    );
    store.onCommit(({ rows, cells }, tookMs) => metrics.committed(rows, cells, tookMs));
    metrics.follow({
      pagesWaiting: () => pool.waiting('page'),
      busyThreads: () => pool.busyThreads,
      storeBytes: () => store.bytes(),
      ...diskGauges(() => store.disk()),
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
    const node =
      options.cluster &&
      (await startNode({ ...options.cluster, settings, store, clock, metrics, log, closing }));
    const operations = node?.operations ?? store;
    const control = await listenForCommands(directory, operations, onError('a command failed'));
    closing.push(() => control.close());
    await tokens.start();
    await orders.start();
    // Not awaited: early requests wait for the first boards.
    lp.start();
    const retaining =
      Object.keys(options.retention).length > 0
        ? startRetention({ retention: options.retention, store, node, tokens, clock, log })
        : null;
    if (retaining !== null) closing.push(() => retaining.close());
    metrics.follow({ retentionWaits: () => (retaining?.waits === true ? 1 : 0) });
    putLoopFirst();
    const limiter = new Limiter({ usage: store.usage, plans });
    const engine = await loadEngine(options.engine, log);
    const server = await startServer({
      depth,
      keys: store.keys,
      handlers: liveHandlers({
        depth,
        limiter,
        tokens,
        topScores,
        orders,
        holderFlows,
        lp,
        quotes,
        queue: store.queue,
        clock,
        log,
        native,
        keptReplyBytes: memory.keptReplies,
        isDelayed: ({ tier }) => plans[tier].delayedDepth === true,
      }),
      reading: { evmChainId, lenientParameters: options.lenientParameters },
      addressLimit: options.addressLimit,
      corsOrigins: options.corsOrigins,
      checkPlan: limiter.check,
      pool,
      fragments,
      columns: new SegmentColumns(depth, memory.columns),
      clock,
      host,
      port,
      log,
      limits: httpLimits(memory.replies),
      engine,
      operations: {
        metrics,
        checks: {
          stopping: () => !isStopping,
          store: () => store.probe(),
          disk: () => store.checkCommits(),
          pool: () => pool.probe(),
          boards: () => lp.isReady,
          ...(node === null ? {} : checksOf(node)),
        },
        admin: options.admin,
      },
      ...(node === null ? {} : { position: () => node.position }),
    });
    closing.push(() => server.close());
    isServing = true;
    filler?.look();
    void warnOfFault(engine, log);
    return {
      url: server.url,
      port: server.port,
      close: async () => {
        isStopping = true;
        log.info('stopping', { stop_delay_s: options.stopDelayS });
        await sleep(1000 * options.stopDelayS);
        await withDeadline(closeAll(), STOP_DEADLINE_MS, 'stopping').catch((error: unknown) => {
          // What was committed is in the log of the store.
          log.error('ended before everything was closed', {}, error);
          process.exit(1);
        });
        log.info('stopped');
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** Files of fragments; null if memory or disk has none of them: what an earlier start left there goes. */
async function openFragmentFiles(
  { directory, memory, fragmentsDiskBytes: maxBytes }: ServeOptions,
  depth: SegmentSource,
  log: Log,
): Promise<FragmentFiles | null> {
  if (maxBytes === 0 || memory.fragments === 0) {
    await rm(path.join(directory, FRAGMENTS_FOLDER), { recursive: true, force: true });
    return null;
  }
  return FragmentFiles.open({
    ...{ directory, maxBytes, onTrouble: fragmentTroubleLines(log) },
    stored: (ids) => depth.storedSegments(ids),
  });
}

/** The settings that a node shares with the others of its cluster. */
function sharedSettings(
  options: ServeOptions,
  node: string,
  store: Store,
  log: Log,
): SharedSettings {
  const settings = new SharedSettings({
    ...{ store, node, own: answersOf(options) },
    onOther: (names) =>
      names.length === 0
        ? log.info("the cluster's settings are those of this node again")
        : log.warn("the cluster's settings were changed: restart this node to serve with them", {
            settings: names.join(', '),
          }),
  });
  const { overruled } = settings;
  if (overruled.length > 0) {
    log.warn("the cluster's settings hold: this node is configured otherwise", {
      settings: overruled.join(', '),
    });
  }
  return settings;
}

/** Starts to follow the cluster's log. The modules for that are loaded only here. */
async function startNode({
  access,
  node: name,
  replicas,
  settings,
  store,
  clock,
  metrics,
  log,
  closing,
}: NonNullable<ServeOptions['cluster']> & {
  settings: SharedSettings | null;
  store: Store;
  clock: Clock;
  metrics: Metrics;
  log: Log;
  closing: (() => Promise<void>)[];
}): Promise<LogNode> {
  const [{ JetStreamLog }, { LogNode }, { SharedUsage }] = await Promise.all([
    import('../../../storage/log/jetstream.js'),
    import('../../../storage/log/node.js'),
    import('../../../storage/log/shared-usage.js'),
  ]);
  await store.usage.countAs(name);
  const { published, applied } = metrics.logTimes();
  const journal = new JetStreamLog({ ...access, replicas, name: `fathom ${name}` });
  const node = new LogNode({
    ...{ store, name, version: VERSION, nowS: () => clock.nowS() },
    log: journal,
    onStopped: (why) => log.error('the node follows the log no longer', { why }),
    onError: (error) =>
      log.warn('the log cannot be followed', {
        cause: error instanceof Error ? error.message : String(error),
      }),
    onFollowing: (position) => log.info('the log is followed again', { position }),
    onPublished: published,
    onApplied: applied,
    onMalformed: (position, why) =>
      log.warn('an entry of the log was not written by Fathom: every node passes over it', {
        ...{ position, why },
      }),
    ...(settings === null ? {} : { settings }),
  });
  const usage = new SharedUsage(store.usage, journal, name, (error) =>
    log.error('counting calls over all nodes failed', {}, error),
  );
  closing.push(
    () => node.close(),
    () => usage.close(),
  );
  metrics.follow({ logPosition: () => node.position, logLagS: () => node.lagMs / 1000 });
  return node;
}

/** The conditions for a node of a cluster to be ready. */
function checksOf(node: LogNode): Checks {
  return {
    log: () => node.checkLog(),
    following: () => node.checkFollowing(),
    lag: () => node.checkLag(),
  };
}
