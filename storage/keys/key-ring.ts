/** API keys: creates, lists, changes, rotates, revokes and verifies them. Stores only their HMAC digests. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { countedCache } from '../counted-cache.js';
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
import { isWellFormedKey, keyHint, newKey, newKeyId } from './key-text.js';
import { loadPepper, replacePepper } from './pepper.js';

/** Keys of one store, including revoked ones. */
const MAX_KEYS = 100_000;
/** Live keys in the cache; others are hashed at each request. */
const MAX_VERIFIED_KEYS = 10_000;
/** Ids that an error names. */
const MAX_NAMED_IDS = 5;

const NO_TERMS = { name: null, requestsPerMinute: null, monthlyQuota: null, expiresAtS: null };

/** A change of a key's terms. */
export interface KeyUpdate {
  id: string;
  changes: Partial<KeyTerms>;
}

/** A key that was verified by its text. */
interface VerifiedKey {
  record: KeyRecord;
  /** The text is valid before this time; Infinity for the latest text. */
  untilS: number;
}

/** A key that is not stored yet. */
interface Draft {
  issued: IssuedKey;
  stored: StoredKey;
}

type KeyChange = 'created' | 'updated' | 'rotated' | 'revoked';
type ChangedKey = Pick<KeyRecord, 'id' | 'tier'>;

export class KeyRing implements KeySource {
  private readonly byDigest = new Map<string, StoredKey>();
  private readonly byId = new Map<string, StoredKey>();
  /** Live keys by their text, so that busy ones are not hashed at every request. Any change clears it. */
  private readonly verified = countedCache<string, VerifiedKey>(MAX_VERIFIED_KEYS);
  /** The configured plans: keys can be given these, or a tier. */
  plans: KeyPlans = {};
  /** Revocations that count already, and whose entry is not applied yet. */
  private readonly early = new Map<string, Revocation & { isInLog: boolean }>();
  /** Emits each change of a key once it is written. */
  readonly events = new EventEmitter<{ change: [change: KeyChange, key: ChangedKey] }>();

  private constructor(
    private readonly database: Database,
    private readonly directory: string,
    /** The pepper, with which digests are made. */
    public secret: Uint8Array,
  ) {}

  /** Loads the keys of a store; creates its pepper on first use. */
  static async load(database: Database, directory: string): Promise<KeyRing> {
    const keys = await readKeys(database);
    const pepper = await loadPepper(database, directory, keys.length > 0);
    const ring = new KeyRing(database, directory, pepper);
    for (const stored of keys) ring.remember(stored);
    return ring;
  }

  verify(key: string): KeyRecord | null {
    const known = this.verified.get(key) ?? this.find(key);
    if (known === null) return null;
    return known.untilS === Infinity || wallS() < known.untilS ? known.record : null;
  }

  private find(key: string): VerifiedKey | null {
    if (!isWellFormedKey(key)) return null;
    const digest = this.digest(key);
    const stored = this.byDigest.get(digest.toString('hex'));
    if (stored === undefined || stored.record.revokedAtS !== null) return null;
    const { record, earlierDigest } = stored;
    const isLatest = timingSafeEqual(stored.digest, digest);
    if (!isLatest && (earlierDigest === null || !timingSafeEqual(earlierDigest, digest))) {
      return null;
    }
    const found = { record, untilS: isLatest ? Infinity : (record.earlierUntilS ?? 0) };
    this.verified.set(key, found);
    return found;
  }

  /** A new key that is not stored yet. Only the draft contains its text. */
  draft(request: KeyRequest): Draft {
    this.checkPlan(request.tier);
    const id = newKeyId();
    const times = { createdAtS: wallS(), revokedAtS: null, earlierUntilS: null };
    return this.drafted({ id, ...NO_TERMS, ...request, ...times, hint: '' }, null);
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
    return this.drafted({ ...record, earlierUntilS: untilS }, untilS === null ? null : digest);
  }

