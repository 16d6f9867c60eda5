/** Query strings: what a request sent, each parameter at most once. */
import { invalidParameter } from './errors.js';

/** The parameters of one request, decoded as they are asked for. */
export class QueryParameters {
  readonly #raw = new Map<string, string[]>();

  /**
   * @param query the query string without its question mark
   * @throws ApiError 400 where a name's percent-encoding is malformed
   */
  constructor(query: string) {
    for (const pair of query.split('&')) {
      if (pair === '') continue;
      const equals = pair.indexOf('=');
      const rawName = equals < 0 ? pair : pair.slice(0, equals);
      const name = decode(rawName);
      if (name === null) throw malformed(rawName);
      const values = this.#raw.get(name);
      const value = equals < 0 ? '' : pair.slice(equals + 1);
      if (values) values.push(value);
      else this.#raw.set(name, [value]);
    }
  }

  /**
   * A parameter's text, or null where it was not sent.
   * @throws ApiError 400 where it was sent empty, more than once, or with malformed encoding
   */
  get(name: string): string | null {
    const values = this.#raw.get(name);
    if (values === undefined) return null;
    if (values.length > 1) throw invalidParameter(name, 'expected once, was sent repeatedly');
    const value = decode(values[0]);
    if (value === null) throw malformed(name);
    if (value === '') throw invalidParameter(name, 'expected a value, was sent empty');
    return value;
  }

  /**
   * One of a fixed set of words, or null where the parameter was not sent.
   * @throws ApiError 400 on any other word
   */
  getWord<W extends string>(name: string, words: readonly W[]): W | null {
    const value = this.get(name);
    if (value === null || isOneOf(value, words)) return value;
    throw invalidParameter(name, `expected ${words.join(', ')}; was '${excerpt(value)}'`);
  }

  /**
   * A comma-separated list without repetitions, or null where the parameter was not sent.
   * @throws ApiError 400 where it has more than `maxItems` items, or an empty one
   */
  getList(name: string, maxItems: number): string[] | null {
    const value = this.get(name);
    if (value === null) return null;
    const items = value.split(',');
    if (items.length > maxItems) {
      throw invalidParameter(name, `expected at most ${maxItems} items, were ${items.length}`);
    }
    if (items.includes('')) throw invalidParameter(name, 'expected no empty item between commas');
    return [...new Set(items)];
  }

  /**
   * A decimal number within bounds, or `fallback` where the parameter was not sent.
   * @throws ApiError 400
   */
  getNumber(name: string, min: number, max: number, fallback: number): number {
    const value = this.get(name);
    if (value === null) return fallback;
    const number = /^-?\d{1,20}(\.\d{1,20})?$/.test(value) ? Number(value) : NaN;
    // Adding 0 makes 0 of -0.
    if (number >= min && number <= max) return number + 0;
    throw invalidParameter(
      name,
      `expected a number from ${min} to ${max}; was '${excerpt(value)}'`,
    );
  }
}

/** Whether a text is one of a fixed set of words. */
export function isOneOf<W extends string>(text: string, words: readonly W[]): text is W {
  return (words as readonly string[]).includes(text);
}

/** As much of a bad value as an error message repeats. */
export function excerpt(value: string): string {
  return value.length <= 40 ? value : `${value.slice(0, 40)}...`;
}

function malformed(name: string) {
  return invalidParameter(excerpt(name), 'expected UTF-8 in well-formed percent-encoding');
}

/** Form decoding (a plus is a space); null where the percent-encoding is malformed. */
function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
