/** The server's metrics in Prometheus' text format (docs/operating.md). Only this module imports prom-client. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { isDamage } from '../../compute/damage.js';
import type { Logger } from '../logger.js';
import type { Collectors } from './collectors.js';
import type { Exchange } from '../http/exchange.js';

/** Other methods are counted as one: a label has few values. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'OPTIONS']);
const OTHER_METHOD = 'other';
/** The route of a request that matches none. */
const NO_ROUTE = 'none';
/** The status of a request whose client disconnected before the reply. */
export const CLIENT_GONE = 499;
/** Upper bounds, in seconds. */
const REQUEST_BUCKETS_S = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
const WAIT_BUCKETS_S = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const COMMIT_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const LOOP_DELAY_QUANTILES = [0.5, 0.99, 1];
const NS_PER_S = 1e9;

/** How a replay page was answered. */
export type PageSource = 'fragments' | 'pool' | 'not_modified';

/** Rows of a commit by the name of their dataset; `snapshots` for depth in either form. */
type RowsByDataset = Readonly<Record<string, number>>;

/** Gauges, and counts kept elsewhere, that are read together with the metrics: names and texts. */
const GAUGES = {
  isReady: ['fathom_ready', '1 if /readyz says that the server is ready, else 0'],
  requestsInFlight: ['fathom_http_in_flight', 'Requests in progress'],
  replyBytesInFlight: [
    'fathom_reply_bytes_in_flight',
    'Bytes of replies that clients have yet to read',
  ],
  pagesWaiting: ['fathom_page_queue_length', 'Replay pages that wait'],
  busyThreads: ['fathom_pool_busy_threads', 'Worker threads that run a task'],
  storeBytes: ['fathom_store_bytes', 'Bytes of the store, its WAL and its log'],
  diskFreeBytes: ['fathom_disk_free_bytes', "Bytes of the store's disk that it may still fill"],
  diskBytes: ['fathom_disk_bytes', "Bytes of the store's disk"],
  storeWalBytes: [
    'fathom_store_wal_bytes',
    'Bytes of committed data that are not yet in the database file',
  ],
  checkpointsPostponed: [
    'fathom_checkpoints_postponed_total',
    'Checkpoints postponed because the disk had too little space',
  ],
  commitsRefused: [
    'fathom_commits_refused_total',
    'Commits refused because the disk had too little space',
  ],
  blocksMemoryBytes: ['fathom_blocks_memory_bytes', 'Bytes of blocks of segments in memory'],
  fragmentsMemoryBytes: ['fathom_fragments_memory_bytes', 'Bytes of fragments of pages in memory'],
  fragmentFiles: [
    'fathom_fragments_disk_files',
    'Files of fragments of pages, each of one segment',
  ],
  fragmentFileBytes: ['fathom_fragments_disk_bytes', 'Bytes of fragments of pages on disk'],
  fragmentFileReads: [
    'fathom_fragments_disk_reads_total',
    'Files of fragments that were read for pages',
  ],
  fragmentFileFailures: [
    'fathom_fragments_disk_failures_total',
    'Files of fragments that could not be written',
  ],
  newestSnapshotAgeS: [
    'fathom_newest_snapshot_age_seconds',
    'Age of the newest snapshot of all tokens; NaN without one',
  ],
  staleTokens: ['fathom_stale_tokens', 'Tokens whose newest snapshot is older than --stale-after'],
  retentionWaits: [
    'fathom_retention_waits',
    '1 while retention waits, for the reason in the log; else 0',
  ],
  archiveWaiting: [
    'fathom_archive_days_waiting',
    'Days that wait to be archived, as of the last search; NaN if this server archives none',
  ],
  archiveFails: [
    'fathom_archive_fails',
    '1 while archiving fails, for the reason in the log; else 0; NaN if this server archives nothing',
  ],
  archiveReads: ['fathom_archive_reads_total', 'Ranges of objects that were read'],
  archiveReadBytes: ['fathom_archive_read_bytes_total', 'Bytes of these ranges'],
  archiveFailures: [
    'fathom_archive_failures_total',
    'Ranges of objects that could not be read, or were damaged',
  ],
  archiveFiles: ['fathom_archive_disk_files', 'Files with blocks of archived days'],
  archiveFileBytes: ['fathom_archive_disk_bytes', 'Bytes of these files'],
  logPosition: [
    'fathom_log_position',
    "The last entry of the cluster's log that the node has applied",
  ],
  logLagS: [
    'fathom_log_lag_seconds',
    'Age of the oldest entry that the node has not applied; Inf if it is not known',
  ],
  logRefusals: [
    'fathom_log_refusals_total',
    'Changes that JetStream refused, such as for lack of room',
  ],
} as const;

/** Reads each gauge; null: it has no value now. */
export type Gauges = Readonly<
  Record<keyof typeof GAUGES, () => number | null | Promise<number | null>>
