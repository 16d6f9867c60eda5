/** Suggests flags with which a command would accept a file that it refused. */
import { closeMatch } from '../../compute/nearest.js';

/** Columns that a message names at most. */
const SHOWN = 20;
const DELIMITERS = [';', '\t', '|'] as const;
const SHOWN_DELIMITERS: Readonly<Record<string, string>> = { '\t': 'tab' };
/** Shorter names resemble too many others. */
const MIN_NAME_CHARS = 3;
const COUNTS = 'no one two three four five six seven eight nine ten eleven twelve'.split(' ');

/** Other names that files use for some fields. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  t: ['timestamp', 'time', 'ts', 'datetime', 'date', 'unixtime', 'local_timestamp', 'event_time'],
  hour: ['timestamp', 'time', 'ts', 't', 'datetime'],
  address: ['token_address', 'mint', 'token', 'contract'],
  token_address: ['address', 'mint', 'token', 'contract'],
  price: ['px', 'price_usd', 'level_price'],
  price_usd: ['price', 'px', 'mid', 'mid_price'],
  size: ['amount', 'qty', 'quantity', 'volume', 'sz'],
  balance: ['amount', 'quantity', 'qty'],
  source: ['exchange', 'venue', 'platform', 'exchange_name', 'venue_name'],
  side: ['bid_ask', 'direction', 'book_side'],
  chain: ['network', 'blockchain'],
  owner: ['wallet', 'holder', 'account'],
  pair: ['market', 'instrument'],
};
/** Names that files use for a column of symbols. */
const SYMBOLS = ['symbol', 'sym', 'ticker', 'coin', 'token', 'base', 'asset'];

/** Fields that no --set can give. */
const LISTS: readonly string[] = ['markets'];

/** Names in quotes, the first ones of many. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN).map((name) => JSON.stringify(name));
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '';
  return names.length === 0 ? 'none' : `${shown.join(', ')}${more}`;
}

/** A field, and the values that it may have if they are few. */
interface Field {
  name: string;
  values?: readonly string[];
}

/**
 * What to say about a file that lacks the column of a field.
 * @param fields those of the dataset: a column named after one of them is never suggested for another
 */
export function missingColumn(
  field: Field,
  columns: readonly string[],
  fields: readonly string[],
): string {
  const guess = guessFor(field.name, columns, fields);
  return guess === null
    ? `the file has no column of this name: add ${flagsFor(field)}`
    : `no column ${JSON.stringify(field.name)}; the file has ${JSON.stringify(guess.column)}: add ${guess.flag}`;
}

/** As missingColumn, about a row of JSON. */
export function missingKey(
  field: Field,
  keys: readonly string[],
  fields: readonly string[],
): string {
  const guess = guessFor(field.name, keys, fields);
  return guess === null
    ? `the row has no such field: add ${flagsFor(field)}`
    : `the row has ${JSON.stringify(guess.column)}: add ${guess.flag}`;
}

function guessFor(
  field: string,
  columns: readonly string[],
  fields: readonly string[],
): { column: string; flag: string } | null {
  const others = columns.filter((name) => !fields.includes(name));
  // If the column of symbols replaces the address, it gives the chain too.
  const bySymbol = field === 'chain' && !fields.includes('symbol') && !columns.includes('address');
  return columnFor(field, others) ?? (bySymbol ? symbolColumn(others) : null);
}

function flagsFor({ name, values = [] }: Field): string {
  if (LISTS.includes(name)) return `--column ${name}=NAME`;
  const which = values.length === 0 ? '' : `, where VALUE is ${values.join(' or ')}`;
  return `--column ${name}=NAME or --set ${name}=VALUE${which}`;
}

/** What to say about a header with a single column that another delimiter would split into several. */
export function delimiterIn(header: string): string | null {
  const delimiter = DELIMITERS.find((one) => header.includes(one));
  if (delimiter === undefined) return null;
  const count = header.split(delimiter).length;
  const shown = SHOWN_DELIMITERS[delimiter] ?? `'${delimiter}'`;
  return `${COUNTS[count] ?? count} columns in one: add --delimiter ${shown}`;
}

