/** Finds tokens by text inside their symbols and names, where the API only finds beginnings. Loaded with the first search. */
import type { AddressClient } from '../../client/address-client.js';
import type { FoundToken } from '../../client/index.js';
import { hasSmallRate } from '../state/session.js';
import { within } from './token-match.js';

export { joined } from './token-match.js';

/** The best-scored tokens that the page keeps in memory, and those of a key with few requests a minute. */
const MAX_KNOWN = 1000;
const MAX_KNOWN_SMALL = 100;
/** The most that `/tokens` returns at once. */
const PAGE = 100;
/** How long the list is used. */
const FRESH_MS = 300_000;
/** A shorter text is inside too many names. */
const MIN_CHARS = 2;

let known: { of: AddressClient; loadedMs: number; tokens: Promise<FoundToken[]> } | null = null;

/**
 * The tokens with the text inside their symbol or name, those with a word that begins with it first, then by score.
 *
 * @throws FathomError
 */
export async function tokensWith(client: AddressClient, text: string): Promise<FoundToken[]> {
  if (text.length < MIN_CHARS) return [];
  if (known?.of !== client || performance.now() - known.loadedMs > FRESH_MS) {
    // Not stopped with the search that began it: the next letter needs the same list.
    const tokens = load(client);
    known = { of: client, loadedMs: performance.now(), tokens };
    tokens.catch(() => (known = null));
  }
  return within(await known.tokens, text);
}

async function load(client: AddressClient): Promise<FoundToken[]> {
  const most = hasSmallRate() ? MAX_KNOWN_SMALL : MAX_KNOWN;
  const tokens: FoundToken[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<AddressClient['getTokens']>> = await client.getTokens({
      limit: PAGE,
      chain: 'all',
      ...(cursor === null ? {} : { cursor }),
    });
    tokens.push(...page.tokens);
    cursor = page.next_cursor;
  } while (cursor !== null && tokens.length < most);
  return tokens;
}
