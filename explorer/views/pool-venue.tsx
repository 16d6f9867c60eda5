/** Replaces a pool in the page's address by its venue: the page can filter by venue, not by pool. */
import { useEffect } from 'preact/hooks';
import { Failure, Loading } from '../frame/states.js';
import { useDocument } from '../state/load.js';
import { show } from '../state/session.js';
import type { TokenView } from '../state/url.js';
import { venueKey } from '../state/venue-key.js';

export function PoolVenue(props: { view: TokenView; address: string; pool: string }) {
  const { view, address, pool } = props;
  const { document: coverage, error } = useDocument(
    `markets ${address}`,
    (client, signal) => client.getCoverage({ address }, { signal }),
    'never',
  );
  useEffect(() => {
    if (coverage === null) return;
    const market = coverage.markets.find((one) => one.address === pool);
    const chosen: Partial<TokenView> =
      market === undefined ? {} : { venues: [venueKey(market.source)], group: 'market' };
    show({ ...view, ...chosen, pool: null }, 'replace');
  }, [coverage]);
  return error === null ? <Loading what="the pool's venue" /> : <Failure error={error} />;
}
