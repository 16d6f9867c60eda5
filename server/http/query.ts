/** Query strings: what a request sent, each parameter at most once. */
import { excerpt, invalidParameter } from './errors.js';

/** More `name=value` pairs than any endpoint has parameters are not looked through. */
const MAX_PAIRS = 256;

/** The parameters of one request, decoded as they are asked for. */
export class QueryParameters {
  /** Raw value by decoded name; of one sent repeatedly the number of times. */
  private readonly raw = new Map<string, string | number>();

  /**
   * @param query the query string without its question mark
   * @throws ApiError 400 where a name's percent-encoding is malformed, or there are too many pairs
   */
  constructor(query: string) {
    let pairs = 0;
    for (let start = 0; start < query.length;) {
      let end = query.indexOf('&', start);
      if (end < 0) end = query.length;
      if (end > start) {
        if (++pairs > MAX_PAIRS) throw tooManyPairs();
        this.take(query, start, end);
      }
      start = end + 1;
    }
  }

  private take(query: string, start: number, end: number): void {
    const equals = query.indexOf('=', start);
    const nameEnd = equals < 0 || equals > end ? end : equals;
    const rawName = query.slice(start, nameEnd);
    const name = decode(rawName);
    if (name === null) throw malformed(rawName);
    const before = this.raw.get(name);
    if (before !== undefined) this.raw.set(name, typeof before === 'number' ? before + 1 : 2);
    else this.raw.set(name, nameEnd === end ? '' : query.slice(nameEnd + 1, end));
  }

  /**
   * A parameter's text, perhaps empty, or null where it was not sent.
   * @throws ApiError 400 where it was sent more than once, or with malformed encoding
   */
  getText(name: string): string | null {
    const raw = this.raw.get(name);
    if (raw === undefined) return null;
    if (typeof raw === 'number') {
      throw invalidParameter(name, `expected once, was sent ${raw} times`);
    }
    const value = decode(raw);
    if (value === null) throw malformed(name);
    return value;
  }

  /**
   * A parameter's value, or null where it was not sent.
   * @throws ApiError 400 where it was sent empty, more than once, or with malformed encoding
   */
  get(name: string): string | null {
    const value = this.getText(name);
    if (value === '') throw invalidParameter(name, 'expected a value, was sent empty');
    return value;
  }
}

function tooManyPairs() {
  return invalidParameter('query', `expected at most ${MAX_PAIRS} parameters`);
}

function malformed(name: string) {
  return invalidParameter(excerpt(name), 'expected UTF-8 in well-formed percent-encoding');
}

/** Form decoding (a plus is a space); null where the percent-encoding is malformed. */
function decode(text: string): string | null {
  if (!text.includes('%') && !text.includes('+')) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
