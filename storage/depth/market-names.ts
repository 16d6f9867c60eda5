/** Names of a token's markets as people write them. */
import { type Market, venueKey } from '../../compute/market.js';
import { RefusalError } from '../errors.js';

/** Markets listed in a message. */
const MAX_LISTED = 20;

/** SOURCE/ADDRESS; SOURCE/PAIR if the market has no address; SOURCE if it has neither. */
export function marketName({ source, address, pair }: Market): string {
  const rest = address ?? pair;
  return rest === null ? source : `${source}/${rest}`;
}

/**
 * By market index: 1 for the markets that the names refer to. A name is that of marketName(), or SOURCE/PAIR of a
 * market with an address; SOURCE may be the venue's key, and case does not matter.
 * @param token the token's name in messages
 * @throws RefusalError if a name matches no market or several
 */
export function marketsNamed(
  names: readonly string[],
  markets: readonly Market[],
  token: string,
): Uint8Array {
  const mask = new Uint8Array(markets.length);
  for (const name of names) {
    const wanted = name.toLowerCase();
    const found = markets.filter((market) => spellings(market).includes(wanted));
    const exact = found.filter((market) => marketName(market) === name);
    const meant = exact.length > 0 ? exact : found;
    if (meant.length === 1) mask[markets.indexOf(meant[0])] = 1;
    else if (meant.length === 0) {
      throw new RefusalError(`market: ${token} has no market ${name}; ${listed(markets)}`);
    } else {
      throw new RefusalError(`market: ${name} stands for several of ${token}; ${listed(meant)}`);
    }
  }
  return mask;
}

/** Every way to write a market's name, in lower case. */
function spellings({ source, address, pair }: Market): string[] {
  const bodies = [address, pair].filter((rest) => rest !== null);
  return [source, venueKey(source)].flatMap((venue) => {
    const all = bodies.length === 0 ? [venue] : bodies.map((rest) => `${venue}/${rest}`);
    return all.map((text) => text.toLowerCase());
  });
}

function listed(markets: readonly Market[]): string {
  if (markets.length === 0) return 'it has none';
  const names = markets.slice(0, MAX_LISTED).map(marketName).join(', ');
  const more = markets.length - MAX_LISTED;
  return `expected one of ${names}${more > 0 ? ` and ${more} more` : ''}`;
}
