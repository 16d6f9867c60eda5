/** The table `keys`: every key of a store, with the digests of its texts. */
import type { KeyRecord, KeyTerms } from '../contract.js';
import type { SqlRow, Statements } from '../duckdb/statements.js';
import type { Revocation } from './revocation-file.js';

export interface StoredKey {
  record: KeyRecord;
  digest: Uint8Array;
  /** The digest of a rotated key's earlier text, which is valid before `earlierUntilS`; null if there is none. */
  earlierDigest: Uint8Array | null;
}

export async function readKeys(statements: Pick<Statements, 'rows'>): Promise<StoredKey[]> {
  const rows = await statements.rows(
    `SELECT id, name, tier, hint, requests_per_minute, monthly_quota, created_at, revoked_at, digest,
       expires_at, earlier_digest, earlier_until
     FROM keys`,
  );
  return rows.map(storedKey);
}

/** Writes a new key, or the new text of a stored one, whose terms and revocation stay. */
export function writeKey(
  tx: Statements,
  { record, digest, earlierDigest }: StoredKey,
): Promise<void> {
  return tx.run(
    `INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET hint = EXCLUDED.hint, digest = EXCLUDED.digest,
       earlier_digest = EXCLUDED.earlier_digest, earlier_until = EXCLUDED.earlier_until`,
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
      record.expiresAtS,
      earlierDigest,
      record.earlierUntilS,
    ],
  );
}

export function writeTerms(tx: Statements, id: string, terms: KeyTerms): Promise<void> {
  const { tier, name, requestsPerMinute, monthlyQuota, expiresAtS } = terms;
  return tx.run(
    `UPDATE keys SET tier = ?, name = ?, requests_per_minute = ?, monthly_quota = ?, expires_at = ?
     WHERE id = ?`,
    [tier, name, requestsPerMinute, monthlyQuota, expiresAtS, id],
  );
}

/** @param revocations at least one */
export function writeRevocations(
  statements: Pick<Statements, 'run'>,
  revocations: readonly Revocation[],
): Promise<void> {
  return statements.run(
    `UPDATE keys SET revoked_at = new.revoked_at
     FROM (VALUES ${revocations.map(() => '(?, ?)').join(', ')}) new (id, revoked_at)
     WHERE keys.id = new.id`,
    revocations.flatMap(({ id, revokedAtS }) => [id, revokedAtS]),
  );
}

function storedKey(row: SqlRow): StoredKey {
  const [id, name, tier, hint, rpm, quota, createdAt, revokedAt, digest] = row;
  const [expiresAt, earlierDigest, earlierUntil] = row.slice(9);
  return {
    record: {
      id: id as string,
      name: name as string | null,
      tier: tier as string,
      hint: hint as string,
      requestsPerMinute: rpm as number | null,
      monthlyQuota: quota as number | null,
      createdAtS: createdAt as number,
      revokedAtS: revokedAt as number | null,
      expiresAtS: expiresAt as number | null,
      earlierUntilS: earlierUntil as number | null,
    },
    digest: Buffer.from(digest as Uint8Array),
    earlierDigest: earlierDigest === null ? null : Buffer.from(earlierDigest as Uint8Array),
  };
}
