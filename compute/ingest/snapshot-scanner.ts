import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  JsonScanner,
  OPEN_BRACE,
  OPEN_BRACKET,
} from './json-scanner.js';
import type { NumberList } from './number-list.js';

const NO_BYTES = new Uint8Array(0);
const CELL_WIDTH = 3;
const LEVEL_WIDTH = 2;

/** Rows and markets with every field that is looked at: undefined while it has not come. */
class RowFields {
  chain: unknown = undefined;
  address: unknown = undefined;
  t: unknown = undefined;
  tier: unknown = undefined;
  price_usd: unknown = undefined;
  markets: unknown = undefined;
}

class MarketFields {
  source: unknown = undefined;
  exchange_type: unknown = undefined;
  type: unknown = undefined;
  address: unknown = undefined;
  pair: unknown = undefined;
  cells: unknown = undefined;
  book: unknown = undefined;
  readonly constant_product = undefined;
  readonly clmm = undefined;
  readonly dlmm = undefined;
}

class BookFields {
  bids: unknown = undefined;
  asks: unknown = undefined;
}

/**
 * Reads lines of `snapshots` as they usually are: markets with cells or books, nothing else nested.
 * A row is what JSON.parse gives, without the fields that nobody reads, and with NumberLists for
 * lists of cells and levels.
 */
export class SnapshotScanner extends JsonScanner {
  private source: Uint8Array | null = null;

  /**
   * The row of a line that a line feed ends at `end`, until the next call; null where it is to be
   * read by JSON.parse.
   */
  scan(bytes: Uint8Array, start: number, end: number): RowFields | null {
    if (this.source !== bytes) {
      this.use(bytes);
      this.source = bytes;
    }
    this.room.clear();
    this.at = start;
    const row = this.row();
    if (row === null) return null;
    this.peek();
    return this.at === end ? row : null;
  }

  /** Lets go of the bytes that were read last. */
  release(): void {
    this.source = null;
    this.use(NO_BYTES);
    this.room.clear();
  }

  private row(): RowFields | null {
    const row = new RowFields();
    if (!this.take(OPEN_BRACE)) return null;
    if (this.take(CLOSE_BRACE)) return row;
    do {
      const name = this.name();
      switch (name) {
        case null:
          return null;
        case 'chain':
        case 'address':
        case 't':
        case 'tier':
        case 'price_usd':
          // Of two fields of one name the later counts: that is left to JSON.parse.
          if (row[name] !== undefined || (row[name] = this.scalar()) === undefined) return null;
          break;
        case 'markets':
          if (row.markets !== undefined || !this.take(OPEN_BRACKET)) return null;
          if ((row.markets = this.markets()) === null) return null;
          break;
        default:
          if (this.scalar() === undefined) return null;
      }
    } while (this.take(COMMA));
    return this.take(CLOSE_BRACE) ? row : null;
  }

  private markets(): MarketFields[] | null {
    const markets: MarketFields[] = [];
    if (this.take(CLOSE_BRACKET)) return markets;
    do {
      const market = this.market();
      if (market === null) return null;
      markets.push(market);
    } while (this.take(COMMA));
    return this.take(CLOSE_BRACKET) ? markets : null;
  }

  private market(): MarketFields | null {
    const market = new MarketFields();
    if (!this.take(OPEN_BRACE)) return null;
    if (this.take(CLOSE_BRACE)) return market;
    do {
      const name = this.name();
      switch (name) {
        case null:
          return null;
        case 'source':
        case 'exchange_type':
        case 'type':
        case 'address':
        case 'pair':
          if (market[name] !== undefined || (market[name] = this.scalar()) === undefined)
            return null;
          break;
        case 'cells':
          if (market.cells !== undefined) return null;
          if ((market.cells = this.list(CELL_WIDTH)) === undefined) return null;
          break;
        case 'book':
          if (market.book !== undefined) return null;
          if ((market.book = this.book()) === undefined) return null;
          break;
        case 'constant_product':
        case 'clmm':
        case 'dlmm':
          // Another body, or one that says that there is none.
          if (this.scalar() !== null) return null;
          break;
        default:
          if (this.scalar() === undefined) return null;
      }
    } while (this.take(COMMA));
    return this.take(CLOSE_BRACE) ? market : null;
  }

  /** A book or null; undefined where it is to be read by JSON.parse. */
  private book(): BookFields | null | undefined {
    if (!this.take(OPEN_BRACE)) return this.scalar() === null ? null : undefined;
    const book = new BookFields();
    if (this.take(CLOSE_BRACE)) return book;
    do {
      const name = this.name();
      switch (name) {
        case null:
          return undefined;
        case 'bids':
        case 'asks':
          if (book[name] !== undefined) return undefined;
          if ((book[name] = this.list(LEVEL_WIDTH)) === undefined) return undefined;
          break;
        default:
          if (this.scalar() === undefined) return undefined;
      }
    } while (this.take(COMMA));
    return this.take(CLOSE_BRACE) ? book : undefined;
  }

  /** A list of lists of numbers or null; undefined where it is to be read by JSON.parse. */
  private list(width: number): NumberList | null | undefined {
    if (this.take(OPEN_BRACKET)) return this.tuples(width) ?? undefined;
    return this.scalar() === null ? null : undefined;
  }
}
