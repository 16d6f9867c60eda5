/** Changes of keys and retention as entries of a log: what they are is settled here, the log's kind is not. */
import type { Tier } from '../../compute/market.js';
import type { ArchivedDay, ArchiveWindow } from '../archive/archived-day.js';
import type { ArchivedNeed, ArchivedNeeds } from '../archive/archived-needs.js';
import type { BundleWriter } from '../bundle.js';
import type { Removed } from '../../compute/segment/remove.js';
import type { IssuedKey, KeyRecord, KeyRequest, KeyTerms, TokenName } from '../contract.js';
import { tokenKey } from '../depth/catalog.js';
import type { Cutoffs, RetentionStep } from '../depth/retention-steps.js';
import type { DiskRoom } from '../duckdb/disk-room.js';
import type { AppliedLog } from '../applied-log.js';
import { ArchivedSegmentsError, PendingError, StoreUnavailableError } from '../errors.js';
import type { Draft, KeyChange, KeyRing } from '../keys/key-ring.js';
import type { CommitReport } from '../operations.js';
import { type Entry, KEYS_SUBJECT, tokenSubject } from './entry.js';

/** What a writer needs of a store. */
export interface LoggedStore {
  readonly directory: string;
  readonly keys: KeyRing;
  readonly applied: AppliedLog;
  readonly room: DiskRoom;
  /** What collects the archived segments that a change needs. */
  archivedNeeds(): ArchivedNeeds;
  /** A bundle that brings archived segments back. @throws ArchiveUnavailableError if their objects cannot be read */
  bundleOfArchived(needs: readonly ArchivedNeed[]): Promise<BundleWriter>;
  dueStep(token: TokenName, cutoffs: Cutoffs, made: readonly Tier[]): Promise<RetentionStep | null>;
}

/** Attempts of a change: whatever it brought back from the archive may be archived again before its turn. */
const MAX_ATTEMPTS = 4;

export abstract class LogWriter {
  protected abstract readonly store: LoggedStore;

  /** Resolves once entries can be submitted. @throws StoreUnavailableError if that takes too long */
  protected abstract ready(): Promise<void>;

  /**
   * Appends an entry and waits until the store has applied it.
   * @param id by which the log knows an entry that it already has
   * @returns the result of applying it; null if it was appended and applied before
   */
  protected abstract submit<T>(subject: string, entry: Entry, id?: string): Promise<T | null>;

  /**
   * Reads a bundle to its end, which must not enter the log if that fails, brings back what it needs of the archive, and
   * submits it.
   * @param attempt counts from 0
   */
  protected abstract commitOnce(bundle: string, attempt: number): Promise<CommitReport>;

  /** Commits a finished bundle of the staging folder. */
  async commit(bundle: string): Promise<CommitReport> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.commitOnce(bundle, attempt);
      } catch (error) {
        if (!(error instanceof ArchivedSegmentsError) || attempt === MAX_ATTEMPTS - 1) throw error;
      }
    }
  }

  /**
   * Brings archived segments back into the store, with their blocks in the log.
   * @returns how many
   * @throws ArchiveUnavailableError if their objects cannot be read
   * @throws StoreUnavailableError if they have to wait: the change that needs them is not in the log
   */
  protected async bringBack(needs: ArchivedNeeds): Promise<number> {
    let segments = 0;
    for (const group of needs.groups()) {
      const bundle = await this.store.bundleOfArchived(group);
      segments += await this.commitOnce(bundle.name, 0)
        .then((report) => report.segments)
        .catch((error: unknown) => {
          if (!(error instanceof PendingError)) throw error;
          throw new StoreUnavailableError(
            `what it needs of the archive comes back into the store first, and waits (${error.message}); nothing else of this change was stored: run it again once that is over`,
            { cause: error },
          );
        })
        .finally(() => bundle.discard());
    }
    return segments;
  }

  /**
   * Submits the step of retention that is due for a token.
   * @returns what it deleted; null if none is due, or another node's step was applied first
   */
  async retire(token: TokenName, cutoffs: Cutoffs, made: readonly Tier[]): Promise<Removed | null> {
    const step = await this.store.dueStep(token, cutoffs, made);
    if (step === null) return null;
    const name = tokenKey(token.chain, token.address);
    const entry = {
      kind: 'retirement' as const,
      token,
      made,
      cutoffs: { ...cutoffs, [step.tier]: step.toS },
    };
    const needs = this.store.archivedNeeds();
    await needs.addRetirement(token, step, entry.cutoffs);
    await this.bringBack(needs);
    // Each node publishes the step when it is due: all use one id, so the log takes only the first.
    const id = `retire ${name} ${Object.values(entry.cutoffs).join(' ')}`;
    return this.submit<Removed>(tokenSubject(name), entry, id);
  }

  /** Submits an object of the archive. @returns the ids of its segments; null if another node's entry came first */
  async archive(day: ArchivedDay): Promise<number[] | null> {
    const needs = this.store.archivedNeeds();
    await needs.addEnds(day);
    await this.bringBack(needs);
    const name = tokenKey(day.token.chain, day.token.address);
    const id = `archive ${day.key} ${day.fromS}`;
    return this.submit<number[]>(tokenSubject(name), { kind: 'archived', ...day }, id);
  }

  /** Brings a window's archived snapshots back into the store. @returns how many segments that were */
  async restore(window: ArchiveWindow): Promise<number> {
    const needs = this.store.archivedNeeds();
    await needs.addWindow(window);
    return this.bringBack(needs);
  }

  createKey(request: KeyRequest): Promise<IssuedKey> {
    return this.issued(() => this.store.keys.draft(request));
  }

  updateKey(key: string, changes: Partial<KeyTerms>): Promise<KeyRecord> {
    return this.changed(() => this.store.keys.draftUpdate(key, changes));
  }

  rotateKey(key: string, overlapS = 0): Promise<IssuedKey> {
    return this.issued(() => this.store.keys.draftRotation(key, overlapS));
  }

  revokeKey(key: string): Promise<KeyRecord> {
    return this.changed(() => ({
      kind: 'revocation',
      revocation: this.store.keys.draftRevocation(key),
    }));
  }

  /** @returns the key with its new text, which is in no entry */
  private async issued(draft: () => Draft): Promise<IssuedKey> {
    await this.ready();
    const { issued, change } = draft();
    await this.submit(KEYS_SUBJECT, change);
    return issued;
  }

  private async changed(draft: () => KeyChange): Promise<KeyRecord> {
    await this.ready();
    return (await this.submit<KeyRecord>(KEYS_SUBJECT, draft())) as KeyRecord;
  }
}
