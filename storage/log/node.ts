/** A node of a cluster: applies the log's entries in order, and brings what commands ask for into the log. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Tier } from '../../compute/market.js';
import type { Removed } from '../../compute/segment/remove.js';
import {
  BUNDLE_VERSION,
  bundleFile,
  type Frame,
  framesOf,
  readBundle,
  stagingFolder,
} from '../bundle.js';
import type {
  CommitReport,
  IssuedKey,
  KeyRecord,
  KeyRequest,
  StoreOperations,
  TokenName,
} from '../contract.js';
import type { Cutoffs } from '../depth/retention-steps.js';
import {
  BundleVersionError,
  DiskFullError,
  InputError,
  StoreChangedError,
  StoreUnavailableError,
} from '../errors.js';
import type { Store } from '../store.js';
import { wallMs } from '../wall-clock.js';
import {
  type Entry,
  NewerEntryError,
  packEntry,
  subjectOf,
  tokenSubject,
  unpackEntry,
} from './entry.js';
import {
  type JetStreamLog,
  LARGE_SUBJECT,
  LogAwayError,
  type LogMessage,
  LogMovedError,
  type LogState,
} from './jetstream.js';
import { packStatus, STATUS_TOPIC } from './cluster.js';
import type { LogMark } from './mark.js';

/** Larger bundles lie beside the log. */
export const MAX_ENTRY_BUNDLE_BYTES = 512 * 1024;
/** How often a node asks where the log ends. */
const POLL_MS = 1000;
/** Rest after a failure; it grows to the second one. */
const RETRY_MS = [250, 4000] as const;
/** JetStream that has not answered for so long is away. */
export const AWAY_AFTER_MS = 10_000;
/** A server that has just started may know less of the log than it will: so long a node waits. */
const SHORT_FOR_MS = 10_000;

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
  /** How long a log may be shorter than it was. */
  shortForMs?: number;
}

interface Waiting {
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

/** It cannot follow the log any more, and says why. */
class StoppedError extends Error {}

export class LogNode {
  private readonly ending = new AbortController();
  private readonly working: Promise<void>;
  /** The last position that the log is known to have. */
  private endPosition = 0;
  private polledAtMs: number | null = null;
  /** When the log took the entry that is being applied. */
  private inHandMs: number | null = null;
  /** Since when it has known of entries that it lacks; 0: since before it began. */
  private behindSinceMs = 0;
  private shortSinceMs: number | null = null;
  private why: string | null = null;
  /** Changes that this node has published, by the id of their entries. */
  private readonly waiting = new Map<string, Waiting>();

  constructor(private readonly options: NodeOptions) {
    this.working = this.work();
    const { log, name, version } = options;
    const answer = (): Uint8Array => {
      const lagS = Number.isFinite(this.lagMs) ? this.lagMs / 1000 : null;
      return packStatus({ node: name, version, position: this.position, lagS, stopped: this.why });
    };
    log.listen(STATUS_TOPIC, answer).catch(() => undefined);
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
    if (this.polledAtMs === null) return Infinity;
    if (this.position >= this.endPosition) return 0;
    return Math.max(0, wallMs() - (this.inHandMs ?? this.behindSinceMs));
  }

  /** @throws Error where JetStream is away */
  checkLog(): Promise<void> {
    const sinceMs = performance.now() - (this.polledAtMs ?? -Infinity);
    if (sinceMs < AWAY_AFTER_MS) return Promise.resolve();
    return Promise.reject(new Error(`JetStream has not answered for ${AWAY_AFTER_MS / 1000} s`));
  }

  /** @throws Error where it follows no longer */
  checkFollowing(): Promise<void> {
    return this.why === null ? Promise.resolve() : Promise.reject(new Error(this.why));
  }

