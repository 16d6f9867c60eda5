/**
 * Tokens as people name them: by address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL. Every client, and every flag of the
 * program, finds the token of a symbol by pickToken().
 */
import { FathomError, quoted } from './errors.js';
import { type FoundToken, OPERATIONS } from './generated/api.js';
import type { Http, RequestOptions } from './http.js';
import { pathWith, type Result } from './methods.js';

type Chain = FoundToken['chain'];

/** What the choice between tokens of one symbol rests on, and what an error shows of them. */
export interface TokenCandidate extends Pick<FoundToken, 'chain' | 'address' | 'symbol' | 'name'> {
  /** Its score; true: scored, but the score is not known here; null: not scored. */
  service_score: number | true | null;
}

/** A token by its address, or by a symbol that is yet to be looked up. */
export type NamedToken =
  | { chain: Chain; address: string }
  /** null: on any chain. */
  | { chain: Chain | null; symbol: string };

/** No token, or no single one, has the symbol. */
export class SymbolError extends FathomError {
  constructor(
    message: string,
    code: 'unknown_symbol' | 'ambiguous_symbol',
    /** The tokens that have the symbol, or similar ones if none has it; scored ones first. */
    readonly candidates: readonly TokenCandidate[],
  ) {
    super(message, { status: null, code });
  }
}

const CHAINS: readonly Chain[] = ['mainchain', 'evmchain'];
const ADDRESSES: Readonly<Record<Chain, RegExp>> = {
  mainchain: /^[1-9A-HJ-NP-Za-km-z]{32,44}$/,
  evmchain: /^0x[0-9a-f]{40}$/i,
};
const FORMS = 'an address, CHAIN:ADDRESS, a symbol or CHAIN:SYMBOL';

/** Candidates that a message names. */
const SHOWN = 5;
/** Characters of a symbol or a name that a message shows. */
const SHOWN_CHARS = 40;
/** The most symbols that a client remembers. */
const MAX_REMEMBERED = 1000;
/** The longest query of GET /tokens, and its longest page. */
const MAX_QUERY_CHARS = 100;
const PAGE_TOKENS = 100;
/** The most pages read for one symbol: tokens beyond do not count as candidates. */
const MAX_PAGES = 10;

/**
 * What a text names. A text in the form of an address is an address, and `mainchain:` or `evmchain:` at its beginning is
 * a chain, even if a symbol reads the same.
 * @param chain the chain that a text without one is on
 * @throws FathomError if the text is empty, or its address is of another chain
 */
export function namedToken(text: string, chain: Chain | null = null): NamedToken {
  const given = CHAINS.find((known) => text.startsWith(`${known}:`));
  const name = given === undefined ? text : text.slice(given.length + 1);
  const own = CHAINS.find((known) => ADDRESSES[known].test(name));
  if (own !== undefined && (given ?? own) === own) return { chain: own, address: name };
  if (own !== undefined) throw wrongToken(`expected an address of ${given}, found '${name}'`);
  if (name === '') throw wrongToken(`expected ${FORMS}`);
  return { chain: given ?? chain, symbol: name };
}

/** Whether a text is an address by its form. */
export function isAddress(text: string): boolean {
  return CHAINS.some((chain) => ADDRESSES[chain].test(text));
}

const wrongToken = (message: string): FathomError => new FathomError(message, { status: null });

/**
 * The token of a symbol: the only one whose symbol is the same, case included, or the only scored one of several.
 * @param found tokens with the symbol, and similar ones
 * @throws SymbolError if none has the symbol, or several and not exactly one of them is scored
 */
export function pickToken<T extends TokenCandidate>(
  { symbol, chain }: Extract<NamedToken, { symbol: string }>,
  found: readonly T[],
): T {
  const there = found.filter((token) => chain === null || token.chain === chain);
  const same = scoredFirst(there.filter((token) => token.symbol === symbol));
  const scored = same.filter(isScored);
  if (same.length === 1) return same[0];
  if (scored.length === 1) return scored[0];
  const where = chain === null ? '' : ` on ${chain}`;
  const what = `the symbol '${quoted(symbol)}'`;
  if (same.length === 0) {
    const nearest = there.slice(0, SHOWN);
    const hint = nearest.length === 0 ? `expected ${FORMS}` : `nearest: ${listed(nearest)}`;
    throw new SymbolError(`no token${where} has ${what}; ${hint}`, 'unknown_symbol', nearest);
  }
  const counted = `${same.length} tokens${where} have ${what}`;
  const message = `${counted}: ${listed(same)}; name one by ${remedy(symbol, same)}`;
  throw new SymbolError(message, 'ambiguous_symbol', same);
}

