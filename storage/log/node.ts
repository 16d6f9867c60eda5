/** A node of a cluster: follows the log, says how it stands, and stops where it cannot go on. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Tier } from '../../compute/market.js';
import type { Removed } from '../../compute/segment/remove.js';
import type { QueuedToken, StoreOperations, TokenName } from '../contract.js';
import type { Cutoffs } from '../depth/retention-steps.js';
import { InputError, StoreUnavailableError } from '../errors.js';
import type { Store } from '../store.js';
import { wallS } from '../wall-clock.js';
import { Applier, StoppedError } from './applier.js';
import {
  clockDoubt,
  clusterQueue,
  hasOlderTwin,
  report,
  packQueue,
  packStatus,
  QUEUE_TOPIC,
  STATUS_TOPIC,
} from './cluster.js';
import { BundleSweep } from './bundle-sweep.js';
import { type Entry, packEntry } from './entry.js';
import type { LogMessage } from './consumer.js';
import { Lag } from './lag.js';
import { type JetStreamLog, LogMovedError, type LogState } from './jetstream.js';
import { Publisher } from './publisher.js';
import type { SharedSettings } from './settings.js';

/** How often a node asks where the log ends. */
const POLL_MS = 1000;
/** Rest after a failure; it grows to the second one. */
const RETRY_MS = [250, 1000] as const;
/** A node is ready where no entry has waited longer. One that the log owes an entry for so long asks anew. */
const MAX_LAG_MS = 5000;
/** A command whose change the log has had for so long is told that this node has not applied it. */
const COMMAND_WAIT_MS = 30_000;
/** JetStream that has not answered for so long is away. */
export const AWAY_AFTER_MS = 10_000;
/** A server that has just started may know less of the log than it will: so long a node waits. */
const SHORT_FOR_MS = 10_000;
/** Every so many polls it reports how it stands, and asks whether another node has its name. */
const REPORT_EVERY_TURNS = 30;

export interface NodeOptions {
  store: Store;
  log: JetStreamLog;
  name: string;
  /** Of this program. */
  version: string;
  /** Told why it follows no longer, once. */
  onStopped: (why: string) => void;
  /** Told of failures that it tries again. */
  onError: (error: unknown) => void;
  onPublished?: (tookMs: number) => void;
  onApplied?: (tookMs: number) => void;
  /** Told of an entry that no version of Fathom writes, and that every node passes over. */
  onMalformed?: (position: number, why: string) => void;
  /** What nodes have in common beside the data. */
  settings?: SharedSettings;
  /** The clock that retention goes by, which nodes compare; by default the system's. */
  nowS?: () => number;
  /** How long a log may be shorter than it was. */
  shortForMs?: number;
  /** How long a change waits until the node has begun to follow. */
  beginWithinMs?: number;
  /** How long a large bundle lies beside the log before it goes, where no entry refers to it. */
  abandonedAfterMs?: number;
  /** How long a command waits for this node to apply its change. */
  waitMs?: number;
  /** How long a node waits for an entry before it asks with a new consumer. */
  maxLagMs?: number;
}

export class LogNode {
  private readonly ending = new AbortController();
  private readonly working: Promise<void>;
  private readonly lag = new Lag(() => this.position);
  /** What went wrong last. */
  private failure = '';
  /** Of each entry of the log, as of the last poll. */
  private copies = 1;
  private shortSinceMs: number | null = null;
  private why: string | null = null;
  private readonly process = crypto.randomUUID();
  private joined: number | null = null;
  private hasTwin = false;
  private readonly publisher: Publisher;
  private readonly applier: Applier;
  private readonly sweep: BundleSweep;

  constructor(private readonly options: NodeOptions) {
    const { store, log, name, version, onApplied, onMalformed } = options;
    this.publisher = new Publisher({
      ...{ store, log, beginWithinMs: options.beginWithinMs },
      checkFollows: () => this.checkFollows(),
      waitMs: options.waitMs ?? COMMAND_WAIT_MS,
      whyWaiting: () => `${this.lag.text}${this.reason}`,
      onPublished: (position, tookMs) => {
        options.onPublished?.(tookMs);
        this.lag.sawEnd(position);
      },
    });
    this.applier = new Applier({
      ...{ store, log, name, onApplied, onMalformed },
      publisher: this.publisher,
    });
    this.sweep = new BundleSweep(log, options.onError, options.abandonedAfterMs);
    this.working = this.work();
    const answer = (): Uint8Array => {
      const lagS = Number.isFinite(this.lagMs) ? this.lagMs / 1000 : null;
      return packStatus({
        ...{ node: name, process: this.process, joined: this.joined, version },
        ...{ position: this.position, lagS, stopped: this.why },
        otherSettings: options.settings?.others ?? [],
        clockS: this.nowS(),
      });
    };
    log.listen(STATUS_TOPIC, answer).catch(() => undefined);
    const queue = (): Uint8Array => packQueue(name, store.queue.list());
    log.listen(QUEUE_TOPIC, queue).catch(() => undefined);
  }

  /** The last entry that is applied. */
  get position(): number {
    return this.options.store.mark?.position ?? 0;
  }