>;

/** The state of live connections. */
interface StreamState {
  readonly size: number;
  readonly waitingBytes: number;
  /** By channel. */
  subscriptions(): Readonly<Record<string, number>>;
}

const methodOf = (method: string): string => (METHODS.has(method) ? method : OTHER_METHOD);

/** Times, passed to prom-client only when the metrics are read, because it takes microseconds to count one. */
class Durations {
  totalS = 0;
  /** Durations up to each of the bounds and above the one before it, and those above all. */
  readonly buckets: Float64Array;

  /** @param bounds in seconds, ascending */
  constructor(readonly bounds: readonly number[]) {
    this.buckets = new Float64Array(bounds.length + 1);
  }

  add(seconds: number): void {
    let bucket = 0;
    while (seconds > this.bounds[bucket]) bucket++;
    this.buckets[bucket]++;
    this.totalS += seconds;
  }
}

class RouteRequests {
  readonly durations = new Durations(REQUEST_BUCKETS_S);
  /** By method, then status. */
  readonly counts = new Map<string, Map<number, number>>();

  ended(method: string, status: number, seconds: number): void {
    this.durations.add(seconds);
    let ofMethod = this.counts.get(method);
    if (ofMethod === undefined) this.counts.set(method, (ofMethod = new Map<number, number>()));
    ofMethod.set(status, (ofMethod.get(status) ?? 0) + 1);
  }
}

export class Metrics {
  private readonly registry = new Registry();
  private readonly routes = new Map<string, RouteRequests>();
  private readonly pages = this.counter('fathom_pages_total', 'Replay pages by source', ['source']);
  private readonly streamMessages = new Map<string, number>();
  private readonly streamLag = new Durations(WAIT_BUCKETS_S);
  private readonly pageWaits = this.histogram(
    'fathom_page_queue_wait_seconds',
    'Time that replay pages waited for the pool',
    WAIT_BUCKETS_S,
  );
  private readonly damage = this.counter(
    'fathom_damaged_data_total',
    'Errors logged because stored data are damaged',
  );
  private readonly rows = this.counter('fathom_ingest_rows_total', 'Rows committed', ['dataset']);
  private readonly cells = this.counter('fathom_ingest_cells_total', 'Cells committed');
  private readonly commits = this.histogram(
    'fathom_commit_duration_seconds',
    'Time of a commit to the store',
    COMMIT_BUCKETS_S,
  );

