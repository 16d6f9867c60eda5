/**
 * Binance's historical order books of futures (`T_DEPTH`), as the messages of a stream. Used columns: `symbol`,
 * `timestamp` (ms), `first_update_id`, `last_update_id`, `side` (`b` or `a`), `update_type` (`snap` or `set`), `price`,
 * `qty` and, if present, `pu`.
 */
import { readCsv } from '../csv.js';
import { InputError } from '../errors.js';
import {
  type DepthSnapshot,
  type DepthUpdate,
  MAX_TIME_MS,
  MIN_TIME_MS,
  US_PER_MS,
} from './binance-messages.js';
import { JsonFields, parseDecimal } from './fields.js';
import { excerpt } from './refusals.js';

/** A file is refused if one snapshot or update has more rows than this. */
const MAX_MESSAGE_ROWS = 2_000_000;

const COLUMNS = [
  'symbol',
  'timestamp',
  'first_update_id',
  'last_update_id',
  'side',
  'update_type',
  'price',
  'qty',
] as const;
/** Older files lack this column. */
const PREVIOUS = 'pu';

interface Row {
  where: string;
  symbol: string;
  isSnapshot: boolean;
  us: number;
  firstId: number;
  lastId: number;
  /** null if the file does not state it. */
  previousId: number | null;
  isBid: boolean;
  level: readonly [price: number, size: number];
}

/** Adjacent rows of one snapshot or update. */
interface Message extends Omit<Row, 'isBid' | 'level'> {
  bids: Row['level'][];
  asks: Row['level'][];
}

/**
 * The files' snapshots and updates in order. If a file does not state which update each one follows, each is taken to
 * follow the one before it, and gaps go unnoticed.
 * @throws InputError (`file:line: column: what`)
 */
export async function* readTDepthMessages(
  files: readonly string[],
): AsyncGenerator<Iterable<DepthSnapshot | DepthUpdate>, void, undefined> {
  let message: Message | null = null;
  let before: number | null = null;
  for (const path of files) {
    for await (const { header, line, fields } of readCsv(path)) {
      const row = rowOf(`${path}:${line}`, header, fields);
      if (message !== null && !isPartOf(message, row)) {
        yield [feedMessage(message, before)];
        before = message.lastId;
        message = null;
      }
      message ??= { ...row, bids: [], asks: [] };
      if (message.bids.length + message.asks.length === MAX_MESSAGE_ROWS) {
        throw new InputError(`${row.where}: more than ${MAX_MESSAGE_ROWS} rows in one message`);
      }
      (row.isBid ? message.bids : message.asks).push(row.level);
    }
  }
  if (message !== null) yield [feedMessage(message, before)];
}

function isPartOf(message: Message, row: Row): boolean {
  return (
    message.symbol === row.symbol &&
    message.isSnapshot === row.isSnapshot &&
    message.lastId === row.lastId
  );
}

/** @param before the last id of the message before */
function feedMessage(message: Message, before: number | null): DepthSnapshot | DepthUpdate {
  const { where, symbol, us, firstId, lastId, bids, asks } = message;
  if (message.isSnapshot) {
    const fields = new JsonFields(where, { bids, asks });
    return { kind: 'snapshot', symbol, us, lastId, fields };
  }
  const previousId = message.previousId ?? before ?? firstId - 1;
  const fields = new JsonFields(where, { b: bids, a: asks });
  return { kind: 'update', symbol, us, firstId, lastId, previousId, fields };
}

function rowOf(where: string, header: readonly string[], fields: readonly string[]): Row {
  const missing = COLUMNS.find((name) => !header.includes(name));
  if (missing !== undefined) {
    throw new InputError(
      `${where}: ${missing}: the header has no such column: expected a Binance T_DEPTH file with ` +
        `${COLUMNS.join(',')}, found '${excerpt(header.join(','))}'`,
    );
  }
  const text = (name: string): string => fields[header.indexOf(name)].trim();
  const fault = (name: string, what: string): InputError =>
    new InputError(`${where}: ${name}: expected ${what}, found '${excerpt(text(name))}'`);
  const either = (name: string, first: string, second: string): boolean => {
    const found = text(name);
    if (found !== first && found !== second) throw fault(name, `${first} or ${second}`);
    return found === first;
  };
  const id = (name: string): number => {
    const value = /^[0-9]+$/.test(text(name)) ? Number(text(name)) : NaN;
    if (Number.isSafeInteger(value)) return value;
    throw fault(name, 'a whole number');
  };
  const ms = id('timestamp');
  if (!(ms >= MIN_TIME_MS && ms <= MAX_TIME_MS)) throw fault('timestamp', 'epoch milliseconds');
  if (text('symbol') === '') throw fault('symbol', 'a name');
  const [price, qty] = [parseDecimal(text('price')), parseDecimal(text('qty'))];
  if (!(price > 0)) throw fault('price', 'a number above 0');
  if (!(qty >= 0)) throw fault('qty', 'a number of at least 0');
  const hasPrevious = header.includes(PREVIOUS) && !['', '-1'].includes(text(PREVIOUS));
  return {
    where,
    symbol: text('symbol'),
    isSnapshot: either('update_type', 'snap', 'set'),
    us: ms * US_PER_MS,
    firstId: id('first_update_id'),
    lastId: id('last_update_id'),
    previousId: hasPrevious ? id(PREVIOUS) : null,
    isBid: either('side', 'b', 'a'),
    level: [price, qty],
  };
}
