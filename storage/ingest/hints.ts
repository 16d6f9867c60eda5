/** Flags that would make a command take a file that it refused. */
import { closeMatch } from '../../compute/nearest.js';

/** Columns that a message names, at most. */
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
  source: ['exchange', 'venue', 'platform'],
  side: ['bid_ask', 'direction', 'book_side'],
  chain: ['network', 'blockchain'],
  owner: ['wallet', 'holder', 'account'],
  pair: ['market', 'instrument'],
};
/** Names that files use for a column of symbols. */
const SYMBOLS = ['symbol', 'sym', 'ticker', 'coin', 'token', 'base', 'asset'];

/** Names in quotes, the first ones of many. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN).map((name) => JSON.stringify(name));
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '';
  return names.length === 0 ? 'none' : `${shown.join(', ')}${more}`;
}

/**
 * What to say of a file that lacks the column of a field.
 * @param wanted the field, and the values that it may have if they are few
 * @param fields those of the dataset: a column with the name of one is never another
 */
export function missingColumn(
  { name: field, values = [] }: { name: string; values?: readonly string[] },
  columns: readonly string[],
  fields: readonly string[],
): string {
  const others = columns.filter((name) => !fields.includes(name));
  // The column of symbols gives the chain too, where it stands for the address.
  const bySymbol = field === 'chain' && !fields.includes('symbol') && !columns.includes('address');
  const guess = columnFor(field, others) ?? (bySymbol ? symbolColumn(others) : null);
  if (guess !== null) {
    return `no column ${JSON.stringify(field)}; the file has ${JSON.stringify(guess.column)}: add ${guess.flag}`;
  }
  const which = values.length === 0 ? '' : `, where VALUE is ${values.join(' or ')}`;
  return `the file has no column of this name: add --column ${field}=NAME or --set ${field}=VALUE${which}`;
}

/** What to say of a header that is one column, where another delimiter makes several of it. */
export function delimiterIn(header: string): string | null {
  const delimiter = DELIMITERS.find((one) => header.includes(one));
  if (delimiter === undefined) return null;
  const count = header.split(delimiter).length;
  const shown = SHOWN_DELIMITERS[delimiter] ?? `'${delimiter}'`;
  return `${COUNTS[count] ?? count} columns in one: add --delimiter ${shown}`;
}

/** The column that seems to be a field under another name, and the flag that reads it. */
export function columnFor(
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

/** The column with the first of some names that one has, in any case. */
function columnNamed(names: readonly string[], columns: readonly string[]): string | undefined {
  return names.map((name) => columns.find((one) => one.toLowerCase() === name)).find(Boolean);
}

const isAddress = (field: string): boolean => field === 'address' || field === 'token_address';

function near(field: string, columns: readonly string[]): string | null {
  if (field.length < MIN_NAME_CHARS) return null;
  return closeMatch(
    field,
    columns.filter(({ length }) => length >= MIN_NAME_CHARS),
  );
}

function quotedForShell(name: string): string {
  return /^[\w.:/-]+$/.test(name) ? name : `'${name.replaceAll("'", String.raw`'\''`)}'`;
}