  /** A change of a live key that is not stored yet. */
  draftUpdate(key: string, changes: Partial<KeyTerms>): KeyUpdate {
    if (changes.tier !== undefined) this.checkPlan(changes.tier);
    return { id: this.live(key).record.id, changes };
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
   * Stores a drafted key, or the new text of one.
   * @throws RefusalError if a key to be rotated was revoked in the meantime, or there are too many keys
   */
  async adopt(stored: StoredKey, isNew: boolean, mark: LogMark): Promise<void> {
    if (!isNew) this.live(stored.record.id);
    else if (this.byId.size >= MAX_KEYS) {
      throw new RefusalError(`the store has ${MAX_KEYS} keys already`);
    }
    await this.write(mark, (tx) => writeKey(tx, stored));
    const { record, digest, earlierDigest } = stored;
    const before = this.byId.get(record.id);
    const { hint, earlierUntilS } = record;
    this.remember({
      // It may have been refused in the meantime.
      record: before === undefined ? record : { ...before.record, hint, earlierUntilS },
      digest: Buffer.from(digest),
      earlierDigest: earlierDigest === null ? null : Buffer.from(earlierDigest),
    });
    this.events.emit('change', before === undefined ? 'created' : 'rotated', record);
  }

  /** Stores a drafted change. @throws RefusalError if the key is not live */
  async adoptUpdate({ id, changes }: KeyUpdate, mark: LogMark): Promise<KeyRecord> {
    const { record } = this.live(id);
    const { tier, name, requestsPerMinute, monthlyQuota, expiresAtS } = { ...record, ...changes };
    const changed = { tier, name, requestsPerMinute, monthlyQuota, expiresAtS };
    await this.write(mark, (tx) => writeTerms(tx, id, changed));
    // It may have been refused in the meantime.
    const now = this.byId.get(id) as StoredKey;
    const updated = { ...now.record, ...changed };
    this.remember({ ...now, record: updated });
    this.events.emit('change', 'updated', updated);
    return updated;
  }

  /** Stores a drafted revocation. @throws RefusalError if the key is not live */
  async adoptRevocation(revocation: Revocation, mark: LogMark): Promise<KeyRecord> {
    const { id, revokedAtS } = revocation;
    const isEarly = this.early.has(id);
    const stored = isEarly ? this.named(id) : this.live(id);
    await this.write(mark, (tx) => writeRevocation(tx, revocation));
    this.early.delete(id);
    const revoked = { ...stored.record, revokedAtS };
    this.remember({ ...stored, record: revoked });
    if (!isEarly) this.events.emit('change', 'revoked', revoked);
    return revoked;
  }

  /** Takes the secret of a cluster. Call while there are no keys. */
  async adoptSecret(secret: Uint8Array): Promise<void> {
    this.secret = await replacePepper(this.database, this.directory, Buffer.from(secret));
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

  private drafted(template: KeyRecord, earlierDigest: Uint8Array | null): Draft {
    const key = newKey();
    const record: KeyRecord = { ...template, hint: keyHint(key) };
    const stored = { record, digest: this.digest(key), earlierDigest };
    return { issued: { ...record, key }, stored };
  }

  private write(mark: LogMark, body: (tx: Statements) => Promise<void>): Promise<void> {
    return this.database.transaction(async (tx) => {
      await body(tx);
      await writeMark(tx, mark);
    });
  }

  private remember(stored: StoredKey): void {
    this.verified.clear();
    const before = this.byId.get(stored.record.id);
    if (before !== undefined) for (const digest of digestsOf(before)) this.byDigest.delete(digest);
    this.byId.set(stored.record.id, stored);
    for (const digest of digestsOf(stored)) this.byDigest.set(digest, stored);
  }

  private digest(key: string): Buffer {
    return createHmac('sha256', this.secret).update(key).digest();
  }
}

/** The digests under which a key is found. */
function digestsOf({ digest, earlierDigest }: StoredKey): string[] {
  const digests = earlierDigest === null ? [digest] : [digest, earlierDigest];
  return digests.map((each) => Buffer.from(each).toString('hex'));
}
