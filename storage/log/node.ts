/** A node of a cluster: follows the log, reports its state, and stops if it cannot continue. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Tier } from '../../compute/market.js';
import type { Removed } from '../../compute/segment/remove.js';
import type { TokenName } from '../contract.js';
import type { ArchivedDay } from '../archive/archived-day.js';
import { operationsOfNode, type StoreOperations } from '../operations.js';
import type { Cutoffs } from '../depth/retention-steps.js';
import { InputError, messageOf, StoreUnavailableError } from '../errors.js';
import type { Store } from '../store.js';
import { wallS } from '../wall-clock.js';
import { Applier, StoppedError } from './applier.js';
import type { JetStreamLog, LogState } from './jetstream.js';
import { Lag } from './lag.js';
import { positionToFollow, ShortLogError } from './log-check.js';
import type { LogMessage } from './log-reader.js';
import { clockDoubt, Presence } from './presence.js';
import { Publisher } from './publisher.js';
import type { Settings } from './settings.js';

/** How often a node asks for the end of the log. */
const POLL_MS = 1000;
/** Pause after a failure; it doubles up to the second value. */
const RETRY_MS = [250, 1000] as const;
/** JetStream counts as away after this time without an answer. */
const UNREACHABLE_AFTER_MS = 10_000;
/** How often a node reports its state and searches for another node with its name. */
const REPORT_EVERY_MS = 30_000;
/** How long a node waits, in milliseconds. */
const TIMES = {
  /** If an entry has waited for longer, the node is not ready and looks at the log again. */
  maxLagMs: 5000,
  /** For a command's entry to be applied, once the log has it. */
  waitMs: 30_000,
  /** For a log that has become shorter. */
  shortForMs: 10_000,
  /** For the log's origin, before a change is published. */
  beginWithinMs: 10_000,
};

export interface NodeOptions {
  store: Store;
  log: JetStreamLog;
  name: string;
  version: string;
  /** Called with the reason when the node stops following the log. */
  onStopped: (why: string) => void;
  /** Called once for each failure that the node retries. */
  onError: (error: unknown) => void;
  /** Called once a node that reported a failure has all entries again. */
  onFollowing?: ((position: number) => void) | undefined;
  onPublished?: (tookMs: number) => void;
  onApplied?: (tookMs: number) => void;
  /** Called with an entry that no version of Fathom writes: every node skips it. */
  onMalformed?: (position: number, why: string) => void;
  settings?: NodeSettings;
  /** Retention's clock, in epoch seconds; by default the system's. */
  nowS?: () => number;
  times?: Partial<typeof TIMES>;
}

/** A node's settings, beside those in the log. */
export interface NodeSettings {
  /** Those of its configuration: the cluster begins with them if this node begins it. */
  own: Settings;
  /** Names of settings in which the log differs from those with which the node serves. */
  others: readonly string[];
  /** Called when the settings in the log have changed. */
  onChanged: () => void;
}

/** What a node does with its log. Only setState() changes it. */
type NodeState =
  /** It compares its store's mark with the log. `shortSinceMs`: since when the log lacks entries that the store has. */
  | { does: 'look'; failure: Error | null; shortSinceMs: number | null }
  /** It applies entries. `applying`: the current one; null while it waits for the next. */
  | { does: 'follow'; failure: Error | null; applying: LogMessage | null }
  /** It has stopped; if the error may pass, it looks again from time to time. */
  | { does: 'stop'; error: StoppedError };

/** Another process with this node's name joined earlier. */
class TwinError extends StoppedError {
  constructor(name: string) {
    super(`another node is called ${name}: start this one with a name (--node) that no other has`);
  }
}

export class LogNode {
  private state: NodeState = { does: 'look', failure: null, shortSinceMs: null };
  private readonly times: typeof TIMES;
  private readonly ending = new AbortController();
  private readonly lag = new Lag(
    () => this.position,
    () => this.applying,
  );
  private readonly publisher: Publisher;
  private readonly applier: Applier;
  private readonly presence: Presence;
  private readonly working: Promise<void>;

