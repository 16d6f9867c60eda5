/** The server's metrics in Prometheus' text format (docs/operating.md). This module alone knows prom-client. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { isDamage } from '../../compute/damage.js';
import type { Log } from '../log.js';
import type { Exchange } from '../http/exchange.js';

/** Other methods are counted as one: a label has few values. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'OPTIONS']);
const OTHER_METHOD = 'other';
/** The route of a request that no route takes. */
const NO_ROUTE = 'none';
/** The status of a request whose client went before the reply. */
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

/** What the rows of a commit belong to: a dataset's name, `snapshots` for depth in either form. */
export type RowsByDataset = Readonly<Record<string, number>>;

/** Gauges, each read when the metrics are. */
interface Gauges {
  /** 1 where /readyz says so, else 0. */
  isReady: () => Promise<number>;
  requestsInFlight: () => number;
  replyBytesInFlight: () => number;
  pagesWaiting: () => number;
  busyThreads: () => number;
  storeBytes: () => Promise<number>;
  /** Seconds since the newest snapshot of all tokens; null without one. */
  newestSnapshotAgeS: () => number | null;
  staleTokens: () => number;
}

const GAUGES: Readonly<Record<keyof Gauges, { metric: string; help: string }>> = {
  isReady: { metric: 'fathom_ready', help: '1 if /readyz says that the server is ready, else 0' },
  requestsInFlight: { metric: 'fathom_http_in_flight', help: 'Requests in progress' },
  replyBytesInFlight: {
    metric: 'fathom_reply_bytes_in_flight',
    help: 'Bytes of replies that clients have yet to read',
  },
  pagesWaiting: { metric: 'fathom_page_queue_length', help: 'Replay pages that wait' },
  busyThreads: { metric: 'fathom_pool_busy_threads', help: 'Worker threads that run a task' },
  storeBytes: { metric: 'fathom_store_bytes', help: 'Bytes of the store and its log' },
  newestSnapshotAgeS: {
    metric: 'fathom_newest_snapshot_age_seconds',
    help: 'Age of the newest snapshot of all tokens; NaN without one',
  },
  staleTokens: {
    metric: 'fathom_stale_tokens',
    help: 'Tokens whose newest snapshot is older than --stale-after',
  },
};

/** Counters of one route, looked up once. */
interface RouteMetrics {
  observe: (seconds: number) => void;
  /** By method and status. */
  requests: Map<string, () => void>;
}

export class Metrics {
  private readonly registry = new Registry();
  private readonly routes = new Map<string, RouteMetrics>();
  private readonly requests = this.counter('fathom_http_requests_total', 'Requests that ended', [
    'route',
    'method',
    'status',
  ]);
  private readonly durations = this.histogram(
    'fathom_http_request_duration_seconds',
    'Time from a request to the end of its reply',
    REQUEST_BUCKETS_S,
    ['route'],
  );
  private readonly pages = this.counter(
    'fathom_pages_total',
    'Replay pages by what answered them',
    ['source'],
  );
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

  constructor() {
    collectDefaultMetrics({ register: this.registry });
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
      const { metric, help } = GAUGES[name as keyof Gauges];
      this.gauge(metric, help, async (gauge) => gauge.set((await read()) ?? NaN));
    }
  }

  requestEnded({ route, method, status, ageMs }: Exchange): void {
    const { observe, requests } = this.metricsOf(route ?? NO_ROUTE);
    observe(ageMs / 1000);
    const name = METHODS.has(method) ? method : OTHER_METHOD;
    const code = status ?? CLIENT_GONE;
    const key = `${name} ${code}`;
    let count = requests.get(key);
    if (count === undefined) {
      const child = this.requests.labels(route ?? NO_ROUTE, name, String(code));
      count = () => child.inc();
      requests.set(key, count);
    }
    count();
  }

  pageAnswered(source: PageSource): void {
    this.pages.inc({ source });
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
  countingDamage(log: Log): Log {
    return {
      ...log,
      error: (message, fields, error) => {
        if (isDamage(error)) this.damage.inc();
        log.error(message, fields, error);
      },
    };
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }

  private metricsOf(route: string): RouteMetrics {
    let metrics = this.routes.get(route);
    if (metrics === undefined) {
      const child = this.durations.labels(route);
      metrics = { observe: (seconds) => child.observe(seconds), requests: new Map() };
      this.routes.set(route, metrics);
    }
    return metrics;
  }

  private counter<L extends string>(name: string, help: string, labelNames: L[] = []): Counter<L> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  private histogram<L extends string>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: L[] = [],
  ): Histogram<L> {
    return new Histogram({ name, help, buckets, labelNames, registers: [this.registry] });
  }

  private gauge<L extends string>(
    name: string,
    help: string,
    collect: (gauge: Gauge<L>) => void | Promise<void>,
    labelNames: L[] = [],
  ): void {
    new Gauge<L>({
      ...{ name, help, labelNames, registers: [this.registry] },
      collect() {
        return collect(this);
      },
    });
  }
}
