/** Changes of keys and retention as entries of a log: what they are is settled here, the log's kind is not. */
import type { Tier } from '../../compute/market.js';
import type { ArchivedDay, ArchiveWindow } from '../archive/archived-day.js';
import type { Removed } from '../../compute/segment/remove.js';
import type { IssuedKey, KeyRecord, KeyRequest, KeyTerms, TokenName } from '../contract.js';
import { tokenKey } from '../depth/catalog.js';
import type { Cutoffs, RetentionStep } from '../depth/retention-steps.js';
import type { DiskRoom } from '../duckdb/disk-room.js';
import type { AppliedLog } from '../applied-log.js';
import type { Draft, KeyChange, KeyRing } from '../keys/key-ring.js';
import { type Entry, KEYS_SUBJECT, tokenSubject } from './entry.js';

/** What a writer needs of a store. */
export interface LoggedStore {
  readonly directory: string;
  readonly keys: KeyRing;
  readonly applied: AppliedLog;
  readonly room: DiskRoom;
  dueStep(token: TokenName, cutoffs: Cutoffs, made: readonly Tier[]): Promise<RetentionStep | null>;
}

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
    // Each node publishes the step when it is due: all use one id, so the log takes only the first.
    const id = `retire ${name} ${Object.values(entry.cutoffs).join(' ')}`;
    return this.submit<Removed>(tokenSubject(name), entry, id);
  }

  /** Submits an object of the archive. @returns the ids of its segments; null if another node's entry came first */
  archive(day: ArchivedDay): Promise<number[] | null> {
    const name = tokenKey(day.token.chain, day.token.address);
    const id = `archive ${day.key} ${day.fromS}`;
    return this.submit<number[]>(tokenSubject(name), { kind: 'archived', ...day }, id);
  }

  /** Submits that archived snapshots come back into the store. @returns how many segments that were */
  async restore(window: ArchiveWindow): Promise<number> {
    const name = tokenKey(window.token.chain, window.token.address);
    return (await this.submit<number>(tokenSubject(name), { kind: 'restored', ...window })) ?? 0;
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
