/** Fields of exchanges' messages, and the changes of a book that are made of them. */
import { isFields } from '../compute/ingest/fields.js';
import { levelOf } from '../storage/import/binance-messages.js';
import type { JsonFields } from '../storage/import/fields.js';
import { type Levels, MAX_SIDE_LEVELS } from '../storage/import/order-book.js';
import type { Numbered } from '../storage/import/sequence.js';

const US_PER_MS = 1_000;

/** The changes of one side. */
export interface Side {
  /** Sizes by price; 0 removes the level. */
  levels: Levels;
  /** `price:size` by price as the exchange writes them, for checksums; null where none is checked. */
  texts: Map<number, string> | null;
}

/** A message about a book. */
export interface BookUpdate {
  /** Whether it is the whole book. */
  reset: boolean;
  /** The exchange's time in epoch microseconds; null if it states none. */
  us: number | null;
  /** Its place among the updates; null if the exchange does not number them. */
  number: Numbered | null;
  bids: Side;
  asks: Side;
  /** The checksum of the book after this update; null if it has none. */
  checksum: number | null;
  /** How many levels a side of the subscribed book has, where the message tells; otherwise as in the rules. */
  depth?: number;
}

/** What a message says beside the levels. */
type BesideLevels = Partial<Omit<BookUpdate, 'bids' | 'asks'>>;

export const EMPTY_SIDE: Side = { levels: new Map(), texts: null };

/** An update with both sides from fields of these names, each a list of `[price, size, ...]`. */
export function updateOf(
  fields: JsonFields,
  [bids, asks]: readonly [bids: string, asks: string],
  more: BesideLevels,
  keepsTexts = false,
): BookUpdate {
  const of = (side: string): Side => sideOf(fields, side, fields.list(side), keepsTexts);
  return bookUpdate(more, of(bids), of(asks));
}

/** An update of one list of `[side, price, size]`, with these names of the sides. */
export function updateOfChanges(
  fields: JsonFields,
  field: string,
  [bids, asks]: readonly [bids: string, asks: string],
  more: BesideLevels,
): BookUpdate {
  const of = (side: string): Side => sideOf(fields, field, changesOf(fields.list(field), side));
  return bookUpdate(more, of(bids), of(asks));
}

/** An update of these sides: no whole book, and without a time, a number or a checksum unless `more` says so. */
export function bookUpdate(more: BesideLevels, bids: Side, asks: Side): BookUpdate {
  return { reset: false, us: null, number: null, checksum: null, bids, asks, ...more };
}

/**
 * The levels in a list of `[price, size, ...]`, numbers or texts.
 * @throws InputError that names the entry
 */
export function sideOf(
  fields: JsonFields,
  field: string,
  entries: readonly unknown[],
  keepsTexts = false,
): Side {
  if (entries.length > MAX_SIDE_LEVELS) {
    throw fields.fault(field, `expected at most ${MAX_SIDE_LEVELS} levels`);
  }
  const side: Side = { levels: new Map(), texts: keepsTexts ? new Map() : null };
  entries.forEach((entry, i) => {
    const [price, size] = levelOf(fields, `${field}[${i}]`, entry);
    side.levels.set(price, size);
    if (side.texts === null) return;
    const [priceText, sizeText] = entry as string[];
    side.texts.set(price, `${priceText}:${sizeText}`);
  });
  return side;
}

/** The values of two keys of each object of a list, as pairs. */
export function pairsOf(entries: readonly unknown[], price: string, size: string): unknown[] {
  return entries.map((entry) => (isFields(entry) ? [entry[price], entry[size]] : entry));
}

/** The pairs of one side in a list of `[side, price, size]`. */
function changesOf(entries: readonly unknown[], side: string): unknown[] {
  return entries
    .filter((entry) => !Array.isArray(entry) || entry[0] === side)
    .map((entry) => (Array.isArray(entry) ? entry.slice(1) : entry));
}

/** An integer, also as digits. */
export function idOf(fields: JsonFields, field: string): number {
  const value = fields.object[field];
  const id = typeof value === 'string' && /^-?[0-9]{1,16}$/.test(value) ? Number(value) : value;
  if (Number.isSafeInteger(id)) return id as number;
  throw fields.fault(field, 'expected an integer');
}

export const idOrNull = (fields: JsonFields, field: string): number | null =>
  fields.has(field) ? idOf(fields, field) : null;

/** An update that has only its own number. */
export const numbered = (lastId: number, previousId: number | null = null): Numbered => ({
  firstId: null,
  lastId,
  previousId,
});

/** Epoch microseconds of milliseconds; null without the field. */
export function usOfMs(fields: JsonFields, field: string): number | null {
  const ms = idOrNull(fields, field);
  return ms === null ? null : ms * US_PER_MS;
}

/** Epoch microseconds of an ISO time; null without the field. */
export function usOfIso(fields: JsonFields, field: string): number | null {
  if (!fields.has(field)) return null;
  const ms = Date.parse(fields.text(field));
  if (Number.isNaN(ms)) throw fields.fault(field, 'expected a time');
  return ms * US_PER_MS;
}

/** A text field, or an empty text: most messages are about something else. */
export function nameOf(fields: JsonFields, field: string): string {
  const value = fields.object[field];
  return typeof value === 'string' ? value : '';
}
