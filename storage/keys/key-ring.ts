/** API keys: creates, lists, rotates, revokes and verifies them. Stores only their HMAC digests. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import type { IssuedKey, KeyRecord, KeyRequest, KeySource, KeyTier } from '../contract.js';
import { PEPPER_FILE } from '../data-directory.js';
import type { Database } from '../duckdb/database.js';
import { Lanes } from '../duckdb/lanes.js';
import type { SqlRow } from '../duckdb/statements.js';
import { InputError, RefusalError, UnwrittenError } from '../errors.js';
import { type LogMark, writeMark } from '../log/mark.js';
import { wallS } from '../wall-clock.js';
import { writeWhole } from '../whole-file.js';
import { WriteBehind } from '../write-behind.js';
import { isWellFormedKey, keyHint, newKey } from './key-text.js';
import { type Revocation, RevocationFile } from './revocations.js';

/** Keys of one store, revoked ones included. */
const MAX_KEYS = 100_000;
/** Live keys in the cache; others are hashed at each request. */
const MAX_VERIFIED_KEYS = 10_000;

const PEPPER_BYTES = 32;

export interface StoredKey {
  record: KeyRecord;
  digest: Uint8Array;
}

/** A key that is not stored yet. */
interface Draft {
  issued: IssuedKey;
  stored: StoredKey;
}

type KeyListener = (
  change: 'created' | 'rotated' | 'revoked',
  key: Pick<KeyRecord, 'id' | 'tier'>,
) => void;

const tooManyKeys = (): RefusalError => new RefusalError(`the store has ${MAX_KEYS} keys already`);

export class KeyRing implements KeySource {
  private readonly byDigest = new Map<string, StoredKey>();
  private readonly byId = new Map<string, StoredKey>();
  /** Live keys by their text, so that busy ones are not hashed at every request. Any change clears it. */
  private readonly verified = new LRUCache<string, KeyRecord>({ max: MAX_VERIFIED_KEYS });
  /** One change at a time, each from the result of the one before; a revocation waits for none. */
  private readonly changes = new Lanes([null]);
  /** Revocations that the table lacks. */
  private readonly unwritten = new Map<string, Revocation>();
  /** Ids of those that are in memory alone. */
  private readonly undurable = new Set<string>();
  private readonly table: WriteBehind<Revocation>;
  private readonly listeners: KeyListener[] = [];

  private constructor(
    private readonly database: Database,
    private readonly directory: string,
    private readonly revocations: RevocationFile,
    private pepper: Buffer,
    private readonly nowS: () => number,
    onError: (error: unknown) => void,
  ) {
    this.table = new WriteBehind({ write: (rows) => this.writeRevoked(rows), onError });
  }

  /**
   * Loads the keys of a store; creates its pepper on first use. Failed writes of revocations go to
   * `onError`, and are tried again until they succeed.
   */
  static async load(
    database: Database,
    directory: string,
    onError: (error: unknown) => void,
    nowS: () => number = wallS,
  ): Promise<KeyRing> {
    const rows = await database.rows(
      `SELECT id, name, tier, hint, requests_per_minute, monthly_quota, created_at, revoked_at, digest
       FROM keys`,
    );
    const pepper = await loadPepper(directory, rows.length > 0);
    const revocations = await RevocationFile.open(directory);
    const ring = new KeyRing(database, directory, revocations, pepper, nowS, onError);
    for (const row of rows) ring.remember(storedKey(row));
    for (const revocation of revocations.all) {
      const stored = ring.byId.get(revocation.id);
      if (stored?.record.revokedAtS === null) ring.end(stored, revocation);
    }
    return ring;
  }

  /** Calls `listener` with each change of a key, once it is written. */
  onChange(listener: KeyListener): void {
    this.listeners.push(listener);
  }

  private tell(...change: Parameters<KeyListener>): void {
    for (const listener of this.listeners) listener(...change);
  }

