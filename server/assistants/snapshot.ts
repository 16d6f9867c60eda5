/** Fields of answers that rest on one snapshot of a token. */
import type { FoundToken, NamedAddress } from '../../client/index.js';
import { isoOf } from '../../compute/time.js';
import { chainKey, nullable, text, usd } from '../api/schemas.js';
import { systemClock } from '../clock.js';
import { fullName } from './tokens.js';
import { ageText, price, time } from './words.js';

export const TOKEN_FIELDS = {
  address: text('Address of the token.'),
  chain: chainKey,
  symbol: nullable(text('Symbol of the token.'), 'null: not known.'),
};

export const SNAPSHOT_FIELDS = {
  ...TOKEN_FIELDS,
  time: nullable(text('Time of the snapshot, RFC 3339.'), 'null: there is no snapshot.'),
  price_usd: nullable(usd('Price of one token'), 'null: there is no snapshot.'),
};

export function tokenFields({ address, chain, symbol = null }: NamedAddress) {
  return { address, chain, symbol } satisfies Partial<FoundToken>;
}

interface Snapshot {
  t: number | null;
  price_usd: number | null;
}

export function snapshotFields(token: NamedAddress, { t, price_usd }: Snapshot) {
  return { ...tokenFields(token), time: t === null ? null : isoOf(t), price_usd };
}

/** `SOL mainchain:So11..., price $142.3, snapshot of 2026-11-20T12:00:00Z (12 s ago)`. */
export function snapshotLine(token: NamedAddress, { t, price_usd }: Snapshot): string {
  if (t === null) return `${fullName(token)} has no snapshot of its depth at that time.`;
  const ageS = Math.max(0, systemClock.nowS() - t);
  return `${fullName(token)}, price ${price(price_usd)}, snapshot of ${time(t)} (${ageText(ageS)} ago)`;
}
