import { InputError } from '../errors.js';
import { readLineBatches } from '../lines.js';
import { parseDecimal } from './decimal.js';
import { JsonFields, parseJsonObject } from './json.js';
import type { LevelList } from './levels.js';

const US_PER_MS = 1_000;
/** Plausible times in milliseconds: 1973 to 2106, which seconds and microseconds miss. */
const MIN_TIME_MS = 1e11;
const MAX_TIME_MS = 0xffff_ffff * 1e3;
const LOCAL_TIME = /^[0-9]*\s*$/;

/** A change of the book: the totals at these prices after updates `firstId` to `lastId`. */
export interface DepthUpdate {
  kind: 'update';
  symbol: string;
  /** `E`, in epoch microseconds. */
  us: number;
  firstId: number;
  lastId: number;
  /** `pu`, the `lastId` of the update before; null on spot, where ids follow without a hole. */
  previousId: number | null;
  /** COIN-M messages name the pair (`ps`) that the contract is on. */
  isCoinMargined: boolean;
  fields: JsonFields;
}

/** The REST depth snapshot: the best 1,000 levels a side as of update `lastId`. */
export interface DepthSnapshot {
  kind: 'snapshot';
  /** `E` in epoch microseconds, null on spot, which has none. */
  us: number | null;
  lastId: number;
  fields: JsonFields;
}

/** Any other message: it moves the feed's end alone. */
export interface OtherMessage {
  kind: 'other';
  us: number | null;
}

export type BinanceMessage = DepthUpdate | DepthSnapshot | OtherMessage;

/** The messages of stream files, a batch at a time: `<local time> <JSON>`, one a line. */
export async function* readBinanceMessages(
  files: readonly string[],
): AsyncGenerator<Iterable<BinanceMessage>, void, undefined> {
  for (const path of files) {
    for await (const lines of readLineBatches(path)) {
      yield (function* () {
        for (const { line, text } of lines) {
          if (text !== '') yield readMessage(`${path}:${line}`, text);
        }
      })();
    }
  }
}

function readMessage(where: string, text: string): BinanceMessage {
  const brace = text.indexOf('{');
  if (brace < 0 || !LOCAL_TIME.test(text.slice(0, brace))) {
    throw new InputError(`${where}: the line: expected '<local time> <JSON object>'`);
  }
  const outer = new JsonFields(where, parseJsonObject(text.slice(brace), where));
  const fields = outer.has('data') ? outer.child('data') : outer;
  if (fields.object.e === 'depthUpdate') return readUpdate(fields);
  if (fields.object.lastUpdateId !== undefined) {
    const lastId = fields.integer('lastUpdateId', 0, Number.MAX_SAFE_INTEGER);
    return { kind: 'snapshot', us: readTimeOrNull(fields), lastId, fields };
  }
  return { kind: 'other', us: readTimeOrNull(fields) };
}

function readUpdate(fields: JsonFields): DepthUpdate {
  const id = (field: string) => fields.integer(field, 0, Number.MAX_SAFE_INTEGER);
  const us = readTimeOrNull(fields);
  if (us === null) throw fields.fault('E', 'expected epoch milliseconds');
  return {
    kind: 'update',
    symbol: fields.text('s'),
    us,
    firstId: id('U'),
    lastId: id('u'),
    previousId: fields.has('pu') ? id('pu') : null,
    isCoinMargined: fields.has('ps'),
    fields,
  };
}

function readTimeOrNull(fields: JsonFields): number | null {
  const ms = fields.integerOrNull('E', MIN_TIME_MS, MAX_TIME_MS);
  return ms === null ? null : ms * US_PER_MS;
}

/** Adds the `[price, size]` pairs of a field to a list; sizes of 0 too. */
export function readLevels(fields: JsonFields, field: string, levels: LevelList): void {
  fields.list(field).forEach((level, i) => {
    const [price, size] = Array.isArray(level) ? level.map(decimalOf) : [];
    if (!(price > 0 && size >= 0)) {
      throw fields.fault(`${field}[${i}]`, 'expected [price above 0, size of at least 0]');
    }
    levels.push(price, size);
  });
}

function decimalOf(value: unknown): number {
  if (typeof value === 'string') return parseDecimal(value);
  return typeof value === 'number' ? value : NaN;
}
