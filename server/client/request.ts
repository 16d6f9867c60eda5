/** A replay client's request: a server, a token and replay's parameters; and how it may fail. */
import { chainOfAddress } from '../../compute/market.js';
import { UsageError } from '../../storage/errors.js';
import { BASE_PATH } from '../api/endpoint.js';

/** Parameters of GET /replay/:address by name, as texts that the server checks. */
export type ReplayParameters = Readonly<Record<string, string>>;

export interface ReplayRequest {
  /** Base URL without a slash at its end. */
  url: string;
  address: string;
  parameters: ReplayParameters;
}

/** The part of a window that is still to come, as a page's reply pins it. */
export interface Rest {
  from: number;
  to: number;
}

/**
 * The base URL of a server, with a path where it stands behind one, without a slash at its end.
 * @param from the flag or variable that it came from
 * @throws UsageError
 */
export function baseUrl(text: string, from: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new UsageError(`${from}: expected an http or https URL, not ${text}`);
  }
  if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
    throw new UsageError(`${from}: expected a URL without credentials, query and fragment`);
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

/** @throws UsageError where the text is no address of any chain */
export function checkedAddress(address: string): string {
  if (chainOfAddress(address) !== null) return address;
  throw new UsageError(
    `ADDRESS: expected a base58 mint of 32-44 characters or 0x and 40 hex digits, not ${address}`,
  );
}

/** The URL of the request's first page, or of the one with which the rest of its window begins. */
export function pageUrl({ url, address, parameters }: ReplayRequest, rest: Rest | null): URL {
  const page = new URL(`${url}${BASE_PATH}/replay/${address}`);
  const search = new URLSearchParams(parameters);
  for (const [name, time] of Object.entries(rest ?? {})) search.set(name, String(time));
  page.search = search.toString();
  return page;
}

/** How two requests differ, in words: `from (was 1, is 2)`; null where they are the same. */
export function difference(was: ReplayRequest, is: ReplayRequest): string | null {
  const flat = ({ url, address, parameters }: ReplayRequest) => ({ url, address, ...parameters });
  const [before, now]: Record<string, string>[] = [flat(was), flat(is)];
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  const different = names.filter((name) => before[name] !== now[name]);
  if (different.length === 0) return null;
  return different
    .map((name) => `${name} (was ${before[name] ?? 'not given'}, is ${now[name] ?? 'not given'})`)
    .join(', ');
}

/** A replay that cannot go on. The message is for the user. */
export class ReplayError extends Error {
  override readonly name = 'ReplayError';

  /** @param resumable whether another run may go on from the pages that are kept */
  constructor(
    message: string,
    readonly resumable = true,
  ) {
    super(message);
  }
}

/** The part file and the server's data no longer fit together. */
export function outdated(what: string): ReplayError {
  return new ReplayError(`${what}; use --restart`, false);
}

/** Characters of a server's own words that are repeated. */
const MAX_REPEATED_CHARS = 500;

/** A server's words, fit to be shown on a terminal: one line, no control characters, bounded. */
export function repeated(text: string): string {
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
  return line.length <= MAX_REPEATED_CHARS ? line : `${line.slice(0, MAX_REPEATED_CHARS)}...`;
}
