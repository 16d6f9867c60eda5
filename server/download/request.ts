/** A replay client's request: server, token and parameters; and its errors. */
import { UsageError } from '../../storage/errors.js';

/** Query parameters by name; the server checks them. */
export type RequestedParameters = Readonly<Record<string, string>>;

/** The flag of `fathom replay` for a query parameter. */
export function flagOf(parameter: string): string {
  return `--${parameter.replaceAll('_', '-')}`;
}

export interface DownloadRequest {
  /** Base URL without a trailing slash. */
  url: string;
  address: string;
  parameters: RequestedParameters;
}

/** The part of a window that is left to fetch, in epoch seconds. */
export interface Rest {
  from: number;
  to: number;
}

/**
 * The base URL of a server, possibly with a path, without a trailing slash.
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

/** How two requests differ: `from (was 1, is 2)`; null if they are the same. */
export function difference(was: DownloadRequest, is: DownloadRequest): string | null {
  const flat = ({ url, address, parameters }: DownloadRequest) => ({ url, address, ...parameters });
  const [before, now]: Record<string, string>[] = [flat(was), flat(is)];
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  const different = names.filter((name) => before[name] !== now[name]);
  if (different.length === 0) return null;
  return different
    .map((name) => `${name} (was ${before[name] ?? 'not given'}, is ${now[name] ?? 'not given'})`)
    .join(', ');
}

/** A download that cannot continue. The message is for the user. */
export class ReplayError extends Error {
  override readonly name = 'ReplayError';

  /** @param resumable whether the same command can resume from the kept pages */
  constructor(
    message: string,
    readonly resumable = true,
  ) {
    super(message);
  }

  /** The same failure, of one of several tokens. */
  about(token: string): ReplayError {
    const kind = this.constructor as typeof ReplayError;
    return new kind(`${token}: ${this.message}`, this.resumable);
  }
}

/** The window has no snapshot of the token, or none of its cells passes the filters. */
export class NothingToWriteError extends ReplayError {}

/** The server's data no longer match the part file. */
export function outdated(what: string): ReplayError {
  return new ReplayError(`${what}; use --restart`, false);
}
