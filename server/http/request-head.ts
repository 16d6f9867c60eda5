/** The head of a request as it arrived, and what both engines check in it. */
import { ApiError } from './errors.js';

export interface RequestHead {
  /** As sent: methods are case-sensitive. */
  readonly method: string;
  /** The path as sent, percent-encoded. */
  readonly path: string;
  /** The query string as sent, without its question mark. */
  readonly query: string;
  /** Of its headers, in lower case and in order. */
  readonly names: readonly string[];
  readonly values: readonly string[];
}

/** Joins the lines of a repeated header. */
const LIST_SEPARATOR = ', ';

/**
 * The value of the header of a name in lower case, '' if there is none. Several lines are one list, with commas between
 * (RFC 9110, 5.3): a header that is not a list gets an invalid value if it is repeated.
 */
export function headerOf({ names, values }: RequestHead, name: string): string {
  const at = names.indexOf(name);
  if (at < 0) return '';
  if (names.indexOf(name, at + 1) < 0) return values[at];
  return values.filter((_, i) => names[i] === name).join(LIST_SEPARATOR);
}

/** Members of a header's list, and parameters of one, that are read; further ones are ignored. */
export const MAX_LIST_MEMBERS = 100;

/** The members of a header's list, as sent. */
export const membersOf = (header: string): string[] => header.split(',', MAX_LIST_MEMBERS);

/** The subprotocols that a request for a WebSocket offers. */
export function offeredProtocols(head: RequestHead): string[] {
  const header = headerOf(head, 'sec-websocket-protocol');
  return header === '' ? [] : membersOf(header).map((name) => name.trim());
}

/**
 * The most bytes of a request's body that the server receives, whether it reads or drops them. If more arrive, the
 * engine closes the connection. Every route reads less.
 */
export const MAX_RECEIVED_BODY_BYTES = 1024 * 1024;

/** Whether the declared length of the body exceeds MAX_RECEIVED_BODY_BYTES. */
export function declaresLongBody(head: RequestHead): boolean {
  const length = headerOf(head, 'content-length');
  return length !== '' && Number(length) > MAX_RECEIVED_BODY_BYTES;
}

/** Whether a header's list has an option, in lower case. */
export const hasToken = (header: string, token: string): boolean =>
  header !== '' && membersOf(header.toLowerCase()).some((one) => one.trim() === token);

export const WEBSOCKET_VERSION = '13';

/** Whether a request opens a WebSocket (RFC 6455, 4.2.1). */
export function isHandshake(head: RequestHead): boolean {
  return (
    head.method === 'GET' &&
    headerOf(head, 'upgrade').toLowerCase() === 'websocket' &&
    hasToken(headerOf(head, 'connection'), 'upgrade') &&
    /^[+/0-9A-Za-z]{22}==$/.test(headerOf(head, 'sec-websocket-key')) &&
    headerOf(head, 'sec-websocket-version') === WEBSOCKET_VERSION
  );
}

/** The reply to bytes that are not a valid request; the engine then closes the connection. */
export const badRequest = (message: string) => new ApiError(400, 'bad_request', message);

/** The reply to a request that should have a header once. */
function wrongCount(header: string, sent: number): ApiError {
  return badRequest(`${header}: expected one, ${sent === 0 ? 'none was' : `${sent} were`} sent`);
}

/** Characters of a host, an IPv6 address among them, and of its port. */
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/;

/** A fault that an engine accepts but a proxy in front may interpret differently. */
export function framingFault({ names, values }: RequestHead, needsHost = true): ApiError | null {
  let hosts = 0;
  let codings = 0;
  let chunked = 0;
  let lengths = 0;
  let isEmptyLength = false;
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    if (name === 'host') {
      hosts++;
      if (!HOST.test(values[i])) return badRequest('Host: expected a name or an address');
    } else if (name === 'transfer-encoding') {
      codings++;
      // Unlike toLowerCase, /i takes no letter outside ASCII for one of these.
      if (/^chunked$/i.test(values[i])) chunked++;
    } else if (name === 'content-length') {
      lengths++;
      isEmptyLength = values[i] === '';
    }
  }
  if (hosts > 1 || (hosts === 0 && needsHost)) return wrongCount('Host', hosts);
  if (codings > chunked || codings > 1) {
    return badRequest('Transfer-Encoding: expected only chunked');
  }
  if (lengths > 1) return wrongCount('Content-Length', lengths);
  return isEmptyLength ? badRequest('Content-Length: expected a number') : null;
}
