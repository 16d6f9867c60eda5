/** Rows of Tardis CSV files, and the market that they name. */
import type { MarketType } from '../../compute/market.js';
import { InputError } from '../errors.js';
import { readLineChunks } from '../lines.js';
import { parseDecimalBytes, parseIntegerBytes } from './fields.js';
import type { BookMarket } from './book-sampler.js';
import type { ImportFormat } from './formats.js';
import { excerpt } from './refusals.js';
import type { SymbolChoice } from './symbols.js';

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const COMMA = 0x2c;
const QUOTE = 0x22;

/** Plausible times in microseconds: 1973 to 2106, which milliseconds and nanoseconds miss. */
const MIN_TIME_US = 1e14;
const MAX_TIME_US = 0xffff_ffff * 1e6;

/** The format that imports a type of files, by the beginning of the type's name. */
const FORMAT_OF_TYPE: readonly [string, ImportFormat][] = [
  ['incremental_book_L2', 'tardis-incremental-l2'],
  ['book_snapshot_', 'tardis-book-snapshot'],
];

/** Columns that only files of a type have, by the type's name; the first match counts. */
const TYPES: readonly [string, readonly string[]][] = [
  ['incremental_book_L2', ['is_snapshot', 'side', 'price', 'amount']],
  ['options_chain', ['strike_price']],
  ['derivative_ticker', ['mark_price']],
  ['quotes', ['ask_price', 'bid_price']],
  ['trades or liquidations', ['id', 'side', 'price', 'amount']],
];

/** The data type of a file with this header; null if it is unknown. */
function tardisType(columns: readonly string[]): string | null {
  const levels = columns.filter((name) => /^asks\[[0-9]+\]\.price$/.test(name)).length;
  if (levels > 0) return `book_snapshot_${levels}`;
  const found = TYPES.find(([, needed]) => needed.every((name) => columns.includes(name)));
  return found?.[0] ?? null;
}

/**
 * The current row of a Tardis CSV file, read without copying: these files have no quotes, so a row is the bytes up to
 * the newline, cut at commas. Columns are found by the header's names.
 */
export class TardisRow {
  /** Of the rows that the import takes. */
  exchange = '';
  symbol = '';
  line = 0;
  /** Whether the import takes the row. */
  isTaken = false;
  private bytes: Uint8Array = new Uint8Array(0);
  /** Field `i` is `starts[i] <= byte < starts[i + 1] - 1`. */
  private starts = new Int32Array(0);
  columns: readonly string[] = [];
  /** Exchange and symbol of the previous row, as bytes. */
  private identity: Uint8Array = new Uint8Array(0);
  private exchangeColumn = -1;
  private path = '';

  constructor(private readonly choice: SymbolChoice) {}

  /** The file's columns; call at the start of every file. */
  startFile(path: string): void {
    this.path = path;
    this.columns = [];
  }

  /** @throws InputError if the header is that of another data type */
  expectType(expected: 'incremental_book_L2' | 'book_snapshot_N'): void {
    const found = tardisType(this.columns);
    if (found === null || found === expected) return;
    if (expected === 'book_snapshot_N' && found.startsWith('book_snapshot_')) return;
    const format = FORMAT_OF_TYPE.find(([prefix]) => found.startsWith(prefix))?.[1];
    const advice = format === undefined ? '' : `: import it as ${format}`;
    throw new InputError(`${this.where}: expected Tardis ${expected}, found ${found}${advice}`);
  }

  /** The column with a name. Throws an InputError if the header lacks it. */
  column(name: string): number {
    const column = this.columns.indexOf(name);
    if (column < 0) throw this.fault(name, 'the header has no such column');
    return column;
  }

  /** Reads the line that starts at `from`; returns where the next one starts. */
  read(bytes: Uint8Array, from: number, line: number): number {
    this.bytes = bytes;
    this.line = line;
    if (this.columns.length === 0) return this.readHeader(from);
    const { starts } = this;
    const width = this.columns.length;
    let count = 0;
    let i = from;
    starts[0] = from;
    for (; i < bytes.length; i++) {
      const byte = bytes[i];
      if (byte === NEWLINE) break;
      if (byte === COMMA) {
        if (++count < width) starts[count] = i + 1;
      } else if (byte === QUOTE) {
        throw this.fault('the row', 'expected no quotes in a Tardis file');
      }
    }
    if (count + 1 !== width) {
      throw this.fault('the row', `expected ${width} fields as in the header, found ${count + 1}`);
    }
    starts[width] = bytes[i - 1] === RETURN && i > from ? i : i + 1;
    this.checkMarket();
    return i + 1;
  }

  /** Whether the line at `from` is empty. */
  static isBlank(bytes: Uint8Array, from: number): boolean {
    return bytes[from] === NEWLINE || (bytes[from] === RETURN && bytes[from + 1] === NEWLINE);
  }

  isEmpty(column: number): boolean {
    return this.starts[column + 1] - 1 === this.starts[column];
  }

  text(column: number): string {
    const { starts } = this;
    const field = this.bytes.subarray(starts[column], starts[column + 1] - 1);
    return Buffer.from(field.buffer, field.byteOffset, field.length).toString('utf8');
  }

  isWord(column: number, word: string): boolean {
    const from = this.starts[column];
    if (this.starts[column + 1] - 1 - from !== word.length) return false;
    for (let i = 0; i < word.length; i++) {
      if (this.bytes[from + i] !== word.charCodeAt(i)) return false;
    }
    return true;
  }

