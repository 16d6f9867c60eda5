/** The routes for operators, which need no key: /healthz, /readyz and /metrics (docs/operating.md). */
import { setTimeout as sleep } from 'node:timers/promises';
import { DeadlineError, withDeadline } from '../../compute/running-time.js';
import { messageOf } from '../../storage/errors.js';
import { BUILD } from '../../storage/version.js';
import { NOT_STORED } from '../http/errors.js';
import type { Route } from '../http/router.js';
import { Trouble } from '../../storage/trouble.js';
import type { Logger, LogFields } from '../logger.js';
import type { Metrics } from './metrics.js';

/** A check that takes longer has failed. */
const CHECK_DEADLINE_MS = 2000;
/** Minimum time between two runs of the checks, however many requests come. */
const CHECK_INTERVAL_MS = 1000;

/** Minimum time between two readings of the metrics: earlier requests wait for the next one, and share it. */
export const SCRAPE_INTERVAL_MS = 100;

/** Conditions for the server to be ready; a check that fails rejects, or returns false. */
export type Checks = Readonly<Record<string, () => boolean | Promise<void>>>;

/** What /readyz says besides whether the server is ready. */
export interface ServerState {
  /** Of the last entry of the log that the store has applied. */
  position: number;
  /** Whether the last read of the archive's objects failed; without an archive it is missing. */
  archive?: 'ok' | 'unreadable';
}

export function operationsRoutes(
  checks: Checks,
  metrics: Metrics,
  logger: Logger,
  state?: () => ServerState,
): Route[] {
  const readiness = new Readiness(checks, logger);
  const scrapes = new Scrapes(metrics);
  metrics.follow({
    isReady: async () => ((await readiness.reasons()).length === 0 ? 1 : 0),
  });
  return [
    {
      method: 'GET',
      path: '/healthz',
      handle: ({ exchange }) =>
        exchange.replyJson(200, { status: 'ok' }, [['X-Fathom-Version', BUILD], NOT_STORED]),
    },
    {
      method: 'GET',
      path: '/readyz',
      async handle({ exchange }) {
        const reasons = await readiness.reasons();
        const place = state?.();
        if (reasons.length === 0)
          exchange.replyJson(200, { status: 'ready', ...place }, [NOT_STORED]);
        else exchange.replyJson(503, { status: 'not_ready', reasons, ...place }, [NOT_STORED]);
      },
    },
    {
      method: 'GET',
      path: '/metrics',
      async handle({ exchange }) {
        const text = await scrapes.text();
        exchange.reply(200, [['Content-Type', metrics.contentType], NOT_STORED], text);
      },
    },
  ];
}

/** Reads the metrics once for all waiting requests: anyone can request them, and reading them blocks the event loop for milliseconds. */
class Scrapes {
  /** The next reading; null: none is requested. */
  private next: Promise<Buffer> | null = null;
  private latest: Promise<unknown> = Promise.resolve();
  private beganMs = -Infinity;

  constructor(private readonly metrics: Metrics) {}

  /** The metrics as of no earlier than now. */
  text(): Promise<Buffer> {
    this.next ??= this.read();
    return this.next;
  }

  private async read(): Promise<Buffer> {
    await this.latest;
    const waitMs = this.beganMs + SCRAPE_INTERVAL_MS - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    this.beganMs = performance.now();
    // Requests from here on get later values.
    this.next = null;
    const reading = this.metrics.text();
    this.latest = reading.catch(() => undefined);
    return Buffer.from(await reading);
  }
}

class Readiness {
  private latest: { atMs: number; reasons: Promise<string[]> } | null = null;
  private readonly trouble: Trouble<LogFields>;

  constructor(
    private readonly checks: Checks,
    logger: Logger,
  ) {
    this.trouble = new Trouble({
      onBegan: (fields) => logger.warn('not ready', fields),
      onOver: () => logger.info('ready again'),
    });
  }

  /** Why the server is not ready, empty if it is; at most CHECK_INTERVAL_MS old. */
  reasons(): Promise<string[]> {
    const nowMs = performance.now();
    if (this.latest === null || nowMs - this.latest.atMs >= CHECK_INTERVAL_MS) {
      this.latest = { atMs: nowMs, reasons: this.check() };
    }
    return this.latest.reasons;
  }

  private async check(): Promise<string[]> {
    const found = await Promise.all(
      Object.entries(this.checks).map(async ([reason, check]) => {
        const fault = await faultOf(check);
        return fault === null ? [] : [{ reason, fault }];
      }),
    );
    const failed = found.flat();
    const reasons = failed.map(({ reason }) => reason);
    if (reasons.length === 0) this.trouble.over();
    else {
      const causes = failed.flatMap(({ fault }) => (fault === '' ? [] : [fault]));
      const listed = reasons.join(', ');
      this.trouble.began(listed, { reasons: listed, cause: causes.join('; ') || null });
    }
    return reasons;
  }
}

/** Why a check fails, '' if it gives no reason; null if it holds. */
async function faultOf(check: () => boolean | Promise<void>): Promise<string | null> {
  try {
    const held = await withDeadline(Promise.resolve(check()), CHECK_DEADLINE_MS, 'check');
    return held === false ? '' : null;
  } catch (error) {
    if (error instanceof DeadlineError) return `no answer in ${CHECK_DEADLINE_MS} ms`;
    return messageOf(error);
  }
}
