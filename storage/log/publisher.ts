/** Publishes the changes that commands request from a node, and returns the results of applying them. */
import { readFile, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { DeadlineError, withDeadline } from '../../compute/running-time.js';
import type { Removed } from '../../compute/segment/remove.js';
import { bundleFile, type Frame, readBundle } from '../bundle.js';
import type { CommitReport } from '../operations.js';
import { adviceInDoubt, PendingError, StoreUnavailableError } from '../errors.js';
import type { Store } from '../store.js';
import { digestOf, type Entry, KEYS_SUBJECT, packEntry, subjectOf } from './entry.js';
import { type JetStreamLog, LARGE_SUBJECT, LogMovedError } from './jetstream.js';
import { LogWriter } from './log-writer.js';
import type { Parts } from './parts.js';
import { isSame, type Settings, type SettingsChange } from './settings.js';

/** The log has larger bundles apart from their entries. */
export const MAX_ENTRY_BUNDLE_BYTES = 512 * 1024;
/** How often a change checks whether the node has applied the log's origin. */
const BEGIN_POLL_MS = 50;

interface PublisherOptions {
  store: Store;
  log: JetStreamLog;
  /** @throws StoreUnavailableError if the node no longer applies entries */
  checkFollows: () => void;
  /** How long a command waits for its entry to be applied once the log has it. */
  waitMs: number;
  /** Whether the node is applying the entry with this id. */
  isApplying: (id: string) => boolean;
  /** What keeps the node from applying the next entry. */
  whyWaiting: () => string;
  onPublished: (position: number, tookMs: number) => void;
  /** How long a change waits for the node to apply the log's origin. */
  beginWithinMs: number;
}

interface PlacedEntry {
  subject: string;
  /** Its position in the log; null while unknown. */
  position: number | null;
}

interface Waiting extends PlacedEntry {
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

export class Publisher extends LogWriter {
  /** Commands that wait for this node to apply an entry, by the entry's id. */
  private readonly waiting = new Map<string, Waiting>();

  constructor(private readonly options: PublisherOptions) {
    super();
  }

  protected get store(): Store {
    return this.options.store;
  }

  /** Whether a command waits for an entry. */
  awaits(id: string): boolean {
    return this.waiting.has(id);
  }

  /** Passes the result of applying an entry to the command that waits for it, if any. */
  resolve(id: string, result: unknown): void {
    this.waiting.get(id)?.resolve(result);
  }

  /** Fails the command that waits for an entry, if any, with the error of applying it. */
  reject(id: string, error: unknown): void {
    this.waiting.get(id)?.reject(error);
  }

  /** Fails every waiting command with a PendingError. */
  fail(why: string): void {
    for (const waiting of this.waiting.values()) waiting.reject(pendingError(waiting, why));
    this.waiting.clear();
  }

  /** Publishes the log's first entry, with the cluster's first settings, unless another node already has. */
  async publishOrigin(node: string, settings: Settings): Promise<void> {
    const { log, store } = this.options;
    const hasData = !store.applied.isEmpty;
    const entry: Entry = { kind: 'origin', node, pepper: store.keys.secret, hasData, settings };
    try {
      await log.publish('origin', packEntry(entry), `origin of ${node}`, { after: 0 });
    } catch (error) {
      if (!(error instanceof LogMovedError)) throw error;
    }
  }

  protected async commitOnce(bundle: string, attempt: number): Promise<CommitReport> {
    const { store, log } = this.options;
    await this.ready();
    const file = bundleFile(store.directory, bundle);
    const { size } = await stat(file);
    // Read to the end: a bundle that no node could apply must not enter the log.
    const frames: Frame[] = [];
    const needs = store.archivedNeeds();
    for await (const frame of readBundle(store.directory, bundle)) {
      await needs.addFrame(frame);
      if (size <= MAX_ENTRY_BUNDLE_BYTES) frames.push(frame);
    }
    await this.bringBack(needs);
    // The log knows the one that every node has refused.
    const id = attempt === 0 ? bundle : `${bundle} ${attempt}`;
    if (size <= MAX_ENTRY_BUNDLE_BYTES) {
      const entry = { kind: 'bundle' as const, bundle: await readFile(file) };
      return (await this.submit<CommitReport>(subjectOf(frames), entry, id)) as CommitReport;
    }
    this.options.checkFollows();
    const sha256 = await digestOf(file);
    const parts = await log.sendBundle(file, size);
    const entry = { kind: 'large-bundle' as const, name: bundle, bytes: size, sha256 };
    return (await this.submit<CommitReport>(LARGE_SUBJECT, entry, id, parts)) as CommitReport;
  }

  /** Only after the log's origin is applied is it known what is due. */
  override async retire(...step: Parameters<LogWriter['retire']>): Promise<Removed | null> {
    return this.store.mark === null ? null : super.retire(...step);
  }

  async changeSettings(settings: Settings): Promise<SettingsChange> {
    await this.ready();
    // Those at the end of the log: this node may have yet to apply a change.
    const { applied, mark } = this.store;
    const { settings: before } = await this.options.log.settings(applied.settings, mark);
    const isNew = Object.entries(settings).some(([name, value]) => !isSame(value, before[name]));
    if (!isNew) return { position: null, before };
    return (await this.submit<SettingsChange>('settings', {
      kind: 'settings',
      settings,
    })) as SettingsChange;
  }

  /**
   * Waits until the node has applied the log's origin: an earlier entry would take the origin's place, and an earlier key
   * would be made with a different secret than the cluster's.
   * @throws StoreUnavailableError if that takes too long
   */
  protected async ready(): Promise<void> {
    const { store, log, checkFollows, beginWithinMs } = this.options;
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
   * Publishes an entry and waits until this node has applied it. Call it after ready().
   * @returns the result of applying it; null if it was published and applied before
   * @throws the error of applying it | LogUnreachableError | PendingError
   */
  protected async submit<T>(
    subject: string,
    entry: Entry,
    id: string = crypto.randomUUID(),
    parts?: Parts,
  ): Promise<T | null> {
    const { store, log, checkFollows, onPublished } = this.options;
    checkFollows();
    const waiting: PlacedEntry = { subject, position: null };
    const applied = new Promise<unknown>((resolve, reject) => {
      this.waiting.set(id, Object.assign(waiting, { resolve, reject }));
    });
    // It may be rejected before publish() is done, while nothing awaits it.
    applied.catch(() => undefined);
    const beganMs = performance.now();
    const published = log
      .publish(subject, packEntry(entry), id, { parts })
      .then(({ position, isDuplicate }) => {
        onPublished(position, performance.now() - beganMs);
        waiting.position = position;
        if (isDuplicate && position <= (store.mark?.position ?? 0)) return null;
        return this.untilApplied(id, waiting, applied);
      });
    // An applied entry is in the log, even if its acknowledgement was lost.
    return Promise.race([applied, published]).finally(() =>
      this.waiting.delete(id),
    ) as Promise<T | null>;
  }

  private async untilApplied<T>(id: string, waiting: PlacedEntry, applied: Promise<T>): Promise<T> {
    const { waitMs, isApplying, whyWaiting } = this.options;
    for (;;) {
      try {
        return await withDeadline(applied, waitMs, 'applying an entry');
      } catch (error) {
        if (!(error instanceof DeadlineError)) throw error;
        // A large entry may take longer than that to apply.
        if (!isApplying(id)) throw pendingError(waiting, whyWaiting());
      }
    }
  }
}

function pendingError({ subject, position }: PlacedEntry, why: string): PendingError {
  return new PendingError(
    position === null
      ? `the log may or may not have taken it, and it is not applied here: ${why}; ${adviceInDoubt(subject === KEYS_SUBJECT)}`
      : `it is entry ${position} in the log, not yet applied here: ${why}; every node applies it when its turn comes`,
  );
}