  /** What commands ask of the store: changes go through the log. */
  get operations(): Omit<StoreOperations, 'holdFile'> & Pick<Store, 'holdFile'> {
    const { store } = this.options;
    return {
      commit: (bundle) => this.commit(bundle),
      createKey: (request) => this.createKey(request),
      rotateKey: (id) => this.rotateKey(id),
      revokeKey: (id) => this.revokeKey(id),
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
      listQueue: () => store.listQueue(),
    };
  }

  /** As the store does it: a step, which the log decides. */
  async retire(token: TokenName, cutoffs: Cutoffs, made: readonly Tier[]): Promise<Removed | null> {
    const step = await this.options.store.dueStep(token, cutoffs, made);
    if (step === null) return null;
    const name = `${token.chain}:${token.address}`;
    const entry = {
      ...{ kind: 'retirement' as const, token, made },
      cutoffs: { ...cutoffs, [step.tier]: step.toS },
    };
    // Every node finds it due: the first of them is the one.
    const id = `retire ${name} ${Object.values(entry.cutoffs).join(' ')}`;
    return this.submit<Removed>(tokenSubject(name), entry, id);
  }

  /** Waits for the running entry, and follows no more. */
  async close(): Promise<void> {
    this.ending.abort();
    await this.working;
    await this.options.log.close();
    this.failWaiting(
      new StoreUnavailableError('the node was stopped before it applied the change'),
    );
  }

  private async commit(bundle: string): Promise<CommitReport> {
    const { store, log } = this.options;
    const file = bundleFile(store.directory, bundle);
    const { size } = await stat(file);
    // What no node could apply must not get into the log.
    const heads: Frame[] = [];
    for await (const frame of readBundle(store.directory, bundle)) {
      if (size <= MAX_ENTRY_BUNDLE_BYTES || frame.kind === 'header') heads.push(frame);
    }
    const [header] = heads;
    if (header?.kind !== 'header' || header.version !== BUNDLE_VERSION)
      return store.rehearse(bundle);
    const subject = `${subjectOf(heads)}`;
    if (size <= MAX_ENTRY_BUNDLE_BYTES) {
      const entry = { kind: 'bundle' as const, bundle: await readFile(file) };
      return (await this.submit<CommitReport>(subject, entry, bundle)) as CommitReport;
    }
    this.checkTakes();
    const sha256 = await digestOf(file);
    await log.putObject(
      bundle,
      Readable.toWeb(createReadStream(file)) as ReadableStream<Uint8Array>,
    );
    const entry = { kind: 'large-bundle' as const, name: bundle, bytes: size, sha256 };
    try {
      return (await this.submit<CommitReport>(LARGE_SUBJECT, entry, bundle)) as CommitReport;
    } catch (error) {
      if (error instanceof LogAwayError) await log.deleteObject(bundle).catch(() => undefined);
      throw error;
    }
  }

  private async createKey(request: KeyRequest): Promise<IssuedKey> {
    const { issued, stored } = this.options.store.keys.draft(request);
    await this.submit('keys', { kind: 'key', stored, isNew: true });
    return issued;
  }

  private async rotateKey(id: string): Promise<IssuedKey> {
    const { issued, stored } = this.options.store.keys.draft({ id });
    await this.submit('keys', { kind: 'key', stored, isNew: false });
    return issued;
  }

  private async revokeKey(id: string): Promise<KeyRecord> {
    const revocation = this.options.store.keys.draftRevocation(id);
    return (await this.submit<KeyRecord>('keys', { kind: 'revocation', revocation })) as KeyRecord;
  }

  private checkTakes(): void {
    if (this.why !== null) {
      throw new StoreUnavailableError(`this node follows its log no longer: ${this.why}`);
    }
  }

