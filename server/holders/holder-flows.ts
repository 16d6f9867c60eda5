/** The flows of tokens' holders: worked out in the pool when asked for, and kept while they hold. */
import type { HolderFlow } from '../../compute/holders/flow.js';
import { flowPlan, neededTimes, nextVisibleS } from '../../compute/holders/flow-plan.js';
import type { ComputePool, RunTask } from '../../compute/pool.js';
import type { HolderSource } from '../../storage/contract.js';
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';

/** Flows that are kept: some 100 KB each. Past it the ones asked for least recently are let go. */
export const MAX_KEPT_FLOWS = 512;
/** After an ingest, flows that were asked for within this time are worked out before they are again. */
export const ASKED_LATELY_MS = 15 * 60_000;
/** Reads of one token: stored snapshots may be thinned while they are about to be read. */
const MAX_READS = 5;

/** A token's flow as of a moment. */
export interface TokenFlow {
  /** Another number for every flow that was ever worked out. */
  revision: number;
  flow: HolderFlow;
}

interface KeptFlow extends Reading {
  current: TokenFlow;
  /** Holders have changed since. */
  stale: boolean;
  askedMs: number;
}

interface Reading {
  current: TokenFlow | null;
  /** When the clock alone makes it another one; null: never. */
  nextVisibleS: number | null;
}

/** A flow that is being worked out; all who ask for it meanwhile share it. */
interface Job {
  started: boolean;
  /** Holders have changed since it was started. */
  stale: boolean;
  result: Promise<TokenFlow | null>;
}

export interface HolderFlowsOptions {
  source: HolderSource;
  pool: Pick<ComputePool, 'schedule'>;
  clock: Clock;
  log: Log;
  maxKept?: number;
}

export class HolderFlows {
  /** By mint, the least recently asked for first. */
  private readonly kept = new Map<string, KeptFlow>();
  private readonly jobs = new Map<string, Job>();
  private readonly toFollow = new Set<string>();
  private following: Promise<void> | null = null;
  private revisions = 0;
  private closed = false;

  constructor(private readonly options: HolderFlowsOptions) {}

  /** Flows that are kept. */
  get keptFlows(): number {
    return this.kept.size;
  }

  /**
   * The flow of a mint's holders now: at once where it is kept; null: no snapshot is visible.
   * @throws Error where what is stored is damaged
   */
  get(tokenAddress: string): TokenFlow | null | Promise<TokenFlow | null> {
    const kept = this.kept.get(tokenAddress);
    if (kept === undefined) return this.work(tokenAddress);
    this.kept.delete(tokenAddress);
    this.kept.set(tokenAddress, kept);
    kept.askedMs = performance.now();
    return this.holds(kept) ? kept.current : this.work(tokenAddress);
  }

  /** Takes note of a commit that changed these mints' holders. */
  touch(tokenAddresses: Iterable<string>): void {
    const latelyMs = performance.now() - ASKED_LATELY_MS;
    for (const tokenAddress of tokenAddresses) {
      const job = this.jobs.get(tokenAddress);
      if (job?.started) job.stale = true;
      const kept = this.kept.get(tokenAddress);
      if (kept === undefined) continue;
      kept.stale = true;
      if (kept.askedMs >= latelyMs) this.toFollow.add(tokenAddress);
      else this.kept.delete(tokenAddress);
    }
    if (this.toFollow.size === 0 || this.closed) return;
    this.following ??= this.follow().finally(() => {
      this.following = null;
      // What was touched between the last look and now.
      this.touch([]);
    });
  }

  /** Resolves when the flows that changes have made stale are worked out anew. */
  async settled(): Promise<void> {
    while (this.following !== null) await this.following;
  }

  /** Follows changes no more, and waits for what is under way. */
  async close(): Promise<void> {
    this.closed = true;
    await this.following;
    await Promise.allSettled(Array.from(this.jobs.values(), ({ result }) => result));
  }

  private holds({ stale, nextVisibleS: nextS }: KeptFlow): boolean {
    return !stale && (nextS === null || this.options.clock.nowS() < nextS);
  }

  /** One by one, so that what is asked for meanwhile does not wait behind them. Never rejects. */
  private async follow(): Promise<void> {
    for (const tokenAddress of this.toFollow) {
      this.toFollow.delete(tokenAddress);
      if (this.closed) return;
      if (this.kept.get(tokenAddress)?.stale !== true) continue;
      try {
        await this.work(tokenAddress);
      } catch (error) {
        // It stays stale: the next request tries again, and is told.
        const fields = { token_address: tokenAddress };
        this.options.log.error('a holder flow could not be worked out', fields, error);
      }
    }
  }

  private work(tokenAddress: string): Promise<TokenFlow | null> {
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
  ): Promise<TokenFlow | null> {
    try {
      // Of one token, one at a time: at most one runs and another waits, however often it changes.
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
    // One that was worked out in the background has been asked for no more lately than before.
    const askedMs = this.kept.get(tokenAddress)?.askedMs ?? performance.now();
    this.kept.set(tokenAddress, { current, nextVisibleS: nextS, stale: false, askedMs });
    const maxKept = this.options.maxKept ?? MAX_KEPT_FLOWS;
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= maxKept) break;
      this.kept.delete(oldest);
    }
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
      if (flow !== null) {
        return { current: { revision: ++this.revisions, flow }, nextVisibleS: nextS };
      }
      if (reads === MAX_READS) {
        throw new Error(`holder snapshots of ${tokenAddress} were gone whenever they were read`);
      }
    }
  }
}