  verify(key: string): KeyRecord | null {
    const known = this.verified.get(key);
    if (known !== undefined) return known;
    if (!isWellFormedKey(key)) return null;
    const digest = this.digest(key);
    const stored = this.byDigest.get(digest.toString('hex'));
    if (stored === undefined || !timingSafeEqual(stored.digest, digest)) return null;
    if (stored.record.revokedAtS !== null) return null;
    this.verified.set(key, stored.record);
    return stored.record;
  }

  /** Creates a key. Its text is in the result and nowhere else. */
  async create(request: KeyRequest): Promise<IssuedKey> {
    return this.changes.use(() => {
      if (this.byId.size >= MAX_KEYS) throw tooManyKeys();
      return this.issue(this.template(request));
    });
  }

  /** A new key, or a new text of a live one, that is not stored yet. */
  draft(of: KeyRequest | { id: string }): Draft {
    return this.drafted('id' in of ? this.stored(of.id).record : this.template(of));
  }

  /**
   * Stores a key that a node of a cluster has drafted.
   * @throws RefusalError where a key to be rotated is revoked by now, or there are too many
   */
  async adopt(stored: StoredKey, isNew: boolean, mark: LogMark): Promise<void> {
    await this.changes.use(async () => {
      if (!isNew) this.stored(stored.record.id);
      else if (this.byId.size >= MAX_KEYS) throw tooManyKeys();
      await this.put(stored, mark);
    });
  }

  /** Ends a key as a node of a cluster has asked for. @throws RefusalError where it is not live */
  async adoptRevocation({ id, revokedAtS }: Revocation, mark: LogMark): Promise<KeyRecord> {
    return this.changes.use(async () => {
      const { record, digest } = this.stored(id);
      await this.database.transaction(async (tx) => {
        await tx.run('UPDATE keys SET revoked_at = ? WHERE id = ?', [revokedAtS, id]);
        await writeMark(tx, mark);
      });
      const revoked = { ...record, revokedAtS };
      this.remember({ record: revoked, digest });
      this.tell('revoked', revoked);
      return revoked;
    });
  }

  /** What a new revocation of a key is. @throws InputError where it is not live */
  draftRevocation(id: string): Revocation {
    return { id: this.stored(id).record.id, revokedAtS: this.nowS() };
  }

  /** The secret that digests are made with. */
  get secret(): Uint8Array {
    return this.pepper;
  }

  /** Takes the secret of a cluster. Call while there are no keys. */
  async adoptSecret(secret: Uint8Array): Promise<void> {
    await writeWhole(path.join(this.directory, PEPPER_FILE), secret);
    this.pepper = Buffer.from(secret);
  }

  /** Keys, revoked ones included. */
  get count(): number {
    return this.byId.size;
  }

  /** Writes revocations that the table lacks into it. */
  flush(): Promise<void> {
    return this.table.flush();
  }

  /** Every key, oldest first. */
  list(): KeyRecord[] {
    return [...this.byId.values()]
      .map(({ record }) => record)
      .sort((a, b) => a.createdAtS - b.createdAtS || (a.id < b.id ? -1 : 1));
  }

  /** Gives a live key a new text; the old one stops working at once. */
  async rotate(id: string): Promise<IssuedKey> {
    return this.changes.use(async () => {
      const issued = await this.issue(this.stored(id).record);
      // It may have been revoked while its new text was being written.
      this.stored(id);
      return issued;
    });
  }

  /**
   * Ends a key for good: here at once, whatever else is being written, and before the promise resolves
   * on the disk. Revoking a key again that could not be written writes it again.
   * @throws UnwrittenError where it could not be written: the key is revoked in this process
   */
  async revoke(id: string): Promise<KeyRecord> {
    const again = this.undurable.has(id) ? this.unwritten.get(id) : undefined;
    const revocation = again ?? { id, revokedAtS: this.nowS() };
    if (again === undefined) this.end(this.stored(id), revocation);
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
    this.tell('revoked', record);
    return record;
  }

  /** Writes to the table what it lacks; a failure goes to `onError`. */
  close(): Promise<void> {
    return this.table.close();
  }

  /** Revokes a key in memory; the table follows. */
  private end({ record, digest }: StoredKey, revocation: Revocation): void {
    this.remember({ record: { ...record, revokedAtS: revocation.revokedAtS }, digest });
    this.unwritten.set(record.id, revocation);
    this.table.mark(revocation);
  }

