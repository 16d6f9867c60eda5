/** Entries of the log: each is one change of data, keys or settings. */
import { Packr, Unpackr } from 'msgpackr';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { crc32 } from 'node:zlib';
import type { Tier } from '../../compute/market.js';
import type { Frame } from '../bundle.js';
import type { TokenName } from '../contract.js';
import { tokenKey } from '../depth/catalog.js';
import type { Cutoffs } from '../depth/retention-steps.js';
import type { StoredKey } from '../keys/key-ring.js';
import type { Revocation } from '../keys/revocations.js';
import type { Settings } from './settings.js';

/** Kinds of entries by the format that brought them. */
const KINDS: Readonly<Record<Entry['kind'], number>> = {
  ...{ origin: 1, bundle: 1, 'large-bundle': 1, retirement: 1, key: 1, revocation: 1 },
  settings: 2,
};
/** The latest format. An entry's own is its first byte; a node stops before one of a later format. */
export const ENTRY_FORMAT = 2;
/** Parts into which a later version may divide tokens among nodes. */
const SHARDS = 256;

/** The first entry. */
export interface OriginEntry {
  kind: 'origin';
  /** The node that began the log. */
  node: string;
  /** What all nodes make keys' digests with. */
  pepper: Uint8Array;
  /** Whether the store that began the log held anything: others then begin with a copy of it. */
  hasData: boolean;
}

export type Entry =
  | OriginEntry
  /** A small bundle. */
  | { kind: 'bundle'; bundle: Uint8Array }
  /** One that lies beside the log, under its name. */
  | { kind: 'large-bundle'; name: string; bytes: number; sha256: Uint8Array }
  | { kind: 'retirement'; token: TokenName; cutoffs: Cutoffs; made: readonly Tier[] }
  | { kind: 'key'; stored: StoredKey; isNew: boolean }
  | { kind: 'revocation'; revocation: Revocation }
  | { kind: 'settings'; settings: Settings };

/** An entry that this version of Fathom does not know. */
export class UnknownEntryError extends Error {}

const packr = new Packr({ useRecords: false, moreTypes: true });
const unpackr = new Unpackr({ useRecords: false, moreTypes: true });

/** In the oldest format that has its kind, so that nodes of earlier versions go on as long as they can. */
export function packEntry(entry: Entry): Uint8Array {
  return Buffer.concat([Uint8Array.of(KINDS[entry.kind]), packr.pack(entry)]);
}

/** @throws UnknownEntryError */
export function unpackEntry(data: Uint8Array): Entry {
  const refuse = (what: string): never => {
    throw new UnknownEntryError(`the log's next entry ${what}: run a newer Fathom on this node`);
  };
  if (!(data[0] <= ENTRY_FORMAT)) {
    refuse(`has format ${data[0]}, this version knows ${ENTRY_FORMAT}`);
  }
  let entry: Partial<Entry> | null = null;
  try {
    entry = unpackr.unpack(data.subarray(1)) as Partial<Entry> | null;
  } catch {
    // Said below.
  }
  const kind = entry?.kind;
  if (kind === undefined) refuse('cannot be read');
  else if (!Object.hasOwn(KINDS, kind)) refuse(`is of the kind ${kind}, which is not known`);
  return entry as Entry;
}

/**
 * The subject of a bundle: chain and shard of its only token, or `many`. Every node takes every
 * subject today.
 */
export function subjectOf(frames: readonly Frame[]): string {
  const tokens = new Set(frames.flatMap(tokensOf));
  const [token] = tokens;
  if (tokens.size !== 1) return 'data.many';
  return tokenSubject(token);
}

/** Rows of the flat datasets are of many tokens, or of none. */
function tokensOf(frame: Frame): string[] {
  if (frame.kind === 'tokens') return frame.rows.map(({ row }) => tokenKey(row.chain, row.address));
  if (frame.kind === 'holders') return [tokenKey('mainchain', frame.tokenAddress)];
  return 'chain' in frame ? [tokenKey(frame.chain, frame.address)] : [];
}

export function tokenSubject(token: string): string {
  return `data.${token.split(':')[0]}.${crc32(token) % SHARDS}`;
}

/** What an entry of a large bundle says of its file. */
export async function digestOf(file: string): Promise<Uint8Array> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest();
}