  /**
   * Publishes an entry, and waits until this node has applied it.
   * @returns what applying it gave; null where it was published, and applied, before
   * @throws what applying it threw | LogAwayError | StoreUnavailableError
   */
  private async submit<T>(
    subject: string,
    entry: Entry,
    id: string = crypto.randomUUID(),
  ): Promise<T | null> {
    this.checkTakes();
    const { log, onPublished } = this.options;
    const applied = new Promise<unknown>((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
    });
    // It may fail while the entry is still being published.
    applied.catch(() => undefined);
    const beganMs = performance.now();
    const published = log
      .publish(subject, packEntry(entry), id)
      .then(({ position, isDuplicate }) => {
        onPublished?.(performance.now() - beganMs);
        this.sawEnd(position);
        return isDuplicate && position <= this.position ? null : applied;
      });
    // Applied, it is in the log, whether its acknowledgement came or not.
    return Promise.race([applied, published]).finally(() =>
      this.waiting.delete(id),
    ) as Promise<T | null>;
  }

  private failWaiting(error: Error): void {
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }

  private async work(): Promise<void> {
    const { signal } = this.ending;
    let restMs: number = RETRY_MS[0];
    while (!signal.aborted) {
      const before = this.position;
      try {
        await this.session();
      } catch (error) {
        if (error instanceof StoppedError) return this.stop(error.message);
        if (!signal.aborted) this.options.onError(error);
      }
      restMs = this.position > before ? RETRY_MS[0] : Math.min(2 * restMs, RETRY_MS[1]);
      await sleep(restMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  private stop(why: string): void {
    this.why = why;
    this.options.onStopped(why);
    this.failWaiting(new StoreUnavailableError(`this node follows its log no longer: ${why}`));
  }

  /** Follows the log until the connection, or the log itself, is in doubt. */
  private async session(): Promise<void> {
    const from = await this.start(await this.poll());
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, this.ending.signal]);
    const polling = this.pollUntil(signal).finally(() => stop.abort());
    try {
      for await (const message of this.options.log.follow(from, signal)) {
        if (message.position <= this.position) continue;
        if (message.position > this.position + 1) break;
        this.inHandMs = message.timeMs;
        await this.apply(message);
        this.inHandMs = null;
        if (signal.aborted) break;
      }
    } finally {
      this.inHandMs = null;
      stop.abort();
      await polling;
    }
  }

  private async pollUntil(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        await sleep(POLL_MS, undefined, { signal, ref: false });
        const state = await this.poll();
        if (state === null || state.last < this.position) return;
      }
    } catch (error) {
      if (!signal.aborted) this.options.onError(error);
    }
  }

  /** The state of the log, which a node makes that has followed none. */
  private async poll(): Promise<LogState | null> {
    const { log, store } = this.options;
    const state = await log.state(store.mark === null);
    this.polledAtMs = performance.now();
    this.endPosition = state?.last ?? 0;
    this.sawEnd(this.endPosition);
    return state;
  }

  private sawEnd(position: number): void {
    const wasBehind = this.behindSinceMs > 0 && this.position < this.endPosition;
    this.endPosition = Math.max(this.endPosition, position);
    if (this.position >= this.endPosition || !wasBehind) this.behindSinceMs = wallMs();
  }

  /**
   * Where to follow the log from, once it is known to be the one that this node has followed.
   * @throws StoppedError
   */
  private async start(state: LogState | null): Promise<number> {
    const { log, store, shortForMs = SHORT_FOR_MS } = this.options;
    const { mark } = store;
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
    if (last < position) {
      this.shortSinceMs ??= performance.now();
      const text = `the log ends at entry ${last}, and this node has applied ${position}`;
      if (performance.now() - this.shortSinceMs < shortForMs) throw new Error(text);
      throw new StoppedError(`${text}: docs/cluster.md has the way back`);
    }
    this.shortSinceMs = null;
    if (first > position + 1) {
      throw new StoppedError(
        `the log begins at entry ${first}, and this node has applied ${position}: begin with a newer backup`,
      );
    }
    if (first <= position && (await log.idAt(position)) !== entryId) {
      throw new StoppedError(
        `the log's entry ${position} is another one than this node has applied`,
      );
    }
    return position + 1;
  }

