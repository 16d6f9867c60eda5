import type { KeyRecord } from '../../storage/contract.js';

/** A live premium key without figures of its own, or with `fields`. */
export function keyRecord(fields: Partial<KeyRecord> = {}): KeyRecord {
  return {
    id: 'key_1',
    name: null,
    tier: 'premium',
    hint: '',
    requestsPerMinute: null,
    monthlyQuota: null,
    createdAtS: 0,
    revokedAtS: null,
    expiresAtS: null,
    earlierUntilS: null,
    ...fields,
  };
}
