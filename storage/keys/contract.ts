/** What the server and commands see of keys and of the calls made with them. */

export const KEY_TIERS = ['premium', 'enterprise'] as const;
export type KeyTier = (typeof KEY_TIERS)[number];

/** What an operator chooses for a key and may change later. */
export interface KeyTerms {
  /** The key's plan: a tier, or a plan that the operator has configured. */
  tier: string;
  name: string | null;
  /** Requests per minute; null: as in the plan, Infinity: unlimited. */
  requestsPerMinute: number | null;
  /** Calls per month; null: as in the plan, Infinity: unlimited. */
  monthlyQuota: number | null;
  /** The key is valid before this time; null if it does not expire. */
  expiresAtS: number | null;
}

/** The terms of a new key; missing ones are null. */
export type KeyRequest = Pick<KeyTerms, 'tier'> & Partial<KeyTerms>;

/** A key without its text. */
export interface KeyRecord extends KeyTerms {
  id: string;
  /** Prefix and last four characters of the key. */
  hint: string;
  createdAtS: number;
  revokedAtS: number | null;
  /** The earlier text of a rotated key is valid before this time; null if there is none. */
  earlierUntilS: number | null;
}

/** Plans by name; what they contain is the server's affair. */
export type KeyPlans = Readonly<Record<string, unknown>>;

/** A key as `fathom keys list` shows it. */
export interface ListedKey extends KeyRecord {
  /** Start of the hour in which the key was last used; null if no use is known. */
  lastUsedS: number | null;
}

/** A new or rotated key with its text, which is stored nowhere. */
export interface IssuedKey extends KeyRecord {
  key: string;
}

export interface KeySource {
  /** The key with this text, even if it has expired; null if unknown, revoked or mistyped. */
  verify(key: string): KeyRecord | null;
}

export interface CallCounter {
  /** Counts immediately, and writes the count within a second. */
  add(calls: number): void;
}

/** Calls of one key in one UTC month, on all nodes, as they are counted. */
export interface MonthUsage {
  readonly calls: number;
}

export interface UsageSource {
  /** The calls of a key in a month (202611). */
  month(keyId: string, month: number): MonthUsage;
  /** Counts a key's calls to an endpoint on a day (20261122). */
  counter(keyId: string, day: number, endpoint: string): CallCounter;
  /** A key's calls in a month (202611), by day, then endpoint. */
  ofMonth(keyId: string, month: number): Promise<DayUsage[]>;
  /** Records that a key was used in the hour that begins at this time (epoch seconds). */
  use(keyId: string, hourS: number): void;
}

/** Calls on one UTC day to one endpoint. */
export interface DayUsage {
  /** Such as 20261122. */
  day: number;
  /** Method and path. */
  endpoint: string;
  calls: number;
}

/** Calls of one key on one UTC day to one endpoint. */
export interface KeyDayUsage extends DayUsage {
  keyId: string;
}