  /** Why it follows no longer; null: it follows. */
  get stoppedBy(): string | null {
    return this.why;
  }

  /** Infinity where it is not known. */
  get lagMs(): number {
    return this.lag.ms;
  }

  /** @throws Error where an entry waits too long, or may: what for */
  checkLag(): Promise<void> {
    return this.lagMs < MAX_LAG_MS
      ? Promise.resolve()
      : Promise.reject(new Error(`${this.lag.text}${this.reason}`));
  }

  /** @throws Error where JetStream is away */
  checkLog(): Promise<void> {
    // A node that follows no longer does not ask.
    if (this.lag.sincePollMs < AWAY_AFTER_MS || this.why !== null) return Promise.resolve();
    return Promise.reject(
      new Error(`JetStream has not answered for ${AWAY_AFTER_MS / 1000} s${this.reason}`),
    );
  }

  /** @throws Error where it follows no longer */
  checkFollowing(): Promise<void> {
    return this.why === null ? Promise.resolve() : Promise.reject(new Error(this.why));
  }

  /** What commands ask of the store: changes go through the log. */
  get operations(): Omit<StoreOperations, 'holdFile'> & Pick<Store, 'holdFile'> {
    const { store } = this.options;
    const { publisher } = this;
    return {
      commit: (bundle) => publisher.commit(bundle),
      createKey: (request) => publisher.createKey(request),
      rotateKey: (id) => publisher.rotateKey(id),
      revokeKey: (id) => publisher.revokeKey(id),
      rehearse: (bundle) => store.rehearse(bundle),
      snapshotPrices: (keys) => store.snapshotPrices(keys),
      snapshotTimes: (key) => store.snapshotTimes(key),
      tokensBefore: (times) => store.tokensBefore(times),
      bytes: () => store.bytes(),
      holdFile: (released) => store.holdFile(released),
      checkStep: (cursor) => store.checkStep(cursor),
      shrink: () => store.shrink(),
      summary: () => store.summary(),
      listKeys: () => store.listKeys(),
      leaveLog: () => Promise.reject(new InputError('this node runs: stop it first')),
      allowRetention: (toS) => store.allowRetention(toS),
      listQueue: () => this.listQueue(),
    };
  }

  /** As the store does it: a step, which the log decides. */
  retire(token: TokenName, cutoffs: Cutoffs, made: readonly Tier[]): Promise<Removed | null> {
    return this.publisher.retire(token, cutoffs, made);
  }

  /** What speaks against this node's clock, by which retention goes; null: nothing. @throws LogAwayError */
  clockDoubt(): Promise<string | null> {
    return clockDoubt(this.options.log, () => this.nowS());
  }

  private nowS(): number {
    return (this.options.nowS ?? wallS)();
  }

  /** Waits for the running entry, and follows no more. */
  async close(): Promise<void> {
    this.ending.abort();
    await this.working;
    const { log } = this.options;
    if (log.reason === '' && !this.hasTwin) await this.report().catch(() => undefined);
    await log.close();
    this.publisher.fail('the node was stopped before it applied it');
  }

  /** Tokens that wait for data at any node that answers; of this one alone while JetStream is away. */
  private async listQueue(): Promise<QueuedToken[]> {
    const { store, log, name } = this.options;
    const own = store.queue.list();
    return clusterQueue(log, name, own).catch(() => own);
  }

  /** What went wrong last, as ` (...)`. */
  private get reason(): string {
    return this.options.log.reason || (this.failure && ` (${this.failure})`);
  }

  private checkFollows(): void {
    if (this.ending.signal.aborted) throw new StoreUnavailableError('this node is being stopped');
    if (this.why !== null) {
      throw new StoreUnavailableError(`this node follows its log no longer: ${this.why}`);
    }
  }

