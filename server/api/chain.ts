/**
 * The rules of the chain parameter (docs/definitions.md#chain-rules), applied to what an endpoint
 * declares. Checks run in the order invalid_chain, chain_not_supported, chain_mismatch.
 */
import type { TokenName } from '../../storage/contract.js';
import { canonicalAddress, type Chain, chainOfAddress, CHAINS } from '../../compute/market.js';
import { ApiError } from '../http/errors.js';
import { excerpt } from './errors.js';
import { wordFinder } from './query.js';

/** The chains that a request selects. */
export type ChainFilter = Chain | 'all';

/** Where a request has its address. */
export interface AddressRule {
  readonly in: 'path' | 'query';
  readonly name: string;
}

export type ChainRule =
  /** `chain` selects what is listed, by default mainchain; `scope` names a parameter for one token. */
  | { readonly kind: 'list'; readonly supported: readonly Chain[]; readonly scope?: string }
  /** The address decides; `chain` only has to agree. */
  | {
      readonly kind: 'address';
      readonly at: AddressRule;
      readonly supported: readonly Chain[];
      /** Whether `chain` can be the EVM chain's numeric id. */
      readonly numericIds?: true;
    }
  /** `chain` selects legs of the asset, by default the address' own. */
  | { readonly kind: 'filter'; readonly at: AddressRule; readonly supported: readonly Chain[] }
  /** There is no chain parameter. */
  | { readonly kind: 'none'; readonly at: AddressRule; readonly supported: readonly Chain[] }
  /** There is neither a chain parameter nor an address. */
  | { readonly kind: 'absent'; readonly supported: readonly Chain[] }
  /** Addresses in the body field `name`; each decides its own chain, `chain` has to agree with all. */
  | {
      readonly kind: 'batch';
      readonly name: string;
      readonly supported: readonly Chain[];
      /** Whether an item that is not an address fails the request or goes to the handler. */
      readonly invalid: 'refused' | 'listed';
      /** Whether a mismatch lists every mismatched address. */
      readonly namesOffenders?: true;
    };

/** Whether an endpoint with this rule has the query parameter `chain`. */
export const takesChain = ({ kind }: ChainRule): boolean =>
  kind !== 'none' && kind !== 'batch' && kind !== 'absent';

/** The chain and addresses of a request, as sent; null if absent. */
export interface RequestedChain {
  readonly chain: string | null;
  /** The address, except in a batch. */
  readonly address: string | null;
  /** The addresses of a batch. */
  readonly addresses: readonly string[];
}

interface ChainAnswer {
  readonly chain: ChainFilter | null;
  readonly token: TokenName | null;
  readonly tokens: readonly TokenName[];
  readonly invalidAddresses: readonly string[];
}

/** Default of the EVM chain's numeric id: Ethereum's. */
export const DEFAULT_EVM_CHAIN_ID = 1;

const NONE: readonly never[] = [];

/**
 * Applies an endpoint's rule to a request.
 * @throws ApiError 400 invalid_chain, chain_not_supported, chain_mismatch or invalid_address
 */
export function resolveChain(
  rule: ChainRule,
  { chain: sent, address, addresses }: RequestedChain,
  evmChainId: number,
): ChainAnswer {
  if (rule.kind === 'absent') return { ...EMPTY, chain: null };
  const requested = rule.kind === 'none' ? null : readChain(rule, sent, evmChainId);
  switch (rule.kind) {
    case 'list': {
      const token = address === null ? null : supportedToken(rule, address);
      return { ...EMPTY, chain: effective(rule, requested ?? 'mainchain'), token };
    }
    case 'filter': {
      const token = supportedToken(rule, address ?? '');
      return { ...EMPTY, chain: effective(rule, requested ?? token.chain), token };
    }
    case 'none':
    case 'address': {
      const token = supportedToken(rule, address ?? '');
      if (contradicts(requested, token)) throw chainMismatch(sent, requested, token);
      return { chain: token.chain, token, tokens: NONE, invalidAddresses: NONE };
    }
    case 'batch':
      return resolveBatch(rule, sent, requested, addresses);
  }
}

const EMPTY = { token: null, tokens: NONE, invalidAddresses: NONE } as const;

