/** Names of tokens in the texts of answers. */
import type { NamedAddress } from '../../client/index.js';
import { name } from './words.js';

/** `SOL mainchain:So11...`; without the symbol where it is not known. */
export function fullName({ chain, address, symbol }: NamedAddress): string {
  const known = symbol === undefined || symbol === null ? '' : `${name(symbol)} `;
  return `${known}${chain}:${address}`;
}
