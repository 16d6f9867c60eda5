/** The table `keys`: every key of a store, with the digests of its texts. */
import type { KeyRecord, KeyTerms } from '../contract.js';
import type { SqlRow, Statements } from '../duckdb/statements.js';

export interface Revocation {
  id: string;
  revokedAtS: number;
}

export interface StoredKey {
  record: KeyRecord;
  digest: Uint8Array;
  /** The digest of a rotated key's earlier text, which is valid before `earlierUntilS`; null if there is none. */
  earlierDigest: Uint8Array | null;
}

/** The columns of a record's fields. */
const COLUMNS = {
  id: 'id',
  name: 'name',
  tier: 'tier',
  hint: 'hint',
  requestsPerMinute: 'requests_per_minute',
  monthlyQuota: 'monthly_quota',
  createdAtS: 'created_at',
  revokedAtS: 'revoked_at',
  expiresAtS: 'expires_at',
  earlierUntilS: 'earlier_until',
} as const satisfies Readonly<Record<keyof KeyRecord, string>>;
const FIELDS = Object.keys(COLUMNS) as (keyof KeyRecord)[];
const ALL_COLUMNS = ['digest', 'earlier_digest', ...Object.values(COLUMNS)];

export async function readKeys(statements: Pick<Statements, 'rows'>): Promise<StoredKey[]> {
  const rows = await statements.rows(`SELECT ${ALL_COLUMNS.join(', ')} FROM keys`);
  return rows.map(storedKey);
}

/** Writes a new key, or the new text of a stored one, whose terms and revocation stay. */
export function writeKey(
  tx: Statements,
  { record, digest, earlierDigest }: StoredKey,
): Promise<void> {
  return tx.run(
    `INSERT INTO keys (${ALL_COLUMNS.join(', ')}) VALUES (${ALL_COLUMNS.map(() => '?').join(', ')})
     ON CONFLICT (id) DO UPDATE SET hint = EXCLUDED.hint, digest = EXCLUDED.digest,
       earlier_digest = EXCLUDED.earlier_digest, earlier_until = EXCLUDED.earlier_until`,
    [digest, earlierDigest, ...FIELDS.map((field) => record[field])],
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

export function writeRevocation(
  statements: Pick<Statements, 'run'>,
  { id, revokedAtS }: Revocation,
): Promise<void> {
  return statements.run('UPDATE keys SET revoked_at = ? WHERE id = ?', [revokedAtS, id]);
}

function storedKey([digest, earlierDigest, ...values]: SqlRow): StoredKey {
  return {
    record: Object.fromEntries(
      FIELDS.map((field, i) => [field, values[i]]),
    ) as unknown as KeyRecord,
    digest: Buffer.from(digest as Uint8Array),
    earlierDigest: earlierDigest === null ? null : Buffer.from(earlierDigest as Uint8Array),
  };
}