  private async work(): Promise<void> {
    const { signal } = this.ending;
    let restMs: number = RETRY_MS[0];
    while (!signal.aborted) {
      const before = this.position;
      try {
        await this.session();
      } catch (error) {
        if (error instanceof StoppedError) {
          this.stop(error.message);
          if (!error.mayPass) return;
        } else this.failed(error);
      }
      restMs = this.position > before ? RETRY_MS[0] : Math.min(2 * restMs, RETRY_MS[1]);
      await sleep(restMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  private failed(error: unknown): void {
    if (this.ending.signal.aborted) return;
    const before = this.failure;
    this.failure = error instanceof Error ? error.message : String(error);
    // What fails again and again is told once.
    if (this.failure !== before) this.options.onError(error);
  }

  private stop(why: string): void {
    if (this.why === why) return;
    this.why = why;
    this.options.onStopped(why);
    this.publisher.fail(`this node follows its log no longer: ${why}`);
  }

  /** Follows the log until the connection, or the log itself, is in doubt. */
  private async session(): Promise<void> {
    const from = await this.start(await this.poll());
    this.why = null;
    this.lag.asksAnew();
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, this.ending.signal]);
    const polling = this.pollUntil(signal).finally(() => stop.abort());
    try {
      for await (const messages of this.options.log.follow(from, signal)) {
        if (!(await this.take(messages, signal))) break;
      }
    } finally {
      this.lag.inHand(null);
      stop.abort();
      await polling;
    }
    if (this.hasTwin) {
      const { name } = this.options;
      throw new StoppedError(
        `another node is called ${name}: start this one with a name (--node) that no other has`,
      );
    }
  }

  /** Applies entries as they came. @returns false where one is missing, or it is to end */
  private async take(messages: readonly LogMessage[], signal: AbortSignal): Promise<boolean> {
    let left = messages.filter(({ position }) => position > this.position);
    if (left.some(({ position }, i) => position !== this.position + 1 + i)) return false;
    while (left.length > 0) {
      this.lag.inHand(left[0].timeMs);
      left = left.slice(await this.applier.apply(left));
      this.lag.inHand(null);
      if (signal.aborted) return false;
    }
    return true;
  }

  private async pollUntil(signal: AbortSignal): Promise<void> {
    const { maxLagMs = MAX_LAG_MS } = this.options;
    try {
      for (let turn = 0; !signal.aborted; turn++) {
        // Not awaited: it takes as long as nodes may take to answer.
        if (turn % REPORT_EVERY_TURNS === 0) void this.checkName().catch(() => undefined);
        await sleep(POLL_MS, undefined, { signal, ref: false });
        if (this.hasTwin) return;
        const state = await this.poll();
        if (state === null || state.last < this.position || state.fault !== null) return;
        if (this.position >= state.last) this.failure = '';
        if (this.lag.owedMs >= maxLagMs) {
          throw new Error(
            `the log has entry ${state.last}, and this node got none behind ${this.position} for ${maxLagMs / 1000} s: it asks with a new consumer`,
          );
        }
        // Not awaited: what is published is applied by the session, which waits for the end of this.
        const isNear = this.options.store.settings.log !== null && this.lagMs < POLL_MS;
        if (isNear || this.position >= state.last) void this.shareSettings();
        this.sweep.look();
      }
    } catch (error) {
      if (!signal.aborted) this.failed(error);
    }
  }

  /** Says how it stands to those who ask when it is silent. */
  private async report(): Promise<number> {
    const { log, name, version } = this.options;
    const number = await report(log, name, { version, position: this.position }, this.copies);
    this.joined ??= number;
    return this.joined;
  }

  private async checkName(): Promise<void> {
    const joined = await this.report();
    const { log, name: node } = this.options;
    this.hasTwin ||= await hasOlderTwin(log, { node, process: this.process, joined });
  }

  private async shareSettings(): Promise<void> {
    const { settings, onError } = this.options;
    await settings?.share((own) => this.publisher.changeSettings(own)).catch(onError);
  }

  /** The state of the log, which a node makes that has followed none. */
  private async poll(): Promise<LogState | null> {
    const { log, store } = this.options;
    const state = await log.state(store.mark === null);
    this.lag.polled(state?.last ?? 0);
    this.copies = state?.replicas ?? 1;
    return state;
  }

  /**
   * Where to follow the log from, once it is known to be the one that this node has followed.
   * @throws StoppedError
   */
  private async start(state: LogState | null): Promise<number> {
    const { log, store, shortForMs = SHORT_FOR_MS } = this.options;
    const { mark } = store;
    if (state !== null && state.fault !== null) throw new StoppedError(state.fault, true);
    const { id, first, last } = state ?? { id: mark?.logId ?? '', first: 1, last: 0 };
    if (mark === null) {
      if (last === 0) await this.begin();
      if (first > 1)
        throw new StoppedError(`the log begins at entry ${first}: begin with a backup of a node`);
      return 1;
    }
    const { position, entryId } = mark;
    if (mark.logId !== id) {
      throw new StoppedError('this is another log than the one that the store has followed');
    }
    const found = first <= position && last >= position ? await log.idAt(position) : entryId;
    // A server that lags behind the others may answer, and lack what it is asked for.
    if (last < position || found === null) {
      this.shortSinceMs ??= performance.now();
      const text = `the log ends at entry ${Math.min(last, position - 1)}, and this node has applied ${position}`;
      if (performance.now() - this.shortSinceMs < shortForMs) throw new Error(text);
      throw new StoppedError(`${text}: docs/cluster.md has the way back`, true);
    }
    this.shortSinceMs = null;
    if (first > position + 1) {
      throw new StoppedError(
        `the log begins at entry ${first}, and this node has applied ${position}: begin with a newer backup`,
      );
    }
    if (found !== entryId) {
      throw new StoppedError(
        `the log's entry ${position} is another one than this node has applied`,
      );
    }
    return position + 1;
  }

  /** Publishes the first entry, unless another node is faster. */
  private async begin(): Promise<void> {
    const { log, store, name } = this.options;
    // The others begin with copies.
    await store.completeDigests(this.ending.signal);
    if (this.ending.signal.aborted) return;
    const entry: Entry = {
      kind: 'origin',
      node: name,
      pepper: store.keys.secret,
      hasData: !store.log.isEmpty(),
    };
    try {
      await log.publish('origin', packEntry(entry), `origin of ${name}`, { after: 0 });
    } catch (error) {
      if (!(error instanceof LogMovedError)) throw error;
    }
  }
}
