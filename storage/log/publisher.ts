/** Brings what commands ask of a node into the log, and tells them what came of it. */
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Tier } from '../../compute/market.js';
import { DeadlineError, withDeadline } from '../../compute/running-time.js';
import type { Removed } from '../../compute/segment/remove.js';
import { bundleFile, type Frame, readBundle } from '../bundle.js';
import type { CommitReport, IssuedKey, KeyRecord, KeyRequest, TokenName } from '../contract.js';
import { PendingError } from '../errors.js';
import { tokenKey } from '../depth/catalog.js';
import type { Cutoffs } from '../depth/retention-steps.js';
import { StoreUnavailableError } from '../errors.js';
import type { Store } from '../store.js';
import { digestOf, type Entry, packEntry, subjectOf, tokenSubject } from './entry.js';
import type { Settings } from './settings.js';
import { type JetStreamLog, LARGE_SUBJECT, LogAwayError } from './jetstream.js';

/** Larger bundles lie beside the log. */
export const MAX_ENTRY_BUNDLE_BYTES = 512 * 1024;

export interface PublisherOptions {
  store: Store;
  log: JetStreamLog;
  /** @throws StoreUnavailableError where the node applies no entries any more */
  checkFollows: () => void;
  /** How long a command waits once the log has its entry. */
  waitMs: number;
  /** What keeps the node from applying the next entry. */
  whyWaiting: () => string;
  onPublished: (position: number, tookMs: number) => void;
  /** How long a change waits until the node has begun to follow. */
  beginWithinMs?: number | undefined;
}

/** How long a change waits for the node to apply the log's origin, and how often it looks. */
const BEGIN_WITHIN_MS = 10_000;
const BEGIN_POLL_MS = 50;

interface Waiting {
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  /** Where the log has it; null: that is not known yet. */
  position: number | null;
}

export class Publisher {
  /** Changes that this node has published, by the id of their entries. */
  private readonly waiting = new Map<string, Waiting>();
  /** The id of the entry that the node is applying. */
  inHand: string | null = null;

  constructor(private readonly options: PublisherOptions) {}

  /** Whether a command waits for an entry. */
  awaits(id: string): boolean {
    return this.waiting.has(id);
  }

  /** Tells the command that waits for an entry what applying it gave. */
  resolve(id: string, result: unknown): void {
    this.waiting.get(id)?.resolve(result);
  }

  /** The same where it was refused. */
  reject(id: string, error: unknown): void {
    this.waiting.get(id)?.reject(error);
  }

  /** Ends all waiting. */
  fail(why: string): void {
    for (const { reject, position } of this.waiting.values()) reject(pendingError(position, why));
    this.waiting.clear();
  }

  async commit(bundle: string): Promise<CommitReport> {
    const { store, log } = this.options;
    await this.begun();
    const file = bundleFile(store.directory, bundle);
    const { size } = await stat(file);
    // What no node could apply must not get into the log.
    const frames: Frame[] = [];
    for await (const frame of readBundle(store.directory, bundle)) {
      if (size <= MAX_ENTRY_BUNDLE_BYTES) frames.push(frame);
    }
    if (size <= MAX_ENTRY_BUNDLE_BYTES) {
      const entry = { kind: 'bundle' as const, bundle: await readFile(file) };
      return (await this.submit<CommitReport>(subjectOf(frames), entry, bundle)) as CommitReport;
    }
    this.options.checkFollows();
    const sha256 = await digestOf(file);
    const content = createReadStream(file);
    await log
      .putBundle(bundle, Readable.toWeb(content) as ReadableStream<Uint8Array>)
      .finally(() => content.destroy());
    const entry = { kind: 'large-bundle' as const, name: bundle, bytes: size, sha256 };
    try {
      return (await this.submit<CommitReport>(LARGE_SUBJECT, entry, bundle)) as CommitReport;
    } catch (error) {
      if (error instanceof LogAwayError) await log.bundles.delete(bundle).catch(() => undefined);
      throw error;
    }
  }

