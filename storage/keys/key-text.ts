/** The text of an API key: a prefix, random characters and their checksum; and the form of its id. */
import { randomBytes, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Tells people and scanners of leaked secrets what kind of secret it is. */
const KEY_PREFIX = 'fathom_';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 32 characters of base62: 190 bits. */
const RANDOM_CHARS = 32;
/** 62^6 exceeds 2^32: six characters hold any CRC32. */
const CHECKSUM_CHARS = 6;
const PATTERN = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${RANDOM_CHARS + CHECKSUM_CHARS}}$`);

const KEY_ID_BYTES = 8;
const KEY_ID = new RegExp(`^key_[0-9a-f]{${2 * KEY_ID_BYTES}}$`);

/** A new random id. */
export function newKeyId(): string {
  return `key_${randomBytes(KEY_ID_BYTES).toString('hex')}`;
}

export function isKeyId(text: string): boolean {
  return KEY_ID.test(text);
}

/** A new random key. */
export function newKey(): string {
  const random = Array.from({ length: RANDOM_CHARS }, () => BASE62[randomInt(62)]).join('');
  return KEY_PREFIX + random + checksum(random);
}

/** Whether the text has the form and checksum of a key: this detects a typo without a look-up. */
export function isWellFormedKey(text: string): boolean {
  if (!PATTERN.test(text)) return false;
  const body = text.slice(KEY_PREFIX.length);
  return checksum(body.slice(0, RANDOM_CHARS)) === body.slice(RANDOM_CHARS);
}

/** What lists show of a key. */
export function keyHint(key: string): string {
  return `${KEY_PREFIX}…${key.slice(-4)}`;
}

function checksum(random: string): string {
  let value = crc32(random);
  let text = '';
  for (let i = 0; i < CHECKSUM_CHARS; i++) {
    text = BASE62[value % 62] + text;
    value = Math.floor(value / 62);
  }
  return text;
}
