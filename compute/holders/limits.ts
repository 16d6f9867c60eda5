/** Bounds of holder snapshots. */

/** Owners of one snapshot. */
export const MAX_OWNERS_PER_SNAPSHOT = 1_000_000;
/** Owners that all stored snapshots of one token name: about 200 MB of names. */
export const MAX_OWNERS_PER_TOKEN = 4_000_000;
/** Characters of an owner. */
export const MAX_OWNER_LENGTH = 64;
