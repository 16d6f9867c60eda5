/** What ingest makes of one market. */
import { binSnapshotRows } from '../compute/ingest/snapshots.js';

/** Neither the bounds of a snapshot nor its bins depend on the token. */
const ANY_TOKEN = { chain: 'mainchain', address: '1'.repeat(32) };

/** Bins a snapshot that has this market alone, at a price in USD. */
export function binAlone(priceUsd: number, market: object): ReturnType<typeof binSnapshotRows> {
  const row = { ...ANY_TOKEN, t: 1, price_usd: priceUsd, markets: [market] };
  return binSnapshotRows([row], { firstLine: 1, mode: 'replace' });
}

/** Why a snapshot with this market alone would be refused: with it, all others of the token would be. */
export function faultAlone(price: number, body: object): string | null {
  const market = { source: 'alone', exchange_type: 'DEX', address: null, pair: 'alone', ...body };
  const [fault] = binAlone(price, market).faults;
  return fault === undefined ? null : `${fault.field}: ${fault.message}`;
}