  /** Publishes the first entry, unless another node is faster. */
  private async begin(): Promise<void> {
    const { log, store, name } = this.options;
    const entry: Entry = {
      kind: 'origin',
      node: name,
      pepper: store.keys.secret,
      hasData: !store.log.isEmpty(),
    };
    try {
      await log.publish('origin', packEntry(entry), `origin of ${name}`, 0);
    } catch (error) {
      if (!(error instanceof LogMovedError)) throw error;
    }
  }

  /** @throws StoppedError | Error where it may succeed when it is tried again */
  private async apply({ position, id, data }: LogMessage): Promise<void> {
    const { store, log, onApplied } = this.options;
    const beganMs = performance.now();
    const logId = store.mark?.logId ?? (await log.state())?.id ?? '';
    const mark: LogMark = { logId, position, entryId: id };
    const waiting = this.waiting.get(id);
    try {
      const result = await this.applied(unpackEntry(data), mark);
      waiting?.resolve(result);
    } catch (error) {
      if (error instanceof NewerEntryError || error instanceof BundleVersionError) {
        throw new StoppedError(error.message);
      }
      if (!isDecided(error)) throw error;
      if (store.log.isDamaged()) {
        throw new StoppedError(
          `entry ${position} meets damaged data of this node, and others may decide it otherwise: begin with a backup`,
        );
      }
      await store.log.pass(mark);
      waiting?.reject(error);
    }
    onApplied?.(performance.now() - beganMs);
  }

  private async applied(entry: Entry, mark: LogMark): Promise<unknown> {
    const { store } = this.options;
    switch (entry.kind) {
      case 'origin':
        await this.checkOrigin(entry);
        return store.log.pass(mark);
      case 'bundle':
        return store.log.bundle(() => framesOf(entry.bundle), mark);
      case 'large-bundle':
        return this.withLargeBundle(entry, mark.entryId, () =>
          store.log.bundle(() => readBundle(store.directory, entry.name), mark),
        );
      case 'retirement':
        return store.log.retirement(entry, mark);
      case 'key':
        return store.log.key(entry.stored, entry.isNew, mark);
      case 'revocation':
        return store.log.revocation(entry.revocation, mark);
    }
  }

  /** @throws StoppedError where this store is not what the log begins with */
  private async checkOrigin(entry: Extract<Entry, { kind: 'origin' }>): Promise<void> {
    const { store, name } = this.options;
    const isOurs = entry.node === name && Buffer.compare(entry.pepper, store.keys.secret) === 0;
    if (isOurs) return;
    if (!store.log.isEmpty()) {
      throw new StoppedError(
        `the store holds data that the log does not know: begin with an empty directory, or a backup of node ${entry.node}`,
      );
    }
    if (entry.hasData) {
      throw new StoppedError(
        `the log goes on from a store of node ${entry.node}: begin with a backup of a node`,
      );
    }
    await store.keys.adoptSecret(entry.pepper);
  }

  /** Runs `body` while the bundle lies in the staging folder. */
  private async withLargeBundle<T>(
    { name, bytes, sha256 }: Extract<Entry, { kind: 'large-bundle' }>,
    id: string,
    body: () => Promise<T>,
  ): Promise<T> {
    // The command that waits for it has put it there.
    if (this.waiting.has(id)) return body();
    const { store, log } = this.options;
    const file = bundleFile(store.directory, name);
    try {
      await stagingFolder(store.directory);
      const content = Readable.fromWeb(await log.getObject(name));
      await pipeline(content, createWriteStream(file, { mode: 0o600 }));
      const { size } = await stat(file);
      if (size !== bytes || Buffer.compare(await digestOf(file), sha256) !== 0) {
        throw new Error(`the log's bundle ${name} is damaged`);
      }
      return await body();
    } finally {
      await rm(file, { force: true });
    }
  }
}

/** Whether every node decides so: the entry is whole, and what it asks for is refused. */
function isDecided(error: unknown): boolean {
  if (error instanceof DiskFullError) return false;
  return error instanceof InputError || error instanceof StoreChangedError;
}

async function digestOf(file: string): Promise<Uint8Array> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest();
}
