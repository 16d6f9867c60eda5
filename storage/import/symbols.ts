/** Decides which symbol an import takes from files with several. */
import { InputError } from '../errors.js';

/** Symbols that a refusal lists. */
const MAX_LISTED = 20;
/** Rows or messages searched for further symbols before a refusal. */
const MAX_LOOKED_AT = 1_000_000;

/**
 * One import is one market: that of the chosen symbol or, without a choice, the only one in the files. After the first
 * row of a second market, only the symbols of further rows are read: the refusal lists them.
 */
export class SymbolChoice {
  private readonly seen = new Set<string>();
  /** The market that is taken; its source is null while only a message without one has named it. */
  private market: { symbol: string; source: string | null } | null = null;
  /** Where a second symbol appeared first. */
  private secondAt: string | null = null;
  private lookedAt = 0;

  /** @param wanted the chosen symbol, in any case; undefined if none is */
  constructor(readonly wanted: string | undefined) {}

  /** Whether the answer for a market may still change. */
  get isRefusing(): boolean {
    return this.secondAt !== null;
  }

  /**
   * Whether the import takes what `where` (`file:line`) states about a market.
   * @param source its exchange; null if not stated
   * @throws InputError if two exchanges have the symbol, or once enough of several symbols are known
   */
  takes(where: string, symbol: string, source: string | null): boolean {
    const { market, wanted } = this;
    if (this.seen.size <= MAX_LISTED) this.seen.add(symbol);
    if (this.secondAt !== null) {
      if (++this.lookedAt >= MAX_LOOKED_AT || this.seen.size > MAX_LISTED)
        this.refuse(this.secondAt);
      return false;
    }
    if (wanted !== undefined && symbol.toLowerCase() !== wanted.toLowerCase()) return false;
    if (market === null) {
      this.market = { symbol, source };
      return true;
    }
    if (symbol !== market.symbol) {
      this.secondAt = where;
      return false;
    }
    market.source ??= source;
    if (source === null || source === market.source) return true;
    throw new InputError(
      `${where}: expected ${symbol} of ${market.source} (one import is one market), found that of ${source}`,
    );
  }

  /**
   * Call it at the end of the files.
   * @throws InputError if they have several symbols and none was chosen, or only other symbols than the chosen one
   */
  finish(): void {
    if (this.secondAt !== null) this.refuse(this.secondAt);
    if (this.wanted === undefined || this.market !== null || this.seen.size === 0) return;
    throw new InputError(
      `nothing to import: no symbol ${this.wanted} in the files; they hold ${this.list()}`,
    );
  }

  private refuse(where: string): never {
    throw new InputError(
      `${where}: the files hold several symbols (one import is one market): ${this.list()}: choose one with --symbol`,
    );
  }

  private list(): string {
    const listed = [...this.seen].slice(0, MAX_LISTED).sort().join(', ');
    return this.seen.size > MAX_LISTED ? `${listed} and more` : listed;
  }
}
