/** Entries of the log: each is one change of data, keys or settings. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { crc32 } from 'node:zlib';
import { CHAINS, type Tier, TIERS } from '../../compute/market.js';
import { pack, unpackOrNull } from '../../compute/messagepack.js';
import type { ArchivedDay, ArchiveWindow } from '../archive/archived-day.js';
import { type Frame, isBundleName } from '../bundle.js';
import { tokenKey } from '../depth/catalog.js';
import type { Cutoffs } from '../depth/retention-steps.js';
import { InputError, MalformedError } from '../errors.js';
import type { TokenName } from '../contract.js';
import type { KeyChange } from '../keys/key-ring.js';
import type { Settings } from './settings.js';

/**
 * The first byte of an entry is its format; a node stops before a later one, or a kind that it does not know. Changes if
 * entries of a known kind get another layout.
 */
export const ENTRY_FORMAT = 4;
/** No version will use a greater format, so text never passes for an entry of a later version. */
const MAX_ENTRY_FORMAT = 31;
/** The subject of entries about keys. */
export const KEYS_SUBJECT = 'keys';
/** Shards by which a later version may distribute tokens over nodes. */
const SHARDS = 256;

/** The first entry. */
interface OriginEntry {
  kind: 'origin';
  /** The node that began the log. */
  node: string;
  /** The secret with which all nodes make keys' digests. */
  pepper: Uint8Array;
  /** Whether the store that began the log had data: other nodes then begin with a copy of it. */
  hasData: boolean;
  /** The settings with which the cluster begins. */
  settings: Settings;
}

export type Entry =
  | OriginEntry
  /** A small bundle. */
  | { kind: 'bundle'; bundle: Uint8Array }
  /** A large bundle, which the log has apart from the entry; nodes store it under this name until it is applied. */
  | { kind: 'large-bundle'; name: string; bytes: number; sha256: Uint8Array }
  | { kind: 'retirement'; token: TokenName; cutoffs: Cutoffs; made: readonly Tier[] }
  /** Snapshots whose blocks are in an object of the archive from now on. */
  | ({ kind: 'archived' } & ArchivedDay)
  | KeyChange
  /** Settings that change; the others stay. */
  | { kind: 'settings'; settings: Settings };

/** An entry that may share a transaction with others. */
export type SharedEntry = Extract<Entry, { kind: 'bundle' | 'retirement' }>;

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = (value) => typeof value === 'number';
const isFlag: Check = (value) => typeof value === 'boolean';
const isBytes: Check = (value) => value instanceof Uint8Array;
const isAmong =
  (values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);

const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);

const hasFields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(checks).every(([name, check]) =>
      check((value as Record<string, unknown>)[name]),
    );

const WINDOW: Readonly<Record<keyof ArchiveWindow, Check>> = {
  token: hasFields({ chain: isAmong(CHAINS), address: isText }),
  tier: isAmong(TIERS),
  fromS: isNumber,
  toS: isNumber,
};

/** For each kind, whether an entry has all fields. */
const KINDS: Readonly<Record<Entry['kind'], Check>> = {
  origin: hasFields({ node: isText, pepper: isBytes, hasData: isFlag, settings: hasFields({}) }),
  bundle: hasFields({ bundle: isBytes }),
  'large-bundle': hasFields({
    name: (value) => typeof value === 'string' && isBundleName(value),
    bytes: isNumber,
    sha256: isBytes,
  }),
  retirement: hasFields({
    token: hasFields({ chain: isAmong(CHAINS), address: isText }),
    cutoffs: hasFields(Object.fromEntries(TIERS.map((tier) => [tier, isNumber]))),
    made: isListOf(isAmong(TIERS)),
  }),
  archived: hasFields({
    ...WINDOW,
    key: isText,
    sha256: isText,
    bytes: isNumber,
    digest: isBytes,
    segments: isListOf(
      hasFields({
        snapshots: isNumber,
        cells: isNumber,
        at: isNumber,
        bytes: isNumber,
        crc32: isNumber,
        marketRows: isBytes,
        sample: orNull(isBytes),
      }),
    ),
  }),
  key: hasFields({
    stored: hasFields({
      record: hasFields({
        id: isText,
        tier: isText,
        hint: isText,
        createdAtS: isNumber,
        requestsPerMinute: orNull(isNumber),
        monthlyQuota: orNull(isNumber),
        expiresAtS: orNull(isNumber),
        earlierUntilS: orNull(isNumber),
      }),
      digest: isBytes,
      earlierDigest: orNull(isBytes),
    }),
    isNew: isFlag,
  }),
  'key-update': hasFields({ update: hasFields({ id: isText, changes: hasFields({}) }) }),
  revocation: hasFields({ revocation: hasFields({ id: isText, revokedAtS: isNumber }) }),
  settings: hasFields({ settings: hasFields({}) }),
};

/** An entry of a format or kind that a later version of Fathom may know. */
export class UnknownEntryError extends InputError {}

export function packEntry(entry: Entry): Uint8Array {
  return Buffer.concat([Uint8Array.of(ENTRY_FORMAT), pack(entry)]);
}

/**
 * @throws UnknownEntryError if a later version may know it
 * @throws MalformedError if no version does
 */
export function unpackEntry(data: Uint8Array): Entry {
  const [format] = data;
  if (!(format >= 1 && format <= MAX_ENTRY_FORMAT)) {
    throw new MalformedError('it begins with the format of no entry');
  }
  if (format > ENTRY_FORMAT) {
    throw unknown(`has format ${format}, this version knows ${ENTRY_FORMAT}`);
  }
  const value = unpackOrNull<Partial<Entry> | undefined>(data.subarray(1));
  const kind = value?.kind;
  if (typeof kind !== 'string') throw new MalformedError('it cannot be decoded');
  if (!Object.hasOwn(KINDS, kind)) throw unknown(`is of the kind ${kind}, which is not known`);
  if (!KINDS[kind](value)) throw new MalformedError(`it lacks what a ${kind} entry has`);
  return value as Entry;
}

function unknown(what: string): UnknownEntryError {
  return new UnknownEntryError(`the log's next entry ${what}: run a newer Fathom on this node`);
}

/**
 * The subject of a bundle: chain and shard of its only token, or `many`. At present every node takes every subject.
 */
export function subjectOf(frames: readonly Frame[]): string {
  const tokens = new Set(frames.flatMap(tokensOf));
  const [token] = tokens;
  if (tokens.size !== 1) return 'data.many';
  return tokenSubject(token);
}

/** The tokens named in a frame. Rows of the flat datasets name none. */
function tokensOf(frame: Frame): string[] {
  if (frame.kind === 'tokens') return frame.rows.map(({ row }) => tokenKey(row.chain, row.address));
  if (frame.kind === 'holders') return [tokenKey('mainchain', frame.tokenAddress)];
  return 'chain' in frame ? [tokenKey(frame.chain, frame.address)] : [];
}

export function tokenSubject(token: string): string {
  return `data.${token.split(':')[0]}.${crc32(token) % SHARDS}`;
}

/** SHA-256 of a large bundle's file, as in its entry. */
export async function digestOf(file: string): Promise<Uint8Array> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest();
}
