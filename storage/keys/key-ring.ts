/**
 * The API keys of a store, in memory and in its table, which has only digests of their texts. A command drafts a change
 * here; the log makes it an entry; adopt() stores it, on every node alike. `key-verifier.ts` finds a request's key.
 */
import { EventEmitter } from 'node:events';
import {
  type IssuedKey,
  KEY_TIERS,
  type KeyPlans,
  type KeyRecord,
  type KeyRequest,
  type KeySource,
  type KeyTerms,
} from '../contract.js';
import { isoOf } from '../../compute/time.js';
import type { Database } from '../duckdb/database.js';
import type { Statements } from '../duckdb/statements.js';
import { RefusalError, UsageError } from '../errors.js';
import { type LogMark, writeMark } from '../log/mark.js';
import { wallS } from '../wall-clock.js';
import {
  readKeys,
  type Revocation,
  type StoredKey,
  writeKey,
  writeRevocation,
  writeTerms,
} from './key-table.js';
import { keyHint, newKey, newKeyId } from './key-text.js';
import { KeyVerifier } from './key-verifier.js';
import { loadPepper, replacePepper } from './pepper.js';

/** Keys of one store, including revoked ones. */
const MAX_KEYS = 100_000;
/** Ids that an error names. */
const MAX_NAMED_IDS = 5;

const NO_TERMS = { name: null, requestsPerMinute: null, monthlyQuota: null, expiresAtS: null };

/** A change of a key's terms. */
interface KeyUpdate {
  id: string;
  changes: Partial<KeyTerms>;
}

/** A change of a key, as the log has it. */
export type KeyChange =
  /** A new key, or the new text of one. */
  | { kind: 'key'; stored: StoredKey; isNew: boolean }
  | { kind: 'key-update'; update: KeyUpdate }
  | { kind: 'revocation'; revocation: Revocation };

/** A key's new text, and the change that is not stored yet. */
export interface Draft {
  issued: IssuedKey;
  change: KeyChange;
}

/** What storing a change does. */
interface Effect {
  write: (tx: Statements) => Promise<void>;
  /** The key once it is written: it may have been refused in the meantime. */
  made: () => StoredKey;
  /** null: listeners know of it already. */
  event: KeyEvent | null;
}

type KeyEvent = 'created' | 'updated' | 'rotated' | 'revoked';
type ChangedKey = Pick<KeyRecord, 'id' | 'tier'>;

export class KeyRing implements KeySource {
  private readonly byId = new Map<string, StoredKey>();
  /** The configured plans: keys can be given these, or a tier. */
  plans: KeyPlans = {};
  /** Revocations that count already, and whose entry is not applied yet. */
  private readonly early = new Map<string, Revocation & { isInLog: boolean }>();
  /** Emits each change of a key once it is written. */
  readonly events = new EventEmitter<{ change: [change: KeyEvent, key: ChangedKey] }>();

  private constructor(
    private readonly database: Database,
    private readonly directory: string,
    private readonly verifier: KeyVerifier,
  ) {}

  /** Loads the keys of a store; creates its pepper on first use. */
  static async load(database: Database, directory: string): Promise<KeyRing> {
    const keys = await readKeys(database);
    const pepper = await loadPepper(database, directory, keys.length > 0);
    const ring = new KeyRing(database, directory, new KeyVerifier(pepper));
    for (const stored of keys) ring.remember(stored);
    return ring;
  }

  verify(key: string): KeyRecord | null {
    return this.verifier.verify(key);
  }

  /** The pepper, with which digests are made. */
  get secret(): Uint8Array {
    return this.verifier.secret;
  }

  /** A new key that is not stored yet. Only the draft contains its text. */
  draft(request: KeyRequest): Draft {
    this.checkPlan(request.tier);
    const id = newKeyId();
    const times = { createdAtS: wallS(), revokedAtS: null, earlierUntilS: null };
    return this.drafted({ id, ...NO_TERMS, ...request, ...times, hint: '' }, null, true);
  }

  /** A new text of a live key that is not stored yet. */
  draftRotation(key: string, overlapS: number): Draft {
    const { record, digest } = this.live(key);
    const nowS = wallS();
    const { earlierUntilS } = record;
    if (overlapS > 0 && earlierUntilS !== null && nowS < earlierUntilS) {
      throw new RefusalError(
        `an earlier text of the key ${record.id} is still valid, until ${isoOf(earlierUntilS)}: rotate it after that, or without an overlap, which ends both texts`,
      );
    }
    const untilS = overlapS > 0 ? nowS + overlapS : null;
    const earlier = untilS === null ? null : digest;
    return this.drafted({ ...record, earlierUntilS: untilS }, earlier, false);
  }

  /** A change of a live key that is not stored yet. */
  draftUpdate(key: string, changes: Partial<KeyTerms>): KeyChange {
    if (changes.tier !== undefined) this.checkPlan(changes.tier);
    return { kind: 'key-update', update: { id: this.live(key).record.id, changes } };
  }

  /**
   * A revocation of a key that is not stored yet.
   * @throws RefusalError if the key is not live, unless its revocation could not be written
   */
  draftRevocation(key: string): Revocation {
    const early = this.early.get(this.named(key).record.id);
    if (early?.isInLog === false) return { id: early.id, revokedAtS: early.revokedAtS };
    return { id: this.live(key).record.id, revokedAtS: wallS() };
  }

