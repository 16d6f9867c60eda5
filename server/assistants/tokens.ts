/** Which token an answer is about, and how its text names it. */
import type { NamedAddress } from '../../client/index.js';
import { name } from './words.js';

/** `SOL mainchain:So11...`; without the symbol where it is not known. */
export function fullName({ chain, address, symbol }: NamedAddress): string {
  const known = symbol === undefined || symbol === null ? '' : `${name(symbol)} `;
  return `${known}${chain}:${address}`;
}

interface TokenReply {
  chain: NamedAddress['chain'];
  resolved_token?: string;
}

/** The token that a reply is about: of a bridged asset the API answers with its mainchain token. */
export function answeredToken(
  asked: NamedAddress,
  { chain, resolved_token }: TokenReply,
): NamedAddress {
  return resolved_token === undefined ? asked : { ...asked, chain, address: resolved_token };
}

/** Says so where another token was asked for. */
export function resolvedNotes(
  asked: NamedAddress,
  { chain, resolved_token }: TokenReply,
): string[] {
  if (resolved_token === undefined) return [];
  return [
    `${asked.chain}:${asked.address} is a bridged token: the numbers are those of ${chain}:${resolved_token}.`,
  ];
}
