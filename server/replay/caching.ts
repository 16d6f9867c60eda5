/** How long a client may keep a replay page, and how it asks whether its copy still holds. */
import { createHash } from 'node:crypto';
import type { RenderInput } from '../../compute/replay/task.js';
import type { PagePlan } from '../../storage/seams.js';
import type { Headers } from '../http/exchange.js';

/** Collectors deliver late: a window that ended less than this ago may still get snapshots. */
const SETTLED_AFTER_S = 3600;
/** A settled window changes only where an operator loads or corrects history. */
const SETTLED_MAX_AGE_S = 300;

/** What a page's text follows from, beside the plan. */
export type PageIdentity = Pick<RenderInput, 'query' | 'envelope' | 'format' | 'encoding'>;

/**
 * The strong entity tag of a page in one form: a digest of all that its bytes follow from. Segments
 * never change, so their ids stand for their contents, within the store that `storeTag` names.
 */
export function entityTag(storeTag: string, page: PageIdentity, plan: PagePlan): string {
  const { query, envelope, format, encoding } = page;
  const rows = plan.snapshots.flatMap(({ segment, row }) => [segment, row]);
  const parts = [storeTag, query, envelope, format, encoding, plan.segmentIds, rows, plan.nextT];
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
  return `"${digest.slice(0, 27)}"`;
}

/** Headers for a page whose window ends at `toS`; one that reaches now is not kept and has no tag. */
export function cacheHeaders(toS: number, nowS: number, tag: string | null): Headers {
  if (tag === null) return [['Cache-Control', 'no-store']];
  const settled = toS <= nowS - SETTLED_AFTER_S;
  return [
    ['Cache-Control', settled ? `private, max-age=${SETTLED_MAX_AGE_S}` : 'private, no-cache'],
    ['ETag', tag],
  ];
}

/** Whether an If-None-Match header names the tag (RFC 9110, 13.1.2: weak comparison). */
export function namesTag(ifNoneMatch: string, tag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((item) => item.trim().replace(/^W\//, '') === tag);
}