  constructor(private readonly options: NodeOptions) {
    const { store, log, name, version, onApplied, onMalformed } = options;
    this.times = { ...TIMES, ...options.times };
    this.publisher = new Publisher({
      store,
      log,
      ...this.times,
      checkFollows: () => this.checkFollows(),
      isApplying: (id) => this.applying?.id === id,
      whyWaiting: () => `${this.lag.text}${this.reason}`,
      onPublished: (position, tookMs) => {
        options.onPublished?.(tookMs);
        this.lag.reaches(position);
      },
    });
    this.applier = new Applier({
      store,
      log,
      name,
      onApplied,
      onMalformed,
      publisher: this.publisher,
    });
    this.presence = new Presence(log, name, version, () => ({
      position: this.position,
      lagS: Number.isFinite(this.lagMs) ? this.lagMs / 1000 : null,
      stopped: this.stoppedBy,
      settings: store.applied.settings,
      otherSettings: options.settings?.others ?? [],
      clockS: this.nowS(),
    }));
    this.working = this.work();
  }

  /** Position of the last applied entry. */
  get position(): number {
    return this.options.store.mark?.position ?? 0;
  }

  /** Why the node no longer follows the log; null if it does. */
  get stoppedBy(): string | null {
    return this.state.does === 'stop' ? this.state.error.message : null;
  }

  /** Infinity if unknown. */
  get lagMs(): number {
    return this.lag.ms;
  }

  /** Rejects with the entry if an entry has waited too long, or may have. */
  checkLag(): Promise<void> {
    return check(this.lagMs < this.times.maxLagMs ? null : `${this.lag.text}${this.reason}`);
  }

  /** Rejects while JetStream is unreachable; passes if the node has stopped, because it then does not ask. */
  checkLog(): Promise<void> {
    const ms = this.lag.sincePollMs;
    if (ms < UNREACHABLE_AFTER_MS || this.state.does === 'stop') return check(null);
    const since = ms === Infinity ? 'yet' : `for ${UNREACHABLE_AFTER_MS / 1000} s`;
    return check(`JetStream has not answered ${since}${this.reason}`);
  }

  /** Rejects if the node no longer follows the log. */
  checkFollowing(): Promise<void> {
    return check(this.stoppedBy);
  }

  /** The store's operations for commands: changes go through the log. */
  get operations(): StoreOperations {
    const { publisher } = this;
    return operationsOfNode(this.options.store, {
      isNode: () => Promise.resolve(true),
      commit: (bundle) => publisher.commit(bundle),
      createKey: (request) => publisher.createKey(request),
      updateKey: (key, changes) => publisher.updateKey(key, changes),
      rotateKey: (key, overlapS) => publisher.rotateKey(key, overlapS),
      revokeKey: (key) => publisher.revokeKey(key),
      changeSettings: (settings) => publisher.changeSettings(settings),
      archiveNext: async (beginsRun) => {
        // Several nodes may be told to archive at once: each takes the days in an order of its own.
        return this.options.store.archiverOfCommands.next((day) => this.archive(day), {
          beginsRun,
          inAnyOrder: true,
        });
      },
      restoreArchived: (window) => publisher.restore(window),
      collectObjects: async (keepSinceS, takesOver) => {
        await this.checkCurrent();
        return this.options.store.archiverOfCommands.collect(keepSinceS, takesOver);
      },
      sweepObjects: async (after) => {
        await this.checkCurrent();
        return this.options.store.archiverOfCommands.sweep(after);
      },
      leaveLog: () => Promise.reject(new InputError('this node runs: stop it first')),
    });
  }

  /** Takes the step of retention that is due for a token, through the log. */
  retire(token: TokenName, cutoffs: Cutoffs, made: readonly Tier[]): Promise<Removed | null> {
    return this.publisher.retire(token, cutoffs, made);
  }

  /** Has the cluster's log name an object of the archive. */
  archive(day: ArchivedDay): Promise<number[] | null> {
    return this.publisher.archive(day);
  }

