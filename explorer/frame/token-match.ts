/** Which tokens have a text inside their names. */
import type { FoundToken } from '../../client/index.js';

/**
 * The tokens with the text inside their symbol or name, in any case: those with a word that begins with it first, and
 * otherwise in their order.
 */
export function within(tokens: readonly FoundToken[], text: string): FoundToken[] {
  const wanted = text.toLowerCase();
  const rank = (token: FoundToken): number => {
    const places = [token.symbol, token.name].map((one) => placeIn(one, wanted));
    return Math.min(...places);
  };
  return tokens
    .map((token) => ({ token, place: rank(token) }))
    .filter(({ place }) => place < NOWHERE)
    .toSorted((a, b) => a.place - b.place)
    .map(({ token }) => token);
}

const NOWHERE = 2;

/** 0: a word begins with the text; 1: the text is inside a word. */
function placeIn(name: string | null, wanted: string): number {
  const lower = name?.toLowerCase() ?? '';
  if (!lower.includes(wanted)) return NOWHERE;
  return lower.startsWith(wanted) || lower.includes(` ${wanted}`) ? 0 : 1;
}

/** Results of the API, followed by those found inside names that it did not find. */
export function joined(
  first: readonly FoundToken[],
  more: readonly FoundToken[],
  most: number,
): FoundToken[] {
  const addresses = new Set(first.map(({ address }) => address));
  return [...first, ...more.filter(({ address }) => !addresses.has(address))].slice(0, most);
}
