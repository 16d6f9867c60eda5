/** A replay page's representation: its format and encoding, its entity tag, and how long a client may keep it. */
import { createHash, webcrypto } from 'node:crypto';
import { type Market, TIERS } from '../../compute/market.js';
import { canEncode, type ContentEncoding } from '../../compute/replay/compress.js';
import type { ReplayEnvelope } from '../../compute/replay/page.js';
import type { PageFormat, RenderInput } from '../../compute/replay/render.js';
import type { PagePlan } from '../../storage/contract.js';
import { notAcceptable } from '../api/replies.js';
import type { Headers } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import { negotiateEncoding, negotiateMediaType } from '../http/negotiation.js';
import { VERSION } from '../version.js';

/** Arrow's streaming format. */
export const ARROW_STREAM = 'application/vnd.apache.arrow.stream';

const FORMAT_OF_MEDIA_TYPE = {
  'application/json': 'json',
  'application/msgpack': 'msgpack',
  [ARROW_STREAM]: 'arrow',
} as const satisfies Record<string, PageFormat>;
type MediaType = keyof typeof FORMAT_OF_MEDIA_TYPE;

const MEDIA_TYPES = Object.keys(FORMAT_OF_MEDIA_TYPE) as MediaType[];

/** In order of preference: at about the same speed, earlier ones make a page smaller. */
const ENCODINGS = (['br', 'zstd', 'gzip'] as const).filter(canEncode);

export interface Representation {
  mediaType: MediaType;
  format: PageFormat;
  encoding: ContentEncoding;
}

/**
 * What the request's Accept and Accept-Encoding ask for.
 * @throws ApiError 406
 */
export function negotiate(exchange: Exchange): Representation {
  const mediaType = negotiateMediaType(exchange.header('accept'), MEDIA_TYPES);
  if (mediaType === null) throw notAcceptable('Accept', MEDIA_TYPES);
  const encoding = negotiateEncoding(exchange.header('accept-encoding'), ENCODINGS);
  if (encoding === null) throw notAcceptable('Accept-Encoding', [...ENCODINGS, 'identity']);
  return { mediaType, format: FORMAT_OF_MEDIA_TYPE[mediaType], encoding };
}

/** The headers that state a page's representation. */
export function representationHeaders({ mediaType, encoding }: Representation): Headers {
  const type = ['Content-Type', mediaType] as const;
  return encoding === 'identity' ? [type] : [type, ['Content-Encoding', encoding]];
}

/** Algorithms of Repr-Digest (RFC 9530) and their names in Web Crypto; of equals the first is used. */
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
  for (const member of wanted.split(',')) {
    const parts = /^\s*([a-z0-9-]+)\s*=\s*(10|[0-9])\s*$/.exec(member);
    if (parts !== null) preferences.set(parts[1], Number(parts[2]));
  }
  let chosen: Algorithm | null = null;
  let greatest = 0;
  for (const algorithm of Object.keys(ALGORITHMS) as Algorithm[]) {
    const preference = preferences.get(algorithm) ?? 0;
    if (preference > greatest) {
      chosen = algorithm;
      greatest = preference;
    }
  }
  return chosen;
}

/** The Repr-Digest header that a Want-Repr-Digest header asks for; computed off the event loop. */
export async function reprDigestHeaders(wanted: string, body: Uint8Array): Promise<Headers> {
  const algorithm = wantedAlgorithm(wanted);
  if (algorithm === null) return [];
  const digest = await webcrypto.subtle.digest(ALGORITHMS[algorithm], body);
  return [['Repr-Digest', `${algorithm}=:${Buffer.from(digest).toString('base64')}:`]];
}

/** Collectors deliver late: a window that ended less than this ago may still get snapshots. */
const SETTLED_AFTER_S = 3600;
/** A settled window changes only if an operator loads or corrects history. */
const SETTLED_MAX_AGE_S = 300;
/** Characters of a tag: 160 bits. */
const TAG_CHARS = 27;
/** A snapshot in a tag: its time, tier and digest. */
const WORDS_A_SNAPSHOT = 3;

/** What determines the text of a page, besides its plan. */
export type PageIdentity = Pick<RenderInput, 'query' | 'format' | 'encoding'> & {
  envelope: ReplayEnvelope;
};

/** The same of any reply that is made of a plan. */
type Identity = Pick<PageIdentity, 'format' | 'encoding'> & { query: object; envelope: object };

/**
 * The entity tag of a page: a digest of all the data that determine its text. It does not depend on the server or on
 * how the page is made. The tag of a compressed page is weak, since the same text compresses to several forms
 * (RFC 9110, 8.8.1).
 */
export function entityTag(
  { query, envelope, format, encoding }: Identity,
  plan: Pick<PagePlan, 'markets' | 'snapshots' | 'nextT'>,
): string {
  const { markets, snapshots, nextT } = plan;
  const words = new Uint32Array(WORDS_A_SNAPSHOT * snapshots.length);
  let at = 0;
  for (const { t, tier, digest } of snapshots) {
    words[at++] = t;
    words[at++] = TIERS.indexOf(tier);
    words[at++] = digest;
  }
  const parts = [VERSION, query, envelope, format, encoding, nextT, digestOf(markets)];
  const digest = createHash('sha256')
    .update(JSON.stringify(parts))
    .update(words)
    .digest('base64url');
  return `${encoding === 'identity' ? '' : 'W/'}"${digest.slice(0, TAG_CHARS)}"`;
}

const digestsOfMarkets = new WeakMap<readonly Market[], string>();

/** A commit that changes a token makes a new list of its markets. */
function digestOf(markets: readonly Market[]): string {
  let digest = digestsOfMarkets.get(markets);
  if (digest === undefined) {
    digest = createHash('sha256').update(JSON.stringify(markets)).digest('base64url');
    digestsOfMarkets.set(markets, digest);
  }
  return digest;
}

/**
 * Caching headers of a page. One that reaches now has no tag and is not stored; one whose window moves with
 * the clock is another page at the client's next request, which has to ask.
 */
export function cacheHeaders(
  { toS, moves }: { toS: number; moves: boolean },
  nowS: number,
  tag: string | null,
): Headers {
  if (tag === null) return [['Cache-Control', 'no-store']];
  const settled = toS <= nowS - SETTLED_AFTER_S && !moves;
  return [
    ['Cache-Control', settled ? `private, max-age=${SETTLED_MAX_AGE_S}` : 'private, no-cache'],
    ['ETag', tag],
  ];
}
