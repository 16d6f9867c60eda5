/** Dataset `tokens`: its fields and what makes a row of them. */
import type { FaultLog } from '../../compute/ingest/faults.js';
import { canonicalAddress, chainOfAddress, CHAINS } from '../../compute/market.js';
import { COVERAGES, type TokenRow } from '../contract.js';
import { type FlatField, readFlatRow } from './flat-row.js';

/** Latest moment that 32 bits of epoch seconds hold; milliseconds are far beyond it. */
export const MAX_EPOCH_S = 0xffff_ffff;
/** Characters of an icon's URL. */
const MAX_ICON_LENGTH = 2048;
/** Greatest `decimals` of a token. */
export const MAX_DECIMALS = 36;

export const TOKEN_FIELDS: readonly FlatField[] = [
  { name: 'chain', kind: 'text', nullable: false, oneOf: CHAINS },
  { name: 'address', kind: 'text', nullable: false },
  { name: 'symbol', kind: 'text', nullable: true },
  { name: 'name', kind: 'text', nullable: true },
  { name: 'icon', kind: 'text', nullable: true, maxLength: MAX_ICON_LENGTH },
  { name: 'decimals', kind: 'integer', nullable: true, min: 0, max: MAX_DECIMALS },
  { name: 'asset', kind: 'text', nullable: true },
  { name: 'coverage', kind: 'text', nullable: true, absent: 'full', oneOf: COVERAGES },
  { name: 'price_usd', kind: 'number', nullable: true, min: 0 },
  { name: 'mcap', kind: 'number', nullable: true, min: 0 },
  { name: 'liquidity_usd', kind: 'number', nullable: true, min: 0 },
  { name: 'last_refresh', kind: 'integer', nullable: true, min: 0, max: MAX_EPOCH_S },
];

/** A valid row in its stored form, or null with its faults added. */
export function readTokenRow(row: unknown, faults: FaultLog): TokenRow | null {
  const values = readFlatRow(TOKEN_FIELDS, row, faults);
  if (values === null) return null;
  const token = values as unknown as TokenRow;
  if (chainOfAddress(token.address) !== token.chain) {
    faults.add('address', `must be an address of ${token.chain}`);
    return null;
  }
  return { ...token, address: canonicalAddress(token.address) };
}
