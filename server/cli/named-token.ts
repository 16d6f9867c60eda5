/** Tokens on the command line: by address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL (client/symbols.ts has the rule). */
import { quoted } from '../../client/errors.js';
import {
  FathomError,
  type FathomClient,
  type NamedAddress,
  type NamedToken,
  namedToken,
  pickToken,
  SymbolError,
  type TokenCandidate,
} from '../../client/index.js';
import { canonicalAddress } from '../../compute/market.js';
import type { FoundToken, TokenName } from '../../storage/contract.js';
import { InputError, UsageError } from '../../storage/errors.js';
import type { UseStore } from '../../storage/operations.js';
import { systemClock } from '../clock.js';
import { printNote } from './output.js';

/** What a flag or a word for a token takes, for help. */
export const TOKEN_FORMS = 'its symbol, CHAIN:SYMBOL, its address or CHAIN:ADDRESS';
/** The most tokens that may have one symbol. */
const MAX_CANDIDATES = 1000;

/** A text that names a token, as a flag reads it: the command then finds the token. @throws UsageError */
export function token(text: string, from: string): NamedToken {
  try {
    const named = namedToken(text);
    return 'address' in named ? { ...named, address: canonicalAddress(named.address) } : named;
  } catch (error) {
    throw error instanceof FathomError ? new UsageError(`${from}: ${error.message}`) : error;
  }
}

/**
 * The token of a store that a flag names. If it is named by a symbol, a note says which token that is.
 * @throws InputError that names the flag, if no token has the symbol, or several
 */
export async function storedToken(
  useStore: UseStore,
  named: NamedToken,
  from = '--token',
): Promise<TokenName> {
  if ('address' in named) return named;
  const { chain, symbol } = named;
  const nowS = systemClock.nowS();
  const search = (query: string): Promise<FoundToken[]> =>
    useStore((store) => store.searchTokens({ query, chain, nowS, limit: MAX_CANDIDATES }));
  let found = await search(symbol);
  if (found.length === 0) found = await search(symbol.slice(0, Math.ceil(symbol.length / 2)));
  const {
    address,
    chain: own,
    name,
  } = await pickedAs(from, () => pickToken(named, found.map(candidateOf)));
  noteToken(named, { address, chain: own, name });
  return { chain: own, address };
}

/** The address on a server of the token that a word or flag names, like storedToken(). */
export async function servedAddress(
  client: FathomClient,
  named: NamedToken,
  from: string,
  signal?: AbortSignal,
): Promise<string> {
  if ('address' in named) return named.address;
  const { chain, symbol } = named;
  const text = chain === null ? symbol : `${chain}:${symbol}`;
  const found = await pickedAs(from, () => client.findToken(text, { signal }));
  noteToken(named, found);
  return found.address;
}

function candidateOf({ chain, address, symbol, name, isScored }: FoundToken): TokenCandidate {
  return { chain, address, symbol, name, service_score: isScored ? true : null };
}

/** @throws InputError that names the flag, instead of a SymbolError */
async function pickedAs<T>(from: string, pick: () => T | Promise<T>): Promise<T> {
  try {
    return await pick();
  } catch (error) {
    if (error instanceof SymbolError) throw new InputError(`${from}: ${error.message}`);
    throw error;
  }
}

function noteToken(
  named: Extract<NamedToken, { symbol: string }>,
  { chain, address, name }: NamedAddress,
): void {
  const known = name === null || name === undefined || name === '' ? '' : ` (${quoted(name)})`;
  printNote(`${quoted(named.symbol)} is ${chain}:${address}${known}`);
}