/** The chain that was sent, if the endpoint covers it; null if none was sent. */
function readChain(rule: ChainRule, sent: string | null, evmChainId: number): ChainFilter | null {
  if (sent === null) return null;
  const chain = findChain(sent) ?? chainOfNumber(rule, sent, evmChainId);
  if (chain === 'all') return chain;
  if (chain === null) {
    const words = [
      ...rule.supported,
      ...(takesNumber(rule) ? [`${evmChainId} (evmchain)`] : []),
    ].join(', ');
    const expected = `expected ${words} or all; was '${excerpt(sent)}'`;
    throw new ApiError(400, 'invalid_chain', `chain: ${expected}`, {
      fields: { chain: sent, supported_chains: rule.supported },
    });
  }
  if (!rule.supported.includes(chain)) throw chainNotSupported(rule, 'chain', chain, sent);
  return chain;
}

const findChain = wordFinder<ChainFilter>([...CHAINS, 'all']);

function chainOfNumber(rule: ChainRule, text: string, evmChainId: number): Chain | null {
  return takesNumber(rule) && text === String(evmChainId) ? 'evmchain' : null;
}

function takesNumber(rule: ChainRule): boolean {
  return rule.kind === 'address' && rule.numericIds === true;
}

/** If the endpoint covers a single chain, `all` means that chain. */
function effective({ supported }: ChainRule, chain: ChainFilter): ChainFilter {
  return chain === 'all' && supported.length === 1 ? supported[0] : chain;
}

function supportedToken(rule: ChainRule, address: string): TokenName {
  const token = requestedToken(address);
  if (token === null) throw invalidAddress(addressName(rule), address, rule.supported);
  if (!rule.supported.includes(token.chain)) throw foreignAddress(rule, token);
  return token;
}

function requestedToken(address: string): TokenName | null {
  const chain = chainOfAddress(address);
  return chain && { chain, address: canonicalAddress(address) };
}

function addressName(rule: ChainRule): string {
  if ('at' in rule) return rule.at.name;
  if (rule.kind === 'batch') return rule.name;
  return ('scope' in rule && rule.scope) || 'address';
}

function contradicts(requested: ChainFilter | null, token: TokenName): boolean {
  return requested !== null && requested !== 'all' && requested !== token.chain;
}

function resolveBatch(
  rule: ChainRule & { kind: 'batch' },
  sent: string | null,
  requested: ChainFilter | null,
  addresses: readonly string[],
): ChainAnswer {
  const tokens: TokenName[] = [];
  const invalidAddresses: string[] = [];
  for (const address of addresses) {
    const token = requestedToken(address);
    if (token !== null) tokens.push(token);
    else if (rule.invalid === 'listed') invalidAddresses.push(address);
    else throw invalidAddress(rule.name, address, rule.supported);
  }
  const foreign = tokens.find(({ chain }) => !rule.supported.includes(chain));
  if (foreign) throw foreignAddress(rule, foreign);
  const offenders = tokens.filter((token) => contradicts(requested, token));
  if (offenders.length > 0) {
    throw chainMismatch(sent, requested, offenders[0], rule.namesOffenders ? offenders : null);
  }
  return { chain: null, token: null, tokens, invalidAddresses };
}

function foreignAddress(rule: ChainRule, { chain, address }: TokenName): ApiError {
  return chainNotSupported(rule, addressName(rule), `${address}, an address of ${chain}`, chain);
}

/** @param parameter the one that decided the chain @param given its value, for the message */
function chainNotSupported(
  { supported }: ChainRule,
  parameter: string,
  given: string,
  chain: string,
): ApiError {
  const message = `${parameter}: this endpoint covers ${supported.join(', ')} only, not ${given}`;
  return new ApiError(400, 'chain_not_supported', message, {
    fields: { chain, supported_chains: supported },
  });
}

/** @param meant the chain that `sent` means */
function chainMismatch(
  sent: string | null,
  meant: ChainFilter | null,
  { chain, address }: TokenName,
  offenders: readonly TokenName[] | null = null,
): ApiError {
  const message = `chain: ${address} is an address of ${chain}, not of ${meant}`;
  const named = offenders && { mismatched_addresses: offenders.map((token) => token.address) };
  return new ApiError(400, 'chain_mismatch', message, {
    fields: { chain: sent, resolved_chain: chain, address, ...named },
  });
}

const ADDRESS_FORMS: Readonly<Record<Chain, string>> = {
  mainchain: 'a base58 mint of 32-44 characters',
  evmchain: '0x and 40 hex digits',
};

function invalidAddress(name: string, value: string, chains: readonly Chain[]): ApiError {
  const expected = `expected ${chains.map((chain) => ADDRESS_FORMS[chain]).join(' or ')}`;
  return new ApiError(400, 'invalid_address', `${name}: ${expected}; was '${excerpt(value)}'`, {
    fields: { parameter: name },
  });
}
