/** Lets depth go by its age, in the background. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Removed } from '../compute/segment/remove.js';
import type { StoreOperations, TokenName } from './contract.js';
import { addRemoved } from './depth/depth-commit.js';
import { cutoffsAt, madeTiers, type Retention } from './depth/retention-steps.js';
import type { Store } from './store.js';

/** Time between two looks for what is too old. */
const EVERY_MS = 60_000;
/** With this rest it takes a tenth of the writer's time at most. */
const REST_SHARE = 9;

interface RetentionOptions {
  store: Pick<Store, 'retire'> & Pick<StoreOperations, 'tokensBefore'>;
  retention: Retention;
  nowS: () => number;
  /** Rest after a step, as a multiple of its time. */
  restShare?: number;
  /** Called when something was removed. */
  onRemoved: (removed: Removed) => void;
  /** Called when it fails for a token; the others follow, and this one again at the next look. */
  onError: (error: unknown, token: TokenName | null) => void;
}

export class Retaining {
  private readonly ending = new AbortController();
  private readonly working: Promise<void>;

  constructor(private readonly options: RetentionOptions) {
    this.working = this.work();
  }

  /** Waits for the running step, and drops the rest. */
  async close(): Promise<void> {
    this.ending.abort();
    await this.working;
  }

  private async work(): Promise<void> {
    while (!this.ending.signal.aborted) {
      try {
        await this.look();
      } catch (error) {
        this.options.onError(error, null);
      }
      await this.rest(EVERY_MS);
    }
  }

  private async look(): Promise<void> {
    const { store, retention, nowS, restShare = REST_SHARE, onRemoved, onError } = this.options;
    const cutoffs = cutoffsAt(retention, nowS());
    const made = madeTiers(retention);
    const removed: Removed = { snapshots: 0, changedSnapshots: 0, cells: 0 };
    for (const token of await store.tokensBefore(cutoffs)) {
      try {
        while (!this.ending.signal.aborted) {
          const beganMs = performance.now();
          const step = await store.retire(token, cutoffs, made);
          if (step === null) break;
          addRemoved(removed, step);
          await this.rest((performance.now() - beganMs) * restShare);
        }
      } catch (error) {
        onError(error, token);
      }
    }
    if (removed.snapshots > 0) onRemoved(removed);
  }

  private rest(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.ending.signal, ref: false }).catch(() => undefined);
  }
}