  /** Times of a node of a cluster, in seconds. */
  logTimes(): { published: (tookMs: number) => void; applied: (tookMs: number) => void } {
    const publish = this.histogram(
      'fathom_log_publish_seconds',
      "Time until the cluster's log has acknowledged an entry of this node",
      COMMIT_BUCKETS_S,
    );
    const apply = this.histogram(
      'fathom_log_apply_seconds',
      "Time that the node needs to apply an entry of the cluster's log",
      COMMIT_BUCKETS_S,
    );
    return {
      published: (tookMs) => publish.observe(tookMs / 1000),
      applied: (tookMs) => apply.observe(tookMs / 1000),
    };
  }

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    this.followRequests();
    this.followMessages();
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    this.gauge(
      'fathom_event_loop_delay_seconds',
      'Delay of the event loop since the last scrape',
      (gauge) => {
        for (const quantile of LOOP_DELAY_QUANTILES) {
          const ns = quantile === 1 ? delay.max : delay.percentile(100 * quantile);
          gauge.set({ quantile: String(quantile) }, ns / NS_PER_S);
        }
        delay.reset();
      },
      ['quantile'],
    );
  }

  /** Adds gauges that are read when the metrics are. */
  follow(gauges: Partial<Gauges>): void {
    for (const [name, read] of Object.entries(gauges)) {
      const [metric, help] = GAUGES[name as keyof Gauges];
      if (metric.endsWith('_total')) this.count(metric, help, async () => (await read()) ?? NaN);
      else this.gauge(metric, help, async (gauge) => gauge.set((await read()) ?? NaN));
    }
  }

  requestEnded({ route, method, status, ageMs }: Exchange): void {
    const name = route ?? NO_ROUTE;
    let requests = this.routes.get(name);
    if (requests === undefined) this.routes.set(name, (requests = new RouteRequests()));
    requests.ended(methodOf(method), status ?? CLIENT_GONE, ageMs / 1000);
  }

  pageAnswered(source: PageSource): void {
    this.pages.inc({ source });
  }

  /** Counts a message of a live connection. @param lagMs time since its commit; null: no commit caused it */
  streamed(type: string, lagMs: number | null): void {
    this.streamMessages.set(type, (this.streamMessages.get(type) ?? 0) + 1);
    if (lagMs !== null) this.streamLag.add(lagMs / 1000);
  }

  followStream(hub: StreamState): void {
    this.gauge('fathom_stream_connections', 'Live connections', (gauge) => gauge.set(hub.size));
    this.gauge('fathom_stream_waiting_bytes', 'Bytes that live clients have yet to read', (gauge) =>
      gauge.set(hub.waitingBytes),
    );
    this.gauge(
      'fathom_stream_subscriptions',
      'Subscriptions of live connections',
      (gauge) => {
        for (const [channel, count] of Object.entries(hub.subscriptions())) {
          gauge.set({ channel }, count);
        }
      },
      ['channel'],
    );
  }

  followCollectors(collectors: Collectors): void {
    this.gauge(
      'fathom_collector_source_up',
      '1 if the source of a collector had a sample at its last interval, else 0',
      (gauge) => {
        for (const [source, isUp] of collectors.up()) gauge.set({ source }, isUp ? 1 : 0);
      },
      ['source'],
    );
    this.count('fathom_collector_snapshots_total', 'Snapshots that collectors stored', () =>
      Promise.resolve(collectors.snapshots),
    );
    new Counter({
      name: 'fathom_collector_resyncs_total',
      help: 'How often sources of collectors started over',
      labelNames: ['source', 'cause'],
      registers: [this.registry],
      collect() {
        this.reset();
        for (const { source, cause, count } of collectors.resyncs.values()) {
          this.inc({ source, cause }, count);
        }
      },
    });
  }

  pageBegan(waitedMs: number): void {
    this.pageWaits.observe(waitedMs / 1000);
  }

  committed(rows: RowsByDataset, cells: number, tookMs: number): void {
    for (const [dataset, count] of Object.entries(rows)) this.rows.inc({ dataset }, count);
    this.cells.inc(cells);
    this.commits.observe(tookMs / 1000);
  }

  /** The log, whose errors of damaged data are counted from here on. */
  countingDamage(logger: Logger): Logger {
    return {
      ...logger,
      error: (message, fields, error) => {
        if (isDamage(error)) this.damage.inc();
        logger.error(message, fields, error);
      },
    };
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }

  private followRequests(): void {
    const { routes } = this;
    new Counter({
      name: 'fathom_http_requests_total',
      help: 'Requests that ended',
      labelNames: ['route', 'method', 'status'],
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [route, { counts }] of routes) {
          for (const [method, ofMethod] of counts) {
            for (const [status, count] of ofMethod) this.inc({ route, method, status }, count);
          }
        }
      },
    });
    const name = 'fathom_http_request_duration_seconds';
    this.durations(name, 'Time from a request to the end of its reply', () =>
      [...routes].flatMap(([route, { durations }]) => samplesOf(name, { route }, durations)),
    );
  }

  private followMessages(): void {
    const { streamMessages, streamLag } = this;
    new Counter({
      name: 'fathom_stream_messages_total',
      help: 'Messages of live connections',
      labelNames: ['type'],
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [type, count] of streamMessages) this.inc({ type }, count);
      },
    });
    const name = 'fathom_stream_lag_seconds';
    this.durations(name, 'Time from a commit to the live messages that it causes', () =>
      samplesOf(name, {}, streamLag),
    );
  }

  /** A histogram of durations; prom-client's own takes only single observations. */
  private durations(name: string, help: string, samples: () => readonly object[]): void {
    const metric = { name, help, type: 'histogram', aggregator: 'sum' };
    // All that the registry asks of a metric.
    const read = { ...metric, get: () => ({ ...metric, values: samples() }) };
    this.registry.registerMetric(read as unknown as Histogram);
  }

  /** A counter whose count is kept elsewhere. */
  private count(name: string, help: string, read: () => Promise<number>): void {
    new Counter({
      name,
      help,
      registers: [this.registry],
      async collect() {
        const value = await read();
        this.reset();
        this.inc(value);
      },
    });
  }

  private counter<L extends string>(name: string, help: string, labelNames: L[] = []): Counter<L> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  private histogram(name: string, help: string, buckets: number[]): Histogram {
    return new Histogram({ name, help, buckets, registers: [this.registry] });
  }

  private gauge<L extends string>(
    name: string,
    help: string,
    collect: (gauge: Gauge<L>) => void | Promise<void>,
    labelNames: L[] = [],
  ): void {
    new Gauge<L>({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        return collect(this);
      },
    });
  }
}

/** The samples of a histogram of this name. */
function samplesOf(
  name: string,
  own: Readonly<Record<string, string>>,
  { bounds, buckets, totalS }: Durations,
) {
  let count = 0;
  const ofBuckets = Array.from(buckets, (more, i) => {
    const labels = { le: bounds[i] ?? '+Inf', ...own };
    return { metricName: `${name}_bucket`, labels, value: (count += more) };
  });
  return [
    ...ofBuckets,
    { metricName: `${name}_sum`, labels: own, value: totalS },
    { metricName: `${name}_count`, labels: own, value: count },
  ];
}
