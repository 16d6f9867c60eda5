/** Deletes depth by age, in the background. If a wrong clock may be the only reason that data are due, an operator has to allow it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_T_S } from '../compute/ingest/fields.js';
import { TIERS } from '../compute/market.js';
import type { Removed } from '../compute/segment/remove.js';
import { DAY_S, isoOf } from '../compute/time.js';
import type { TokenName } from './contract.js';
import type { StoreOperations } from './operations.js';
import { addRemoved, nothingRemoved } from './depth/depth-commit.js';
import { byTier } from './depth/directory.js';
import { type Cutoffs, cutoffsAt, tiersToMake, type Retention } from './depth/retention-steps.js';
import { DiskFullError, StoreUnavailableError } from './errors.js';
import type { Store } from './store.js';
import { Trouble } from './trouble.js';

/** Time between two searches for old data. */
const EVERY_MS = 60_000;
/** Rest after each step, as a multiple of its time: retention takes at most a tenth of the writer's time. */
const REST_SHARE = 9;
/** A clock that is further ahead of the newest snapshot may be wrong. */
export const MAX_CLOCK_LEAD_S = 2 * DAY_S;
/**
 * More is due than usual if more than this share of the tokens have data that has been due for longer than
 * USUAL_OVERDUE_S, and no data that became due since.
 */
export const USUAL_OVERDUE_S = 2 * DAY_S;
const USUAL_OVERDUE_SHARE = 0.25;
/** Tokens examined to decide that. If there are more, every n-th is examined. */
const MAX_TOKENS_LOOKED_AT = 1000;

/** Why retention deletes nothing. */
export interface RetentionWait {
  why: string;
  /** The time that an operator would have to allow, epoch seconds; null if that would not help. */
  allowToS: number | null;
}

interface RetentionOptions {
  store: Pick<Store, 'retire'> & Pick<StoreOperations, 'tokensBefore' | 'snapshotTimes'>;
  retention: Retention;
  nowS: () => number;
  /** Time of the newest visible snapshot of any token at `nowS`; null if there is none. */
  newestT: () => number | null;
  /** The time allowed by an operator, epoch seconds. */
  allowedToS: () => Promise<number>;
  /** Why this node's clock should not be trusted; null if it may be. A single server cannot compare clocks. */
  clockDoubt?: () => Promise<string | null>;
  /** Rest after a step, as a multiple of its time. */
  restShare?: number;
  /** Time between two searches. */
  everyMs?: number;
  /** Called after something was removed. */
  onRemoved: (removed: Removed) => void;
  /** Called once when retention begins to wait; onResume() when it continues. */
  onWaiting: (wait: RetentionWait) => void;
  onResume: () => void;
  /** Called if it fails for a token; it continues with the others and retries this one at the next search. */
  onError: (error: unknown, token: TokenName | null) => void;
}

export class RetentionWorker {
  private readonly ending = new AbortController();
  private readonly waiting: Trouble<RetentionWait>;
  private readonly working: Promise<void>;

  constructor(private readonly options: RetentionOptions) {
    const { onWaiting: onBegan, onResume: onOver } = options;
    this.waiting = new Trouble({ onBegan, onOver });
    this.working = this.work();
  }

  /** Whether something is due that retention does not delete yet. */
  get waits(): boolean {
    return this.waiting.lasts;
  }

  /** Waits for the running step and drops the rest. */
  async close(): Promise<void> {
    this.ending.abort();
    await this.working;
  }

  private async work(): Promise<void> {
    const { everyMs = EVERY_MS, onError } = this.options;
    while (!this.ending.signal.aborted) {
      try {
        await this.look();
      } catch (error) {
        if (!isStoreFailure(error)) onError(error, null);
        else if (!this.ending.signal.aborted) {
          this.waiting.began('store', { why: error.message, allowToS: null });
        }
      }
      await this.rest(everyMs);
    }
  }