  /** Refuses a key from now on, before its revocation is in the log. */
  refuse(revocation: Revocation): void {
    const stored = this.byId.get(revocation.id) as StoredKey;
    this.early.set(revocation.id, { ...revocation, isInLog: false });
    this.remember({ ...stored, record: { ...stored.record, revokedAtS: revocation.revokedAtS } });
  }

  /** Records that the revocation of a refused key is in the log. */
  revoked(id: string): KeyRecord {
    const early = this.early.get(id);
    if (early !== undefined) early.isInLog = true;
    const { record } = this.byId.get(id) as StoredKey;
    this.events.emit('change', 'revoked', record);
    return record;
  }

  /**
   * Stores a change that was drafted here or on another node.
   * @returns the key as it is then
   * @throws RefusalError if the key to be changed is not live, or there are too many keys
   */
  async adopt(change: KeyChange, mark: LogMark): Promise<KeyRecord> {
    const { write, made, event } = this.effectOf(change);
    await this.database.transaction(async (tx) => {
      await write(tx);
      await writeMark(tx, mark);
    });
    const stored = made();
    this.remember(stored);
    if (event !== null) this.events.emit('change', event, stored.record);
    return stored.record;
  }

  private effectOf(change: KeyChange): Effect {
    switch (change.kind) {
      case 'key': {
        const { record, digest, earlierDigest } = change.stored;
        const { id, hint, earlierUntilS } = record;
        if (!change.isNew) this.live(id);
        else if (this.byId.size >= MAX_KEYS) {
          throw new RefusalError(`the store has ${MAX_KEYS} keys already`);
        }
        return {
          write: (tx) => writeKey(tx, change.stored),
          made: () => {
            const now = this.byId.get(id)?.record;
            return {
              record: now === undefined ? record : { ...now, hint, earlierUntilS },
              digest: Buffer.from(digest),
              earlierDigest: earlierDigest && Buffer.from(earlierDigest),
            };
          },
          event: this.byId.has(id) ? 'rotated' : 'created',
        };
      }
      case 'key-update': {
        const { id, changes } = change.update;
        const terms = { ...this.live(id).record, ...changes };
        const { tier, name, requestsPerMinute, monthlyQuota, expiresAtS } = terms;
        const changed = { tier, name, requestsPerMinute, monthlyQuota, expiresAtS };
        return {
          write: (tx) => writeTerms(tx, id, changed),
          made: () => {
            const now = this.byId.get(id) as StoredKey;
            return { ...now, record: { ...now.record, ...changed } };
          },
          event: 'updated',
        };
      }
      case 'revocation': {
        const { id, revokedAtS } = change.revocation;
        const isEarly = this.early.has(id);
        const stored = isEarly ? this.named(id) : this.live(id);
        return {
          write: (tx) => writeRevocation(tx, change.revocation),
          made: () => {
            this.early.delete(id);
            return { ...stored, record: { ...stored.record, revokedAtS } };
          },
          event: isEarly ? null : 'revoked',
        };
      }
    }
  }

  /** Takes the secret of a cluster. Call while there are no keys. */
  async adoptSecret(secret: Uint8Array): Promise<void> {
    this.verifier.secret = await replacePepper(this.database, this.directory, Buffer.from(secret));
  }

  /** Number of keys, including revoked ones. */
  get count(): number {
    return this.byId.size;
  }

  /** Every key, oldest first. */
  list(): KeyRecord[] {
    return [...this.byId.values()]
      .map(({ record }) => record)
      .sort((a, b) => a.createdAtS - b.createdAtS || (a.id < b.id ? -1 : 1));
  }

  /** The key with an id, or with a name that no other key has. */
  private named(word: string): StoredKey {
    const byId = this.byId.get(word);
    if (byId !== undefined) return byId;
    const named = [...this.byId.values()].filter(({ record }) => record.name === word);
    const live = named.filter(({ record }) => record.revokedAtS === null);
    const found = live.length > 0 ? live : named;
    if (found.length === 1) return found[0];
    if (found.length === 0) throw new RefusalError(`no key has the id or the name ${word}`);
    const ids = found.slice(0, MAX_NAMED_IDS).map(({ record }) => record.id);
    const rest = found.length > ids.length ? ', ...' : '';
    throw new RefusalError(
      `${found.length} keys have the name ${word}: use an id (${ids.join(', ')}${rest})`,
    );
  }

  /** Like named(), for a key that is not revoked. */
  private live(word: string): StoredKey {
    const stored = this.named(word);
    const { id, revokedAtS } = stored.record;
    if (revokedAtS !== null) throw new RefusalError(`the key ${id} is revoked already`);
    return stored;
  }

  private checkPlan(plan: string): void {
    const names = [...new Set([...KEY_TIERS, ...Object.keys(this.plans)])];
    if (names.includes(plan)) return;
    const hasOthers = names.length > KEY_TIERS.length;
    const expected = hasOthers ? `one of ${names.join(', ')}` : names.join(' or ');
    const hint = hasOthers ? '' : ': no other plan is configured';
    const found = plan === '' ? '' : `, not ${plan}${hint}`;
    throw new UsageError(`--tier: expected ${expected}${found}`);
  }

  private drafted(template: KeyRecord, earlierDigest: Uint8Array | null, isNew: boolean): Draft {
    const key = newKey();
    const record: KeyRecord = { ...template, hint: keyHint(key) };
    const stored = { record, digest: this.verifier.digest(key), earlierDigest };
    return { issued: { ...record, key }, change: { kind: 'key', stored, isNew } };
  }

  private remember(stored: StoredKey): void {
    const { id } = stored.record;
    this.verifier.replace(this.byId.get(id), stored);
    this.byId.set(id, stored);
  }
}