  timeUs(column: number): number {
    const us = parseIntegerBytes(this.bytes, this.starts[column], this.starts[column + 1] - 1);
    if (us >= MIN_TIME_US && us <= MAX_TIME_US) return us;
    throw this.fault(column, 'expected epoch microseconds');
  }

  /** A price above 0. */
  price(column: number): number {
    const value = parseDecimalBytes(this.bytes, this.starts[column], this.starts[column + 1] - 1);
    if (value > 0) return value;
    throw this.fault(column, 'expected a number above 0');
  }

  amount(column: number): number {
    const value = parseDecimalBytes(this.bytes, this.starts[column], this.starts[column + 1] - 1);
    if (value >= 0) return value;
    throw this.fault(column, 'expected a number of at least 0');
  }

  /** `file:line` of the row. */
  get where(): string {
    return `${this.path}:${this.line}`;
  }

  /** An InputError about a field of this row, or about the whole row if `field` is a word for it. */
  fault(field: number | string, what: string): InputError {
    const found = typeof field === 'number' ? `, found '${this.text(field).slice(0, 40)}'` : '';
    const name = typeof field === 'number' ? this.columns[field] : field;
    return new InputError(`${this.where}: ${name}: ${what}${found}`);
  }

  private readHeader(from: number): number {
    const newline = this.bytes.indexOf(NEWLINE, from);
    const end = newline < 0 ? this.bytes.length : newline;
    const text = Buffer.from(this.bytes.subarray(from, end)).toString('utf8').trimEnd();
    this.columns = text.split(',');
    this.starts = new Int32Array(this.columns.length + 1);
    if (!this.columns.includes('exchange')) {
      throw new InputError(
        `${this.where}: this is not a Tardis CSV: expected a header such as ` +
          `exchange,symbol,timestamp,local_timestamp,..., found '${excerpt(text)}'`,
      );
    }
    this.exchangeColumn = this.column('exchange');
    if (this.column('symbol') !== this.exchangeColumn + 1) {
      throw this.fault('symbol', 'expected the column after exchange');
    }
    return end + 1;
  }

  /** Skips the row: concatenated files repeat their header. */
  private skipHeader(): void {
    if (!this.columns.every((name, column) => this.isWord(column, name))) {
      throw this.fault('the row', 'expected the same columns as in the header, found others');
    }
    this.isTaken = false;
  }

  /** Decides whether the row's market is taken, unless it is that of the previous row. */
  private checkMarket(): void {
    const { bytes, identity, exchangeColumn } = this;
    const from = this.starts[exchangeColumn];
    const to = this.starts[exchangeColumn + 2] - 1;
    let same = to - from === identity.length && !this.choice.isRefusing;
    for (let i = 0; same && i < identity.length; i++) same = bytes[from + i] === identity[i];
    if (same) return;
    const [exchange, symbol] = [this.text(exchangeColumn), this.text(exchangeColumn + 1)];
    if (exchange === '' || symbol === '') {
      throw this.fault('exchange, symbol', 'expected names, found nothing');
    }
    this.identity = bytes.slice(from, to);
    if (exchange === 'exchange' && symbol === 'symbol') {
      this.skipHeader();
      return;
    }
    this.isTaken = this.choice.takes(this.where, symbol, exchange);
    if (this.isTaken) [this.exchange, this.symbol] = [exchange, symbol];
  }
}

/**
 * The files' rows of the chosen symbol, in order, in chunks: each call of the yielded function moves the one row object
 * to the next row. `startFile` is called after each header. Blank lines are skipped.
 * @throws InputError like SymbolChoice
 */
export async function* readTardisRows(
  files: readonly string[],
  choice: SymbolChoice,
  startFile: (row: TardisRow) => void,
): AsyncGenerator<() => TardisRow | null, void, undefined> {
  const row = new TardisRow(choice);
  for (const path of files) {
    row.startFile(path);
    for await (const { bytes, firstLine } of readLineChunks(path)) {
      let at = 0;
      let line = firstLine;
      yield () => {
        while (at < bytes.length) {
          if (TardisRow.isBlank(bytes, at)) {
            at += bytes[at] === RETURN ? 2 : 1;
            line++;
            continue;
          }
          const isHeader = row.columns.length === 0;
          at = row.read(bytes, at, line++);
          if (isHeader) startFile(row);
          else if (row.isTaken) return row;
        }
        return null;
      };
    }
    if (row.columns.length === 0) {
      throw new InputError(`${path}:1: expected a header, found nothing: the file is empty`);
    }
  }
  choice.finish();
}

/** Tardis' names of exchanges, or of their sections, that trade only derivatives. */
const DERIVATIVE_EXCHANGES: ReadonlySet<string> = new Set([
  'binance-futures',
  'binance-delivery',
  'bitfinex-derivatives',
  'bitget-futures',
  'bitmex',
  'bybit',
  'crypto-com-derivatives',
  'cryptofacilities',
  'deribit',
  'dydx',
  'dydx-v4',
  'gate-io-futures',
  'huobi-dm',
  'huobi-dm-linear-swap',
  'huobi-dm-swap',
  'hyperliquid',
  'kucoin-futures',
  'okex-futures',
  'okex-swap',
  'phemex',
]);

/** The market that a Tardis row names: exchange as source, symbol as pair. */
export function tardisMarket(row: Pick<TardisRow, 'exchange' | 'symbol'>): BookMarket {
  const type: MarketType = DERIVATIVE_EXCHANGES.has(row.exchange) ? 'cex_perp' : 'cex_spot';
  return { source: row.exchange, pair: row.symbol, type };
}
