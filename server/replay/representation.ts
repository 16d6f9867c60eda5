/** A replay page's representation: its format, its encoding, and the digest of its body. */
import { webcrypto } from 'node:crypto';
import { canEncode, type ContentEncoding } from '../../compute/replay/compress.js';
import type { PageFormat } from '../../compute/replay/page-format.js';
import { notAcceptable } from '../api/replies.js';
import { membersOf } from '../http/request-head.js';
import type { Headers } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import { bestOffer, negotiateEncoding, negotiateMediaType } from '../http/negotiation.js';

/** Arrow's streaming format. */
export const ARROW_STREAM = 'application/vnd.apache.arrow.stream';

const FORMAT_OF_MEDIA_TYPE = {
  'application/json': 'json',
  'application/msgpack': 'msgpack',
  [ARROW_STREAM]: 'arrow',
} as const satisfies Record<string, PageFormat>;
type MediaType = keyof typeof FORMAT_OF_MEDIA_TYPE;

const MEDIA_TYPES = Object.keys(FORMAT_OF_MEDIA_TYPE) as MediaType[];

type Encodings = readonly Exclude<ContentEncoding, 'identity'>[];
/** In order of preference: gzip is ready in fragments, and the pool writes it together with the text, smaller than br. */
const ENCODINGS: Encodings = (['gzip', 'zstd', 'br'] as const).filter(canEncode);

export interface Representation {
  mediaType: MediaType;
  format: PageFormat;
  encoding: ContentEncoding;
}

/**
 * The representation that the request's Accept and Accept-Encoding prefer.
 * @throws ApiError 406
 */
export function negotiate(exchange: Exchange): Representation {
  const mediaType = negotiateMediaType(exchange.header('accept'), MEDIA_TYPES);
  if (mediaType === null) throw notAcceptable('Accept', MEDIA_TYPES);
  const encoding = negotiateEncoding(exchange.header('accept-encoding'), ENCODINGS);
  if (encoding === null) throw notAcceptable('Accept-Encoding', [...ENCODINGS, 'identity']);
  return { mediaType, format: FORMAT_OF_MEDIA_TYPE[mediaType], encoding };
}

/** The codings that the request's Accept-Encoding permits: the client may have kept a page in any of them. */
export function permittedEncodings(exchange: Exchange): Encodings {
  const header = exchange.header('accept-encoding');
  return ENCODINGS.filter((encoding) => negotiateEncoding(header, [encoding]) === encoding);
}

/** The headers that state a page's representation. */
export function representationHeaders({ mediaType, encoding }: Representation): Headers {
  const type = ['Content-Type', mediaType] as const;
  return encoding === 'identity' ? [type] : [type, ['Content-Encoding', encoding]];
}

/** Algorithms of Repr-Digest (RFC 9530) and their names in Web Crypto; on a tie, the first is used. */
const ALGORITHMS = { 'sha-256': 'SHA-256', 'sha-512': 'SHA-512' } as const;
type Algorithm = keyof typeof ALGORITHMS;

/**
 * The supported algorithm that a Want-Repr-Digest header (`sha-256=1, sha-512=3`) prefers. Malformed members
 * are ignored.
 *
 * @param wanted the header, '' if there is none
 * @returns null if it wants none
 */
function wantedAlgorithm(wanted: string): Algorithm | null {
  const preferences = new Map<string, number>();
  for (const member of membersOf(wanted)) {
    const parts = /^\s*([a-z0-9-]+)\s*=\s*(10|[0-9])\s*$/.exec(member);
    if (parts !== null) preferences.set(parts[1], Number(parts[2]));
  }
  return bestOffer(Object.keys(ALGORITHMS) as Algorithm[], (name) => preferences.get(name) ?? 0);
}

/** The Repr-Digest header that a Want-Repr-Digest header asks for; computed off the event loop. */
export async function reprDigestHeaders(wanted: string, body: Uint8Array): Promise<Headers> {
  const algorithm = wantedAlgorithm(wanted);
  if (algorithm === null) return [];
  const digest = await webcrypto.subtle.digest(ALGORITHMS[algorithm], body);
  return [['Repr-Digest', `${algorithm}=:${Buffer.from(digest).toString('base64')}:`]];
}
