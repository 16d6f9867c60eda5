/** The routes for operators, which need no key: /healthz, /readyz and /metrics (docs/operating.md). */
import type { Route } from '../http/router.js';
import type { Metrics } from './metrics.js';

/** A check that takes longer has failed. */
const CHECK_DEADLINE_MS = 2000;
/** Checks are run this often at most, however often somebody asks. */
const CHECK_INTERVAL_MS = 1000;

/** What has to hold for the server to be ready; each rejects, or says false, where it does not. */
export type Checks = Readonly<Record<string, () => boolean | Promise<void>>>;

export function operationsRoutes(checks: Checks, metrics: Metrics): Route[] {
  const readiness = new Readiness(checks);
  return [
    {
      method: 'GET',
      path: '/healthz',
      handle: ({ exchange }) => exchange.replyJson(200, { status: 'ok' }, NOT_STORED),
    },
    {
      method: 'GET',
      path: '/readyz',
      async handle({ exchange }) {
        const reasons = await readiness.reasons();
        if (reasons.length === 0) exchange.replyJson(200, { status: 'ready' }, NOT_STORED);
        else exchange.replyJson(503, { status: 'not_ready', reasons }, NOT_STORED);
      },
    },
    {
      method: 'GET',
      path: '/metrics',
      async handle({ exchange }) {
        const text = Buffer.from(await metrics.text());
        exchange.reply(200, [['Content-Type', metrics.contentType], ...NOT_STORED], text);
      },
    },
  ];
}

const NOT_STORED = [['Cache-Control', 'no-store']] as const;

class Readiness {
  private latest: { atMs: number; reasons: Promise<string[]> } | null = null;

  constructor(private readonly checks: Checks) {}

  /** Why the server is not ready, empty where it is; at most CHECK_INTERVAL_MS old. */
  reasons(): Promise<string[]> {
    const nowMs = performance.now();
    if (this.latest === null || nowMs - this.latest.atMs >= CHECK_INTERVAL_MS) {
      this.latest = { atMs: nowMs, reasons: this.check() };
    }
    return this.latest.reasons;
  }

  private async check(): Promise<string[]> {
    const reasons = await Promise.all(
      Object.entries(this.checks).map(async ([reason, check]) =>
        (await holds(check)) ? [] : [reason],
      ),
    );
    return reasons.flat();
  }
}

async function holds(check: () => boolean | Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), CHECK_DEADLINE_MS);
  });
  try {
    const held = Promise.resolve(check()).then((held) => held !== false);
    return await Promise.race([held, late]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
