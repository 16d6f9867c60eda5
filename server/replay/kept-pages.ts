/** Pages from fragments as they were sent: clients of one history, and all that follow a plan, repeat windows. */
import { HOUR_S } from '../../compute/time.js';
import type { DepthSource, TokenRecord } from '../../storage/contract.js';
import { replyKey, type ReplyMemory } from '../api/replies.js';
import type { PageIdentity } from './entity-tag.js';
import type { AssembledPage } from './fragments.js';

export interface KeptPage extends AssembledPage {
  tag: string;
}

/** Memory of a page besides its body, and of the key of each of its fragments. */
const PAGE_BYTES = 2048;
const KEY_BYTES = 64;

interface KeptRequest {
  source: TokenRecord | null;
  request: { toS: number; stepS?: number };
  page: PageIdentity;
  nowS: number;
}

/**
 * The key of a page that what is stored now determines. Null if time may change the page: until an hour after its
 * window, a snapshot that becomes visible can hide a coarser one; or if the token's directory is not in memory.
 */
export function keyOfPage(
  depth: DepthSource,
  { source, request: { toS, stepS }, page, nowS }: KeptRequest,
): string | null {
  if (source === null || stepS !== undefined || toS > nowS - HOUR_S) return null;
  const directory = depth.directory(source.tokenId);
  if (directory === null) return null;
  const { query, envelope, format, encoding } = page;
  const text = JSON.stringify([query, envelope, format, encoding]);
  return replyKey(directory, depth.markets(source.tokenId), text);
}

export function keepPage(memory: ReplyMemory, key: string, page: KeptPage): void {
  const { body, keys } = page;
  memory.set(key, page, { size: body.length + KEY_BYTES * keys.length + PAGE_BYTES });
}
