/** What ingest makes of one market. */
import { binSnapshotRows } from '../compute/ingest/snapshots.js';

/** Neither the bounds of a snapshot nor its bins depend on the token. */
const ANY_TOKEN = { chain: 'mainchain', address: '1'.repeat(32) };

/** Bins a snapshot that has this market alone, at a price in USD. */
export function binAlone(priceUsd: number, market: object): ReturnType<typeof binSnapshotRows> {
  const row = { ...ANY_TOKEN, t: 1, price_usd: priceUsd, markets: [market] };
  return binSnapshotRows([row], { firstLine: 1, mode: 'replace' });
}
