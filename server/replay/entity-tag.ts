/** The entity tag of a replay page or another reply made from a plan, and how long a client may keep it. */
import { createHash, hash } from 'node:crypto';
import { type Market, TIERS } from '../../compute/market.js';
import type { ReplayEnvelope } from '../../compute/replay/page.js';
import type { RenderInput } from '../../compute/replay/render.js';
import { HOUR_S } from '../../compute/time.js';
import type { PagePlan } from '../../storage/contract.js';
import { Turns } from '../../storage/turns.js';
import { type Headers, NOT_STORED } from '../http/errors.js';
import { VERSION } from '../../storage/version.js';

/** Collectors deliver late: a window that ended less than this ago may still get snapshots. */
const SETTLED_AFTER_S = HOUR_S;
/** A settled window changes only if an operator loads or corrects history. */
const SETTLED_MAX_AGE_S = 300;
/** Characters of a tag: 160 bits. */
const TAG_CHARS = 27;
/** A snapshot in a tag: its time, tier and digest. */
const WORDS_PER_SNAPSHOT = 3;

/** What determines the text of a page, besides its plan. */
export type PageIdentity = Pick<RenderInput, 'query' | 'format' | 'encoding'> & {
  envelope: ReplayEnvelope;
};

/** The same for any reply made from a plan. */
type Identity = Pick<PageIdentity, 'format' | 'encoding'> & { query: object; envelope: object };

/**
 * The entity tag of a page: a digest of all the data that determine its text. It does not depend on the server or on
 * how the page is made. The tag of a compressed page is weak, since the same text compresses to several forms
 * (RFC 9110, 8.8.1).
 */
export async function entityTag(
  { query, envelope, format, encoding }: Identity,
  plan: Pick<PagePlan, 'markets' | 'snapshots' | 'nextT'>,
): Promise<string> {
  const { markets, snapshots, nextT } = plan;
  const parts = [VERSION, query, envelope, format, encoding, nextT, await digestOf(markets)];
  const words = new Uint32Array(WORDS_PER_SNAPSHOT * snapshots.length);
  let at = 0;
  for (const { t, tier, digest } of snapshots) {
    words[at++] = t;
    words[at++] = TIERS.indexOf(tier);
    words[at++] = digest;
  }
  const text = Buffer.from(JSON.stringify(parts));
  const digest = hash('sha256', Buffer.concat([text, new Uint8Array(words.buffer)]), 'base64url');
  return `${encoding === 'identity' ? '' : 'W/'}"${digest.slice(0, TAG_CHARS)}"`;
}

/** Of lists of markets, which never change; promises while they are being made. */
const digestsOfMarkets = new WeakMap<readonly Market[], string | Promise<string>>();

/** A commit that changes a token makes a new list of its markets. */
function digestOf(markets: readonly Market[]): string | Promise<string> {
  let digest = digestsOfMarkets.get(markets);
  if (digest === undefined) {
    digest = makeDigest(markets).then((made) => {
      digestsOfMarkets.set(markets, made);
      return made;
    });
    digestsOfMarkets.set(markets, digest);
  }
  return digest;
}

/** SHA-256 of the list as JSON, made in turns: it may have 100 MB. */
async function makeDigest(markets: readonly Market[]): Promise<string> {
  const turns = new Turns();
  const sha256 = createHash('sha256');
  sha256.update('[');
  for (const [m, market] of markets.entries()) {
    sha256.update(`${m === 0 ? '' : ','}${JSON.stringify(market)}`);
    await turns.take();
  }
  return sha256.update(']').digest('base64url');
}

/**
 * Caching headers of a page. A page whose window reaches the present has no tag and is not stored. The client must revalidate a page
 * whose window moves with the clock: at the next request, the window is a different one.
 */
export function cacheHeaders(
  { toS, moves }: { toS: number; moves: boolean },
  nowS: number,
  tag: string | null,
): Headers {
  if (tag === null) return [NOT_STORED];
  const settled = toS <= nowS - SETTLED_AFTER_S && !moves;
  return [
    ['Cache-Control', settled ? `private, max-age=${SETTLED_MAX_AGE_S}` : 'private, no-cache'],
    ['ETag', tag],
  ];
}
