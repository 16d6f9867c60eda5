/** How long a client may keep a replay page, and how it revalidates its copy. */
import { createHash } from 'node:crypto';
import type { RenderInput } from '../../compute/replay/render.js';
import type { PagePlan } from '../../storage/contract.js';
import type { Headers } from '../http/errors.js';

/** Collectors deliver late: a window that ended less than this ago may still get snapshots. */
const SETTLED_AFTER_S = 3600;
/** A settled window changes only where an operator loads or corrects history. */
const SETTLED_MAX_AGE_S = 300;

/** What determines a page's text, besides the plan. */
export type PageIdentity = Pick<RenderInput, 'query' | 'envelope' | 'format' | 'encoding'>;

/** How a page is made; each way compresses the same text differently. */
export type PageMaking = 'pool' | 'fragments';

/** A page's strong entity tags in one representation, by how it is made. */
export type EntityTags = Readonly<Record<PageMaking, string>>;

/**
 * The strong entity tags of a page: a digest of everything that determines its bytes. Segments never change,
 * so their ids stand for their contents within the store that `storeTag` names.
 */
export function entityTags(storeTag: string, page: PageIdentity, plan: PagePlan): EntityTags {
  const { query, envelope, format, encoding } = page;
  const rows = rowsOfPlan(plan);
  const parts = [storeTag, query, envelope, format, encoding, plan.segmentIds, rows, plan.nextT];
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
  const tag = digest.slice(0, 27);
  return { pool: `"${tag}"`, fragments: `"${tag}-f"` };
}

/** Segment, first row and last row of each sequence of consecutive rows: a short form of the plan. */
function rowsOfPlan({ snapshots }: PagePlan): number[] {
  const rows: number[] = [];
  snapshots.forEach(({ segment, row }, s) => {
    const last = rows.length - 1;
    if (s > 0 && rows[last - 2] === segment && rows[last] === row - 1) rows[last] = row;
    else rows.push(segment, row, row);
  });
  return rows;
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

/**
 * The page's tag that an If-None-Match header names, null where it names none (RFC 9110, 13.1.2: weak
 * comparison). Either tag means that the client has this page.
 */
export function namedTag(ifNoneMatch: string, tags: EntityTags): string | null {
  if (ifNoneMatch === '') return null;
  if (ifNoneMatch.trim() === '*') return tags.pool;
  const named = ifNoneMatch.split(',').map((item) => item.trim().replace(/^W\//, ''));
  return Object.values(tags).find((tag) => named.includes(tag)) ?? null;
}
