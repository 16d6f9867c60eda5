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
import { Lanes } from '../duckdb/lanes.js';
import { RefusalError, UnwrittenError, UsageError } from '../errors.js';
import { type LogMark, writeMark } from '../log/mark.js';
import { wallS } from '../wall-clock.js';
import { WriteBehind } from '../write-behind.js';
import { readKeys, type StoredKey, writeKey, writeRevocations, writeTerms } from './key-table.js';
import { isWellFormedKey, keyHint, newKey, newKeyId } from './key-text.js';
import { loadPepper, replacePepper } from './pepper.js';
import { type Revocation, RevocationFile } from './revocation-file.js';

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
  /** Changes run one at a time, each based on the one before. Revocations do not wait. */
  private readonly changes = new Lanes([null]);
  /** Revocations that the table lacks. */
  private readonly unwritten = new Map<string, Revocation>();
  /** Ids of revocations that are only in memory. */
  private readonly undurable = new Set<string>();
  private readonly table: WriteBehind<Revocation>;
  /** Emits each change of a key once it is written. */
  readonly events = new EventEmitter<{ change: [change: KeyChange, key: ChangedKey] }>();

  private constructor(
    private readonly database: Database,
    private readonly directory: string,
    private readonly revocations: RevocationFile,
    /** The pepper, with which digests are made. */
    public secret: Uint8Array,
    onError: (error: unknown) => void,
  ) {
    this.table = new WriteBehind({ write: (rows) => this.writeRevoked(rows), onError });
  }

  /**
   * Loads the keys of a store; creates its pepper on first use. Failed writes of revocations are reported to `onError`
   * and retried until they succeed.
   */
  static async load(
    database: Database,
    directory: string,
    onError: (error: unknown) => void,
  ): Promise<KeyRing> {
    const keys = await readKeys(database);
    const pepper = await loadPepper(database, directory, keys.length > 0);
    const revocations = await RevocationFile.open(directory);
    const ring = new KeyRing(database, directory, revocations, pepper, onError);
    for (const stored of keys) ring.remember(stored);
    for (const revocation of revocations.all) {
      const stored = ring.byId.get(revocation.id);
      if (stored?.record.revokedAtS === null) ring.end(stored, revocation);
    }
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

  /** Creates a key. Only the result contains its text. */
  async create(request: KeyRequest): Promise<IssuedKey> {
    return this.changes.use(async () => {
      const { issued, stored } = this.draft(request);
      await this.put(stored, true);
      return issued;
    });
  }

  /** A new key that is not stored yet. */
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
   * Stores a key that a node of a cluster has drafted.
   * @throws RefusalError if a key to be rotated was revoked in the meantime, or there are too many keys
   */
  async adopt(stored: StoredKey, isNew: boolean, mark: LogMark): Promise<void> {
    await this.changes.use(() => this.put(stored, isNew, mark));
  }

  /** Changes a key at the request of a cluster's node. @throws RefusalError if it is not live */
  async adoptUpdate(update: KeyUpdate, mark: LogMark): Promise<KeyRecord> {
    return this.changes.use(() => this.write(update, mark));
  }

  /** Revokes a key at the request of a cluster's node. @throws RefusalError if it is not live */
  async adoptRevocation({ id, revokedAtS }: Revocation, mark: LogMark): Promise<KeyRecord> {
    return this.changes.use(async () => {
      const stored = this.live(id);
      await this.database.transaction(async (tx) => {
        await writeRevocations(tx, [{ id, revokedAtS }]);
        await writeMark(tx, mark);
      });
      const revoked = { ...stored.record, revokedAtS };
      this.remember({ ...stored, record: revoked });
      this.events.emit('change', 'revoked', revoked);
      return revoked;
    });
  }

  /** A revocation of a key that is not stored yet. @throws RefusalError if the key is not live */
  draftRevocation(key: string): Revocation {
    return { id: this.live(key).record.id, revokedAtS: wallS() };
  }

  /** Takes the secret of a cluster. Call while there are no keys. */
  async adoptSecret(secret: Uint8Array): Promise<void> {
    this.secret = await replacePepper(this.database, this.directory, Buffer.from(secret));
  }

  /** Number of keys, including revoked ones. */
  get count(): number {
    return this.byId.size;
  }

  /** Writes revocations into the table that it lacks. */
  flush(): Promise<void> {
    return this.table.flush();
  }

  /** Every key, oldest first. */
  list(): KeyRecord[] {
    return [...this.byId.values()]
      .map(({ record }) => record)
      .sort((a, b) => a.createdAtS - b.createdAtS || (a.id < b.id ? -1 : 1));
  }

  /** Gives a live key a new text; the old one stays valid for `overlapS` seconds. */
  async rotate(key: string, overlapS = 0): Promise<IssuedKey> {
    return this.changes.use(async () => {
      const { issued, stored } = this.draftRotation(key, overlapS);
      await this.put(stored, false);
      // It may have been revoked while its new text was being written.
      this.live(issued.id);
      return issued;
    });
  }

  /** Changes the given terms of a live key. */
  async update(key: string, changes: Partial<KeyTerms>): Promise<KeyRecord> {
    return this.changes.use(() => this.write(this.draftUpdate(key, changes)));
  }

  /**
   * Revokes a key for good: in memory at once, without waiting for other changes, and on the disk before the promise
   * resolves. If the write failed, revoking the key again retries it.
   * @throws UnwrittenError if it could not be written: the key is revoked only in this process
   */
  async revoke(key: string): Promise<KeyRecord> {
    const { id } = this.named(key).record;
    const again = this.undurable.has(id) ? this.unwritten.get(id) : undefined;
    const revocation = again ?? { id, revokedAtS: wallS() };
    if (again === undefined) this.end(this.live(id), revocation);
    this.undurable.add(id);
    try {
      await this.revocations
        .add(revocation, (other) => this.unwritten.has(other))
        .catch(() => this.table.flush());
    } catch (error) {
      throw new UnwrittenError(id, error);
    }
    this.undurable.delete(id);
    const { record } = this.byId.get(id) as StoredKey;
    this.events.emit('change', 'revoked', record);
    return record;
  }

  /** Writes what the table lacks; a failure is reported to `onError`. */
  close(): Promise<void> {
    return this.table.close();
  }

  /** Revokes a key in memory; the table follows. */
  private end(stored: StoredKey, revocation: Revocation): void {
    const { record } = stored;
    this.remember({ ...stored, record: { ...record, revokedAtS: revocation.revokedAtS } });
    this.unwritten.set(record.id, revocation);
    this.table.mark(revocation);
  }

  private async writeRevoked(rows: readonly Revocation[]): Promise<void> {
    await writeRevocations(this.database, rows);
    for (const { id } of rows) {
      this.unwritten.delete(id);
      this.undurable.delete(id);
    }
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

  /** Stores a new key, or a new text of a live one. */
  private async put(stored: StoredKey, isNew: boolean, mark?: LogMark): Promise<void> {
    if (!isNew) this.live(stored.record.id);
    else if (this.byId.size >= MAX_KEYS) {
      throw new RefusalError(`the store has ${MAX_KEYS} keys already`);
    }
    await this.database.transaction(async (tx) => {
      await writeKey(tx, stored);
      if (mark !== undefined) await writeMark(tx, mark);
    });
    const { record, digest, earlierDigest } = stored;
    const before = this.byId.get(record.id);
    const { hint, earlierUntilS } = record;
    this.remember({
      // It may have been revoked in the meantime.
      record: before === undefined ? record : { ...before.record, hint, earlierUntilS },
      digest: Buffer.from(digest),
      earlierDigest: earlierDigest === null ? null : Buffer.from(earlierDigest),
    });
    this.events.emit('change', before === undefined ? 'created' : 'rotated', record);
  }

  private async write({ id, changes }: KeyUpdate, mark?: LogMark): Promise<KeyRecord> {
    const { record } = this.live(id);
    const { tier, name, requestsPerMinute, monthlyQuota, expiresAtS } = { ...record, ...changes };
    const changed = { tier, name, requestsPerMinute, monthlyQuota, expiresAtS };
    await this.database.transaction(async (tx) => {
      await writeTerms(tx, id, changed);
      if (mark !== undefined) await writeMark(tx, mark);
    });
    // It may have been revoked in the meantime.
    const now = this.byId.get(id) as StoredKey;
    const updated = { ...now.record, ...changed };
    this.remember({ ...now, record: updated });
    this.events.emit('change', 'updated', updated);
    return updated;
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