  /** Rejects unless the node has applied the log's entries, and its clock agrees with the other nodes'. */
  async checkCurrent(): Promise<void> {
    await Promise.all([this.checkLog(), this.checkFollowing(), this.checkLag()]).catch(
      (error: unknown) => {
        throw new StoreUnavailableError(
          `this node may lack entries of the log: ${messageOf(error)}`,
        );
      },
    );
    const doubt = await this.clockDoubt();
    if (doubt !== null) throw new StoreUnavailableError(doubt);
  }

  /** Why retention should not trust this node's clock; null if it may. @throws LogUnreachableError */
  clockDoubt(): Promise<string | null> {
    return clockDoubt(this.options.log, () => this.nowS());
  }

  /** Finishes the entry that is being applied, and stops following. */
  async close(): Promise<void> {
    this.ending.abort();
    await this.working;
    const { log } = this.options;
    const isTwin = this.state.does === 'stop' && this.state.error instanceof TwinError;
    if (log.reason === '' && !isTwin) await this.presence.report().catch(() => undefined);
    await log.close();
    this.publisher.fail('the node was stopped before it applied it');
  }

  private nowS(): number {
    return (this.options.nowS ?? wallS)();
  }

  private get applying(): LogMessage | null {
    return this.state.does === 'follow' ? this.state.applying : null;
  }

  /** The last failure, which may still keep entries from arriving, as ` (...)`. */
  private get reason(): string {
    const failure = this.state.does === 'stop' ? null : this.state.failure;
    return this.options.log.reason || (failure === null ? '' : ` (${failure.message})`);
  }

  private checkFollows(): void {
    if (this.ending.signal.aborted) throw new StoreUnavailableError('this node is being stopped');
    if (this.state.does === 'stop') throw new StoreUnavailableError(this.refusal(this.state.error));
  }

  private refusal(error: StoppedError): string {
    return `this node no longer follows its log: ${error.message}`;
  }

  /** Changes the state, and reports a stop or a new failure. */
  private setState(next: NodeState): void {
    const before = this.state;
    this.state = next;
    if (next.does === 'stop') {
      if (before.does === 'stop' && before.error.message === next.error.message) return;
      this.options.onStopped(next.error.message);
      this.publisher.fail(this.refusal(next.error));
    } else if (next.failure !== null) {
      const reported = before.does === 'stop' ? null : before.failure;
      if (reported?.message !== next.failure.message) this.options.onError(next.failure);
    }
  }

  private async work(): Promise<void> {
    const { signal } = this.ending;
    let pauseMs: number = RETRY_MS[0];
    while (!signal.aborted) {
      const before = this.position;
      try {
        await this.follow(await this.look());
        this.lookAgain(this.state.does === 'follow' ? this.state.failure : null);
      } catch (error) {
        if (!signal.aborted || error instanceof StoppedError) this.lookAgain(asError(error));
      }
      if (this.state.does === 'stop' && !this.state.error.isTemporary) return;
      pauseMs = this.position > before ? RETRY_MS[0] : Math.min(2 * pauseMs, RETRY_MS[1]);
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  private lookAgain(failure: Error | null): void {
    if (failure instanceof StoppedError) this.setState({ does: 'stop', error: failure });
    // A stopped node looks again from time to time, and the reason for the stop remains.
    else if (this.state.does !== 'stop') {
      const shortSinceMs = this.state.does === 'look' ? this.state.shortSinceMs : null;
      this.setState({ does: 'look', failure, shortSinceMs });
    }
  }

  /** Applies the log's entries until the connection, or the log itself, is in doubt. */
  private async follow(from: number): Promise<void> {
    const failure = this.state.does === 'look' ? this.state.failure : null;
    this.setState({ does: 'follow', failure, applying: null });
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, this.ending.signal]);
    const failures: Error[] = [];
    // Not awaited: JetStream and the other nodes may take long to answer.
    for (const watching of [this.watchEnd(signal), this.watchName(signal)]) {
      void watching
        .catch((error: unknown) => signal.aborted || failures.push(asError(error)))
        .finally(() => stop.abort());
    }
    try {
      for await (const messages of this.options.log.follow(from, signal)) {
        if (!(await this.apply(messages, signal))) break;
      }
    } finally {
      stop.abort();
    }
    for (const failure of failures) throw failure;
  }

