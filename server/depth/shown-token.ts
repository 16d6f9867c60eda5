/**
 * What replies say of the token whose depth they show: the requested one, or the mainchain leg of a bridged `0x` address.
 */
import Type from '../api/type.js';
import type { Chain, Market } from '../../compute/market.js';
import {
  factsOfMarkets,
  namesVenues,
  type ReplayFilter,
  venuesNotFound,
} from '../../compute/replay/query.js';
import type { DepthSource, TokenName, TokenRecord } from '../../storage/contract.js';

export const resolvedToken = Type.Optional(
  Type.String({
    description: 'The mainchain mint whose data are shown for a bridged `0x` address.',
  }),
);

export const missingVenuesField = Type.Optional(
  Type.Array(Type.String(), {
    description: 'Requested venues of which the token has no market so far.',
  }),
);

/**
 * The token whose snapshots answer the request, null if it is unknown; `leg` if it is the requested token's mainchain leg.
 */
export function sourceOf(
  depth: Pick<DepthSource, 'token' | 'mainchainLeg'>,
  requested: TokenName,
): { source: TokenRecord | null; leg: TokenRecord | null } {
  const own = depth.token(requested.chain, requested.address);
  const leg = own && depth.mainchainLeg(own);
  return { source: leg ?? own, leg };
}

/** The fields of a reply that name its token, and the leg whose data it shows, if any. */
export function namedToken(
  { address, chain }: TokenName,
  leg: TokenRecord | null,
): { token: string; chain: Chain; resolved_token?: string } {
  if (leg === null) return { token: address, chain };
  return { token: address, chain: leg.chain, resolved_token: leg.address };
}

/** The field of a reply that lists the filter's venues of which the token has no market; none without any. */
export function missingVenues(
  filter: ReplayFilter,
  markets: readonly Market[],
): { venues_not_found?: string[] } {
  if (!namesVenues(filter)) return {};
  const missing = venuesNotFound(filter, factsOfMarkets(markets).venues, ({ key }) => key);
  return missing.length === 0 ? {} : { venues_not_found: missing };
}