  private async look(): Promise<void> {
    const { store, retention, nowS, allowedToS } = this.options;
    const clockS = nowS();
    const cutoffs = cutoffsAt(retention, clockS);
    let due = await store.tokensBefore(cutoffs);
    if (due.length > 0) {
      const doubt = (await this.options.clockDoubt?.()) ?? null;
      if (doubt !== null) return this.waiting.began('nodes', { why: doubt, allowToS: null });
      const allowed = cutoffsAt(retention, Math.min(clockS, await allowedToS()));
      await this.take(await store.tokensBefore(allowed), allowed);
      due = await store.tokensBefore(cutoffs);
    }
    if (due.length > 0) {
      const lead = this.clockLead(clockS);
      if (lead !== null) return this.waiting.began('clock', { why: lead, allowToS: clockS });
      const excess = await this.excess(cutoffs);
      if (excess !== null) return this.waiting.began('amount', { why: excess, allowToS: clockS });
    }
    await this.take(due, cutoffs);
    this.waiting.over();
  }

  /** Why the clock may be wrong; null if it is close to the newest data. */
  private clockLead(clockS: number): string | null {
    const newestT = this.options.newestT();
    if (newestT !== null && clockS - newestT <= MAX_CLOCK_LEAD_S) return null;
    const newest = newestT === null ? 'there is none' : `is of ${isoOf(newestT)}`;
    return `the clock says ${isoOf(clockS)}, and the newest snapshot ${newest}: more than ${MAX_CLOCK_LEAD_S / DAY_S} days apart`;
  }

  /**
   * Why more than usual would be deleted; null if not. If the clock is right, a token's snapshots continue beyond the
   * cut-off, even after an outage or with a shorter retention than before. If the clock has jumped, there is a gap
   * before the cut-off.
   */
  private async excess(cutoffs: Cutoffs): Promise<string | null> {
    const { store } = this.options;
    const overdue = await store.tokensBefore(byTier((tier) => overdueAt(cutoffs[tier])));
    const all = await store.tokensBefore(byTier(() => MAX_T_S + 1));
    if (overdue.length <= USUAL_OVERDUE_SHARE * all.length) return null;
    const every = Math.ceil(overdue.length / MAX_TOKENS_LOOKED_AT);
    const looked = overdue.filter((_, i) => i % every === 0);
    let jumped = 0;
    for (const token of looked) if (await this.hasJumped(token, cutoffs)) jumped++;
    const count = Math.round((jumped / looked.length) * overdue.length);
    if (count <= USUAL_OVERDUE_SHARE * all.length) return null;
    return `${count} of ${all.length} tokens have snapshots that have been due for more than ${USUAL_OVERDUE_S / DAY_S} days, and none that became due since`;
  }

  private async hasJumped(token: TokenName, cutoffs: Cutoffs): Promise<boolean> {
    for (const tier of TIERS) {
      const times = await this.options.store.snapshotTimes({ ...token, tier });
      const due = times.filter((t) => t < cutoffs[tier]);
      if (due.length > 0 && due[due.length - 1] < overdueAt(cutoffs[tier])) return true;
    }
    return false;
  }

  /** @throws StoreUnavailableError | DiskFullError, which would occur for every other token too */
  private async take(tokens: readonly TokenName[], cutoffs: Cutoffs): Promise<void> {
    const { store, retention, restShare = REST_SHARE, onRemoved, onError } = this.options;
    const made = tiersToMake(retention);
    const removed = nothingRemoved();
    try {
      for (const token of tokens) {
        try {
          while (!this.ending.signal.aborted) {
            const beganMs = performance.now();
            const step = await store.retire(token, cutoffs, made);
            if (step === null) break;
            this.waiting.over();
            addRemoved(removed, step);
            await this.rest((performance.now() - beganMs) * restShare);
          }
        } catch (error) {
          if (isStoreFailure(error)) throw error;
          onError(error, token);
        }
      }
    } finally {
      if (removed.snapshots > 0) onRemoved(removed);
    }
  }

  private rest(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.ending.signal, ref: false }).catch(() => undefined);
  }
}

/** Whether a step failed because of the whole store: it is unavailable, or its disk is full. */
function isStoreFailure(error: unknown): error is StoreUnavailableError | DiskFullError {
  return error instanceof StoreUnavailableError || error instanceof DiskFullError;
}

function overdueAt(cutoffS: number): number {
  return Math.max(0, cutoffS - USUAL_OVERDUE_S);
}