/** What to say about a file whose first line begins a JSON document of many lines or rows; null if it does not. */
export function linesOfDocument(firstLine: string, file: string): string | null {
  const text = firstLine.trim();
  if (text !== '{' && !/^\[\s*(\{|$)/.test(text)) return null;
  const [what, filter] = text === '{' ? ['an object on several lines', '.'] : ['a list', "'.[]'"];
  return `${what}, not a row on each line: ${conversion(filter, file)}`;
}

function conversion(filter: string, file: string): string {
  const name = quotedForShell(file);
  const isZipped = file.toLowerCase().endsWith('.gz');
  const read = isZipped ? `gzip -dc ${name} | jq -c ${filter}` : `jq -c ${filter} ${name}`;
  return `convert it with ${read} > rows.ndjson`;
}

/** What to say about a file whose first line is of another format of text; null if it is not. */
export function otherFormat(firstLine: string, format: 'ndjson' | 'csv'): string | null {
  const text = firstLine.trim();
  const isJson = /^[{[]/.test(text);
  if (format === 'csv')
    return text.startsWith('{"') ? 'looks like NDJSON: add --format ndjson' : null;
  const isHeader = !isJson && /^[\w .()"-]+([,;\t|][\w .()"-]*)+$/.test(text);
  return isHeader ? 'looks like CSV: add --format csv' : null;
}

/** What to say about a row of levels that has a whole book in lists; null if it has none. */
export function listsOfLevels(names: readonly string[], file: string): string | null {
  if (!names.includes('bids') || !names.includes('asks')) return null;
  const level = (list: string, side: string): string =>
    `(.${list}[] | {side: "${side}", price: .[0], size: .[1]})`;
  const filter = `'del(.bids, .asks) + (${level('bids', 'bid')}, ${level('asks', 'ask')})'`;
  return `a book in lists, not a level: ${conversion(filter, file)}`;
}

/** `bid_price1`, `ask3_size`, `bids[0].price`, `bidPx_00`: a side and the number of a level. */
const WIDE = { bid: /^bid.*\d/i, ask: /^ask.*\d/i };

/** What to say about levels of which each row has many; null if the columns are others. */
export function wideBook(names: readonly string[]): string | null {
  const [bid, ask] = [WIDE.bid, WIDE.ask].map((side) => names.find((name) => side.test(name)));
  if (bid === undefined || ask === undefined) return null;
  return (
    `the layout is wide: a row has a whole book (${JSON.stringify(bid)}, ${JSON.stringify(ask)}, ...): ` +
    'write a row for each level, with its side, price and size'
  );
}

/** The column that seems to be a field under another name, and the flag to read it. */
function columnFor(
  field: string,
  columns: readonly string[],
): { column: string; flag: string } | null {
  const alias = columnNamed([field, ...(ALIASES[field] ?? [])], columns) ?? near(field, columns);
  if (alias !== null && !(isAddress(field) && SYMBOLS.includes(alias.toLowerCase()))) {
    return { column: alias, flag: `--column ${field}=${quotedForShell(alias)}` };
  }
  return isAddress(field) ? symbolColumn(columns) : null;
}

function symbolColumn(columns: readonly string[]): { column: string; flag: string } | null {
  const symbol = columnNamed(SYMBOLS, columns);
  return symbol === undefined
    ? null
    : { column: symbol, flag: `--token-column ${quotedForShell(symbol)}` };
}

/** The column with the first of some names that occurs, in any case; `Time (ms)` is `time`. */
function columnNamed(names: readonly string[], columns: readonly string[]): string | undefined {
  return names.map((name) => columns.find((one) => plainName(one) === name)).find(Boolean);
}

function plainName(column: string): string {
  const bare = column.replace(/[([{].*$/, '').trim();
  return bare.toLowerCase().replaceAll(/[\s-]+/g, '_');
}

const isAddress = (field: string): boolean => field === 'address' || field === 'token_address';

function near(field: string, columns: readonly string[]): string | null {
  if (field.length < MIN_NAME_CHARS) return null;
  return closeMatch(
    field,
    columns.filter(({ length }) => length >= MIN_NAME_CHARS),
  );
}

/** A name as a word of a command line. */
export function quotedForShell(name: string): string {
  return /^[\w.:/-]+$/.test(name) ? name : `'${name.replaceAll("'", String.raw`'\''`)}'`;
}
