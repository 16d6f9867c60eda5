/** Finds tokens' addresses by the symbols in dataset `tokens`, for --token-column. */
import type { TokenSymbol } from '../contract.js';
import { InputError } from '../errors.js';
import type { NumberedRow } from './columns.js';

/** Symbols that one file may name. */
const MAX_FILE_SYMBOLS = 1_000_000;
const SYMBOLS_PER_REQUEST = 10_000;
/** Candidates that a fault names. */
const SHOWN = 5;

type FindTokens = (symbols: string[]) => Promise<TokenSymbol[]>;

export class SymbolAddresses {
  private readonly known = new Map<string, TokenSymbol[]>();

  /**
   * @param column the file's column of symbols
   * @param instead the flags that give the rows' token in place of symbols
   */
  constructor(
    readonly column: string,
    private readonly instead: string,
    private readonly findTokens: FindTokens,
  ) {}

  /** Looks up the new symbols of a batch. @throws InputError beyond MAX_FILE_SYMBOLS */
  async learn(batch: readonly NumberedRow[]): Promise<void> {
    const fresh = new Set<string>();
    for (const { row } of batch) {
      const symbol = (row as Record<string, unknown> | null)?.[this.column];
      if (typeof symbol === 'string' && !this.known.has(symbol.toLowerCase())) {
        fresh.add(symbol.toLowerCase());
      }
    }
    if (this.known.size + fresh.size > MAX_FILE_SYMBOLS) {
      throw new InputError(
        `--token-column ${this.column}: a file has at most ${MAX_FILE_SYMBOLS} symbols`,
      );
    }
    const symbols = [...fresh];
    for (const symbol of symbols) this.known.set(symbol, []);
    for (let i = 0; i < symbols.length; i += SYMBOLS_PER_REQUEST) {
      const found = await this.findTokens(symbols.slice(i, i + SYMBOLS_PER_REQUEST));
      for (const token of found) this.known.get(token.symbol.toLowerCase())?.push(token);
    }
  }

  /**
   * The token of a symbol, on the chain if one is given; prefers a token whose symbol has the same case.
   * @returns if there is no such token, or several, what is wrong, in words that follow the column's name
   */
  find(symbol: unknown, chain: string | null): TokenSymbol | string {
    if (typeof symbol !== 'string' || symbol === '') return 'must be a symbol';
    const alike = (this.known.get(symbol.toLowerCase()) ?? []).filter(
      (token) => chain === null || token.chain === chain,
    );
    const same = alike.filter((token) => token.symbol === symbol);
    const candidates = same.length > 0 ? same : alike;
    if (candidates.length === 1) return candidates[0];
    const where = chain === null ? '' : ` on ${chain}`;
    if (candidates.length === 0) {
      return `no token${where} has the symbol ${JSON.stringify(symbol)}: ingest tokens first, or give addresses: ${this.instead}`;
    }
    const names = candidates.slice(0, SHOWN).map((token) => `${token.chain}:${token.address}`);
    const more = candidates.length > SHOWN ? `, and ${candidates.length - SHOWN} more` : '';
    return `${candidates.length} tokens${where} have the symbol ${JSON.stringify(symbol)}: ${names.join(', ')}${more}: ${this.remedy(chain, candidates)}`;
  }

  /** How to distinguish the candidates. */
  private remedy(chain: string | null, candidates: readonly TokenSymbol[]): string {
    const isOnlyOfChain = (one: TokenSymbol): boolean =>
      candidates.filter((other) => other.chain === one.chain).length === 1;
    const alone = chain === null ? candidates.filter(isOnlyOfChain) : [];
    const addresses = `give addresses: ${this.instead}`;
    if (alone.length === 0) return addresses;
    return `add ${alone.map((token) => `--set chain=${token.chain}`).join(' or ')}, or ${addresses}`;
  }
}