  /** As the store does it: a step, which the log decides. */
  async retire(token: TokenName, cutoffs: Cutoffs, made: readonly Tier[]): Promise<Removed | null> {
    const { store } = this.options;
    // What is due is known once the log's origin is applied.
    if (store.mark === null) return null;
    const step = await store.dueStep(token, cutoffs, made);
    if (step === null) return null;
    const name = tokenKey(token.chain, token.address);
    const entry = {
      ...{ kind: 'retirement' as const, token, made },
      cutoffs: { ...cutoffs, [step.tier]: step.toS },
    };
    // Every node finds it due: the first of them is the one.
    const id = `retire ${name} ${Object.values(entry.cutoffs).join(' ')}`;
    return this.submit<Removed>(tokenSubject(name), entry, id);
  }

  async createKey(request: KeyRequest): Promise<IssuedKey> {
    await this.begun();
    const { issued, stored } = this.options.store.keys.draft(request);
    await this.submit('keys', { kind: 'key', stored, isNew: true });
    return issued;
  }

  async rotateKey(id: string): Promise<IssuedKey> {
    await this.begun();
    const { issued, stored } = this.options.store.keys.draft({ id });
    await this.submit('keys', { kind: 'key', stored, isNew: false });
    return issued;
  }

  async revokeKey(id: string): Promise<KeyRecord> {
    await this.begun();
    const revocation = this.options.store.keys.draftRevocation(id);
    return (await this.submit<KeyRecord>('keys', { kind: 'revocation', revocation })) as KeyRecord;
  }

  async changeSettings(settings: Settings): Promise<unknown> {
    await this.begun();
    return this.submit('settings', { kind: 'settings', settings });
  }

  /**
   * Resolves once the node has applied the log's origin. An entry that came before would take its place, and keys
   * would be made with another secret than the cluster's.
   * @throws StoreUnavailableError if it has not in time
   */
  private async begun(): Promise<void> {
    const { store, log, checkFollows, beginWithinMs = BEGIN_WITHIN_MS } = this.options;
    const deadlineMs = performance.now() + beginWithinMs;
    for (;;) {
      checkFollows();
      if (store.mark !== null) return;
      if (performance.now() >= deadlineMs) break;
      await sleep(BEGIN_POLL_MS);
    }
    throw new StoreUnavailableError(
      `this node has not begun to follow its log: nothing was stored; try again when /readyz is 200${log.reason}`,
    );
  }

  /**
   * Publishes an entry, and waits until this node has applied it. Call once the node has begun.
   * @returns what applying it gave; null where it was published, and applied, before
   * @throws what applying it threw | LogAwayError | PendingError
   */
  private async submit<T>(
    subject: string,
    entry: Entry,
    id: string = crypto.randomUUID(),
  ): Promise<T | null> {
    const { store, log, checkFollows, onPublished } = this.options;
    checkFollows();
    const waiting = { position: null as number | null };
    const applied = new Promise<unknown>((resolve, reject) => {
      this.waiting.set(id, Object.assign(waiting, { resolve, reject }));
    });
    // It may fail while the entry is still being published.
    applied.catch(() => undefined);
    const beganMs = performance.now();
    const published = log
      .publish(subject, packEntry(entry), id, bundleOf(entry))
      .then(({ position, isDuplicate }) => {
        onPublished(position, performance.now() - beganMs);
        waiting.position = position;
        if (isDuplicate && position <= (store.mark?.position ?? 0)) return null;
        return this.untilApplied(id, position, applied);
      });
    // Applied, it is in the log, whether its acknowledgement came or not.
    return Promise.race([applied, published]).finally(() =>
      this.waiting.delete(id),
    ) as Promise<T | null>;
  }

  private async untilApplied<T>(id: string, position: number, applied: Promise<T>): Promise<T> {
    const { waitMs, whyWaiting } = this.options;
    for (;;) {
      try {
        return await withDeadline(applied, waitMs, `entry ${position}`);
      } catch (error) {
        if (!(error instanceof DeadlineError)) throw error;
        // Once its turn has come it takes what it takes.
        if (this.inHand !== id) throw pendingError(position, whyWaiting());
      }
    }
  }
}

function bundleOf(entry: Entry): { bundle?: string } {
  return entry.kind === 'large-bundle' ? { bundle: entry.name } : {};
}

function pendingError(position: number | null, why: string): PendingError {
  return new PendingError(
    position === null
      ? `the log may have taken it or not, and it is not applied here: ${why}; do it again, which is harmless if it has`
      : `it is entry ${position} in the log, not yet applied here: ${why}; every node applies it when its turn comes`,
  );
}