  private async writeRevoked(rows: readonly Revocation[]): Promise<void> {
    await this.database.run(
      `UPDATE keys SET revoked_at = new.revoked_at
       FROM (VALUES ${rows.map(() => '(?, ?)').join(', ')}) new (id, revoked_at)
       WHERE keys.id = new.id`,
      rows.flatMap(({ id, revokedAtS }) => [id, revokedAtS]),
    );
    for (const { id } of rows) {
      this.unwritten.delete(id);
      this.undurable.delete(id);
    }
  }

  /** A live key. */
  private stored(id: string): StoredKey {
    const stored = this.byId.get(id);
    if (stored === undefined) throw new RefusalError(`no key has the id ${id}`);
    if (stored.record.revokedAtS !== null)
      throw new RefusalError(`the key ${id} is revoked already`);
    return stored;
  }

  private template(request: KeyRequest): KeyRecord {
    const id = `key_${randomBytes(8).toString('hex')}`;
    return { id, ...request, createdAtS: this.nowS(), revokedAtS: null, hint: '' };
  }

  private drafted(template: KeyRecord): Draft {
    const key = newKey();
    const record: KeyRecord = { ...template, hint: keyHint(key) };
    return { issued: { ...record, key }, stored: { record, digest: this.digest(key) } };
  }

  private async issue(template: KeyRecord): Promise<IssuedKey> {
    const { issued, stored } = this.drafted(template);
    await this.put(stored);
    return issued;
  }

  private async put({ record, digest }: StoredKey, mark?: LogMark): Promise<void> {
    await this.database.transaction(async (tx) => {
      await tx.run(
        `INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET hint = EXCLUDED.hint, digest = EXCLUDED.digest`,
        [
          record.id,
          record.name,
          record.tier,
          record.hint,
          digest,
          record.requestsPerMinute,
          record.monthlyQuota,
          record.createdAtS,
          record.revokedAtS,
        ],
      );
      if (mark !== undefined) await writeMark(tx, mark);
    });
    const before = this.byId.get(record.id);
    if (before !== undefined) this.byDigest.delete(Buffer.from(before.digest).toString('hex'));
    const revokedAtS = before?.record.revokedAtS ?? null;
    this.remember({ record: { ...record, revokedAtS }, digest: Buffer.from(digest) });
    this.tell(before === undefined ? 'created' : 'rotated', record);
  }

  private remember(stored: StoredKey): void {
    this.verified.clear();
    this.byId.set(stored.record.id, stored);
    this.byDigest.set(Buffer.from(stored.digest).toString('hex'), stored);
  }

  private digest(key: string): Buffer {
    return createHmac('sha256', this.pepper).update(key).digest();
  }
}

function storedKey(row: SqlRow): StoredKey {
  const [id, name, tier, hint, rpm, quota, createdAt, revokedAt, digest] = row;
  return {
    record: {
      id: id as string,
      name: name as string | null,
      tier: tier as KeyTier,
      hint: hint as string,
      requestsPerMinute: rpm as number | null,
      monthlyQuota: quota as number | null,
      createdAtS: createdAt as number,
      revokedAtS: revokedAt as number | null,
    },
    digest: Buffer.from(digest as Uint8Array),
  };
}

/**
 * Reads a directory's pepper. Creates it if it is missing or damaged and no key depends on it yet
 * (`required` is false).
 * @throws InputError if it is required and cannot be read
 */
async function loadPepper(directory: string, required: boolean): Promise<Buffer> {
  const file = path.join(directory, PEPPER_FILE);
  const found = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new InputError(`${file} cannot be read (${error.code ?? 'unknown'})`);
  });
  if (found?.length === PEPPER_BYTES) return found;
  if (required) {
    throw new InputError(
      `${file} is ${found === null ? 'missing' : 'damaged'}: without it no key of this store can be checked; restore it from a backup`,
    );
  }
  const pepper = randomBytes(PEPPER_BYTES);
  await writeWhole(file, pepper);
  return pepper;
}