const isScored = ({ service_score }: TokenCandidate): boolean => service_score !== null;

function scoredFirst<T extends TokenCandidate>(tokens: readonly T[]): T[] {
  return [...tokens].sort((a, b) => Number(isScored(b)) - Number(isScored(a)));
}

/** What distinguishes tokens of one symbol: its chain where that is enough, or the address. */
function remedy(symbol: string, same: readonly TokenCandidate[]): string {
  const chains = CHAINS.filter((chain) => {
    const own = same.filter((token) => token.chain === chain);
    return own.length < same.length && (own.length === 1 || own.filter(isScored).length === 1);
  });
  return [...chains.map((chain) => quoted(`${chain}:${symbol}`)), 'its address'].join(' or ');
}

function listed(tokens: readonly TokenCandidate[]): string {
  const names = tokens.slice(0, SHOWN).map(({ chain, address, symbol, name, service_score }) => {
    const score = service_score === true ? 'scored' : `score ${service_score}`;
    const texts = [symbol, name].map((text) => quoted((text ?? '').slice(0, SHOWN_CHARS)));
    const told = [...texts, service_score === null ? 'not scored' : score];
    return `${chain}:${address} (${told.filter((text) => text !== '').join(', ')})`;
  });
  const more = tokens.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}

/** The tokens of symbols, each looked up once by GET /tokens, and remembered. */
export class Symbols {
  private readonly known = new Map<string, FoundToken>();

  constructor(private readonly http: Http) {}

  /**
   * The token that a text names.
   * @throws SymbolError, FathomError
   */
  async find(text: string, options: RequestOptions, chain?: unknown): Promise<NamedAddress> {
    const named = namedToken(text, CHAINS.find((known) => known === chain) ?? null);
    if ('address' in named) return named;
    const key = `${named.chain ?? ''}:${named.symbol}`;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const found = await this.search(named, options);
    const token = pickToken(named, found);
    const [oldest] = this.known.keys();
    if (this.known.size >= MAX_REMEMBERED) this.known.delete(oldest);
    this.known.set(key, token);
    return token;
  }

  /** Every token with the symbol, and others that begin with it; if there are none, ones that begin alike. */
  private async search(
    { symbol, chain }: Extract<NamedToken, { symbol: string }>,
    options: RequestOptions,
  ): Promise<FoundToken[]> {
    const query = beginningOf(symbol, MAX_QUERY_CHARS);
    const found: FoundToken[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const reply = await this.page({ query, chain, cursor }, options);
      found.push(...reply.tokens);
      // Tokens with the symbol come first.
      const hasMore = found.at(-1)?.symbol?.toLowerCase() === symbol.toLowerCase();
      if (reply.next_cursor === null || !hasMore) break;
      cursor = reply.next_cursor;
    }
    const half = beginningOf(query, Math.ceil(query.length / 2));
    if (found.length > 0 || half === query || half === '') return found;
    return (await this.page({ query: half, chain }, options)).tokens;
  }

  private async page(
    { query, chain, cursor }: { query: string; chain: Chain | null; cursor?: string },
    options: RequestOptions,
  ): Promise<Result<'getTokens'>> {
    const { method, path } = OPERATIONS.getTokens;
    const parameters = { query, chain: chain ?? 'all', limit: PAGE_TOKENS, cursor };
    const reply = await this.http.json<Result<'getTokens'> | null>({
      method,
      path: pathWith(path, parameters),
      ...options,
    });
    if (reply !== null && Array.isArray(reply.tokens) && reply.tokens.every(isToken)) return reply;
    const message = `${this.http.base} did not answer with tokens and their addresses`;
    throw new FathomError(message, { status: 200 });
  }
}

/** Whether a reply's token has an address of its chain, which callers put into paths, and texts as its names. */
function isToken(token: Partial<FoundToken> | null): boolean {
  const { chain, address, symbol, name } = token ?? {};
  const own = CHAINS.find((known) => known === chain);
  if (own === undefined || typeof address !== 'string' || !ADDRESSES[own].test(address)) {
    return false;
  }
  return [symbol, name].every((text) => text === null || typeof text === 'string');
}

/** At most `length` UTF-16 units, without half of a pair at the end. */
function beginningOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}

/** A token's address, and what else is known of it if it was named by its symbol. */
export type NamedAddress = Pick<FoundToken, 'chain' | 'address'> & Partial<FoundToken>;