  /** @returns false if the node should no longer follow */
  private async apply(messages: readonly LogMessage[], signal: AbortSignal): Promise<boolean> {
    const { store, settings } = this.options;
    let left = messages.filter(({ position }) => position > this.position);
    while (left.length > 0) {
      this.setApplying(left[0]);
      const before = store.applied.settings;
      try {
        left = left.slice(await this.applier.apply(left));
      } finally {
        this.setApplying(null);
      }
      if (store.applied.settings !== before) settings?.onChanged();
      if (signal.aborted) return false;
    }
    return true;
  }

  private setApplying(applying: LogMessage | null): void {
    if (this.state.does === 'follow') this.setState({ ...this.state, applying });
  }

  /**
   * Watches the end of the log, as long as the log is the one that is being followed.
   * @throws Error if JetStream does not answer, or does not deliver an entry for too long
   */
  private async watchEnd(signal: AbortSignal): Promise<void> {
    const { maxLagMs } = this.times;
    let idle = { position: -1, sinceMs: 0 };
    for (;;) {
      await sleep(POLL_MS, undefined, { signal, ref: false });
      const state = await this.poll();
      if (signal.aborted || this.state.does !== 'follow') return;
      const { position } = this;
      if (state === null || state.last < position || state.fault !== null) return;
      const hasAll = position >= state.last;
      if (hasAll && this.state.failure !== null) {
        this.setState({ ...this.state, failure: null });
        this.options.onFollowing?.(position);
      }
      if (hasAll || this.applying !== null || position !== idle.position) {
        idle = { position, sinceMs: performance.now() };
      } else if (performance.now() - idle.sinceMs >= maxLagMs) {
        throw new Error(
          `the log has entry ${state.last}, but this node has received none after ${position} for ${maxLagMs / 1000} s: it looks at the log again`,
        );
      }
    }
  }

  /** Reports the node's state. @throws TwinError if a process that began earlier has the same name */
  private async watchName(signal: AbortSignal): Promise<void> {
    for (;;) {
      // If JetStream is unreachable, watchEnd() reports it.
      const hasTwin = await this.presence.hasOlderTwin().catch(() => false);
      if (hasTwin) throw new TwinError(this.options.name);
      await sleep(REPORT_EVERY_MS, undefined, { signal, ref: false });
    }
  }

  /** The state of the log; makes the log if this store has followed none. */
  private async poll(): Promise<LogState | null> {
    const { log, store } = this.options;
    const state = await log.state(store.mark === null);
    this.lag.polled(state?.last ?? 0);
    return state;
  }

  /** Finds the position from which to follow the log. @throws StoppedError if the store cannot follow it */
  private async look(): Promise<number> {
    const { log, store } = this.options;
    const state = await this.poll();
    if (store.mark === null && state?.last === 0 && state.fault === null) {
      const { name, settings } = this.options;
      await this.publisher.publishOrigin(name, settings?.own ?? {});
    }
    try {
      return await positionToFollow(log, state, store.mark);
    } catch (error) {
      throw error instanceof ShortLogError ? this.shortLog(error) : error;
    }
  }

  /** A server that has just started may lack entries: the node stops only if the log stays short. */
  private shortLog(error: ShortLogError): Error {
    if (this.state.does === 'look') {
      const nowMs = performance.now();
      const shortSinceMs = this.state.shortSinceMs ?? nowMs;
      this.setState({ ...this.state, shortSinceMs });
      if (nowMs - shortSinceMs < this.times.shortForMs) return error;
    }
    return new StoppedError(`${error.message}: docs/cluster.md has the way back`, true);
  }
}

const check = (fault: string | null): Promise<void> =>
  fault === null ? Promise.resolve() : Promise.reject(new Error(fault));

const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));
