/** Finds the live key that has a text. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { KeyRecord } from '../contract.js';
import { countedCache } from '../counted-cache.js';
import { wallS } from '../wall-clock.js';
import type { StoredKey } from './key-table.js';
import { isWellFormedKey } from './key-text.js';

/** Live keys in the cache; others are hashed at each request. */
const MAX_VERIFIED_KEYS = 10_000;

/** A key that was verified by its text. */
interface VerifiedKey {
  record: KeyRecord;
  /** The text is valid before this time; Infinity for the latest text. */
  untilS: number;
}

export class KeyVerifier {
  private readonly byDigest = new Map<string, StoredKey>();
  /** Live keys by their text, so that busy ones are not hashed at every request. Any change clears it. */
  private readonly verified = countedCache<string, VerifiedKey>(MAX_VERIFIED_KEYS);

  constructor(
    /** The pepper, with which digests are made. Set it only while there are no keys. */
    public secret: Uint8Array,
  ) {}

  /** The key with this text, even if it has expired; null if unknown, revoked or mistyped. */
  verify(key: string): KeyRecord | null {
    const known = this.verified.get(key) ?? this.find(key);
    if (known === null) return null;
    return known.untilS === Infinity || wallS() < known.untilS ? known.record : null;
  }

  /** The digest under which a key's text is stored. */
  digest(key: string): Buffer {
    return createHmac('sha256', this.secret).update(key).digest();
  }

  /** Takes a key in place of what it was before. */
  replace(before: StoredKey | undefined, stored: StoredKey): void {
    this.verified.clear();
    if (before !== undefined) for (const digest of digestsOf(before)) this.byDigest.delete(digest);
    for (const digest of digestsOf(stored)) this.byDigest.set(digest, stored);
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
}

/** The digests under which a key is found. */
function digestsOf({ digest, earlierDigest }: StoredKey): string[] {
  const digests = earlierDigest === null ? [digest] : [digest, earlierDigest];
  return digests.map((each) => Buffer.from(each).toString('hex'));
}
