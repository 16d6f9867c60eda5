/** Holder flows by token: computed in the pool on request, and kept while they are valid. */
import { LRUCache } from 'lru-cache';
import { flowPlan, neededTimes, nextVisibleS } from '../../compute/holders/flow-plan.js';
import type { HolderFlow } from '../../compute/holders/flow.js';
import type { ComputePool, RunTask } from '../../compute/pool.js';
import type { HolderSource } from '../../storage/contract.js';
import type { Clock } from '../clock.js';
import { Updater } from '../updater.js';
import type { Logger } from '../logger.js';
import { DEFAULT_SHARES } from '../memory.js';

/** Bytes of a kept flow. */
const FLOW_BYTES = 100 * 1024;
/** After an ingest, flows requested within this time are recomputed without a request. */
const RECENT_REQUEST_MS = 15 * 60_000;
/** Attempts to read a token: its snapshots may be thinned before they are read. */
const MAX_READS = 5;

interface Reading {
  current: HolderFlow | null;
  /** When the passing of time next changes it; null: never. */
  nextVisibleS: number | null;
}

interface KeptFlow extends Reading {
  current: HolderFlow;
  /** Whether holders have changed since. */
  stale: boolean;
  requestedMs: number;
}

/** A computation of a flow, which concurrent requests share. */
interface Job {
  started: boolean;
  /** Whether holders have changed since it started. */
  stale: boolean;
  result: Promise<HolderFlow | null>;
}

interface HolderFlowsOptions {
  source: HolderSource;
  pool: Pick<ComputePool, 'schedule'>;
  clock: Clock;
  logger: Logger;
  /** Memory for kept flows; the least recently used go first. */
  maxKeptBytes?: number;
}

export class HolderFlows {
  private readonly kept: LRUCache<string, KeptFlow>;
  private readonly jobs = new Map<string, Job>();
  /** Recomputes stale flows one by one, so that requests do not wait behind them. */
  private readonly updater: Updater<string>;

  constructor(private readonly options: HolderFlowsOptions) {
    const { maxKeptBytes = DEFAULT_SHARES.holders / 2 } = options;
    this.kept = new LRUCache({ max: Math.ceil(maxKeptBytes / FLOW_BYTES) });
    this.updater = new Updater({
      work: async ([tokenAddress]) => {
        if (this.kept.peek(tokenAddress)?.stale) await this.work(tokenAddress);
      },
      failure: 'a holder flow could not be computed',
      keyField: 'token_address',
      logger: options.logger,
      // It stays stale, and the next request tries again.
      retryAfterMs: null,
    });
    this.updater.start();
  }

  /** Number of kept flows. */
  get keptFlows(): number {
    return this.kept.size;
  }

  /**
   * The current flow of a mint's holders, at once if it is kept; null: no snapshot is visible.
   * @throws Error if the stored data are damaged
   */
  get(tokenAddress: string): HolderFlow | null | Promise<HolderFlow | null> {
    const kept = this.kept.get(tokenAddress);
    if (kept === undefined) return this.work(tokenAddress);
    kept.requestedMs = performance.now();
    return this.isValid(kept) ? kept.current : this.work(tokenAddress);
  }

  /** Marks the flows of these mints as stale after a commit. */
  touch(tokenAddresses: Iterable<string>): void {
    const recentMs = performance.now() - RECENT_REQUEST_MS;
    for (const tokenAddress of tokenAddresses) {
      const job = this.jobs.get(tokenAddress);
      if (job?.started) job.stale = true;
      const kept = this.kept.peek(tokenAddress);
      if (kept === undefined) continue;
      kept.stale = true;
      if (kept.requestedMs >= recentMs) this.updater.touch([tokenAddress]);
      else this.kept.delete(tokenAddress);
    }
  }

  /** Resolves when stale flows are recomputed. */
  settled(): Promise<void> {
    return this.updater.settled();
  }

  /** Stops following changes, and waits for the current work. */
  async close(): Promise<void> {
    await this.updater.close();
    await Promise.allSettled(Array.from(this.jobs.values(), ({ result }) => result));
  }

  private isValid({ stale, nextVisibleS: nextS }: KeptFlow): boolean {
    return !stale && (nextS === null || this.options.clock.nowS() < nextS);
  }

  private work(tokenAddress: string): Promise<HolderFlow | null> {
    const before = this.jobs.get(tokenAddress);
    if (before !== undefined && !before.stale) return before.result;
    const job: Job = { started: false, stale: false, result: Promise.resolve(null) };
    job.result = this.run(tokenAddress, job, before);
    this.jobs.set(tokenAddress, job);
    return job.result;
  }

  private async run(
    tokenAddress: string,
    job: Job,
    before: Job | undefined,
  ): Promise<HolderFlow | null> {
    try {
      // At most one job of a token runs and one waits, however often it changes.
      await before?.result.catch(() => undefined);
      return await this.options.pool.schedule('board', 'holderFlow', async (run) => {
        job.started = true;
        const reading = await this.read(tokenAddress, run);
        if (!job.stale) this.keep(tokenAddress, reading);
        return reading.current;
      });
    } finally {
      if (this.jobs.get(tokenAddress) === job) this.jobs.delete(tokenAddress);
    }
  }

  private keep(tokenAddress: string, { current, nextVisibleS: nextS }: Reading): void {
    if (current === null) {
      this.kept.delete(tokenAddress);
      return;
    }
    const fresh = { current, nextVisibleS: nextS, stale: false };
    // Work in the background does not count as a request.
    const kept = this.kept.peek(tokenAddress);
    if (kept !== undefined) Object.assign(kept, fresh);
    else this.kept.set(tokenAddress, { ...fresh, requestedMs: performance.now() });
  }

  private async read(tokenAddress: string, run: RunTask): Promise<Reading> {
    const { source, clock } = this.options;
    for (let reads = 1; ; reads++) {
      const times = await source.times(tokenAddress);
      const nowS = clock.nowS();
      const plan = flowPlan(times, nowS);
      const nextS = nextVisibleS(times, nowS);
      if (plan === null) return { current: null, nextVisibleS: nextS };
      const { names, blocks } = await source.read(tokenAddress, neededTimes(plan));
      const flow = await run('holderFlow', { plan, names, blocks });
      if (flow !== null) return { current: flow, nextVisibleS: nextS };
      if (reads === MAX_READS) {
        throw new Error(
          `holder snapshots of ${tokenAddress} were removed before each attempt to read them`,
        );
      }
    }
  }
}
