/** Errors that clients get when a request fails (docs/definitions.md#errors). */
import { PoolBusyError } from '../../compute/scheduler.js';

export type Headers = readonly (readonly [name: string, value: string])[];

interface ApiErrorOptions {
  /** Fields of the body besides error, message and error_code. */
  fields?: Readonly<Record<string, unknown>>;
  headers?: Headers;
}

/** A failure with a status and a message for the client. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly headers: Headers;
  /** The JSON body. */
  readonly body: Readonly<Record<string, unknown>>;

  /** @param errorCode null for 401, 403 and 429, whose body is just `{error: message}` */
  constructor(
    status: number,
    errorCode: string | null,
    message: string,
    { fields = {}, headers = [] }: ApiErrorOptions = {},
  ) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.body =
      errorCode === null
        ? { error: message, ...fields }
        : { error: reasonPhrase(status), message, error_code: errorCode, ...fields };
  }
}

const REASON_PHRASES: Readonly<Record<number, string>> = {
  200: 'OK',
  204: 'No Content',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  413: 'Payload Too Large',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
  505: 'HTTP Version Not Supported',
};

/** Of replies that no cache may store. Errors have it: requests with the same URL may differ in their key only. */
export const NOT_STORED = ['Cache-Control', 'no-store'] as const;

export function reasonPhrase(status: number): string {
  return REASON_PHRASES[status] ?? 'Unknown';
}

/** No capacity for this page now; the client should retry in a second. Uses no quota. */
export function replayBusy(): ApiError {
  return new ApiError(503, 'replay_busy', 'Replay is temporarily busy, retry in 1 second', {
    headers: [['Retry-After', '1']],
  });
}

/** The archive that holds what the reply needs cannot be read now. Uses no quota. */
export function archiveUnavailable(): ApiError {
  const message = 'The archive of these snapshots cannot be read now, retry in 5 seconds';
  return new ApiError(503, 'archive_unavailable', message, { headers: [['Retry-After', '5']] });
}

const MIB = 2 ** 20;
const mibText = (bytes: number): string => (bytes / MIB).toFixed(1);

/**
 * A reply that the budget of its client never has room for: the same request gets this however idle the server is.
 * @param maxBytes of replies that one key, or all clients without one, may leave unread
 * @param smaller what to ask for instead
 */
export function replyTooLarge(bytes: number, maxBytes: number, smaller: string): ApiError {
  const message =
    `This reply has ${mibText(bytes)} MiB, and a client of this server gets at most ` +
    `${mibText(maxBytes)} MiB at once: ${smaller}`;
  return new ApiError(400, 'reply_too_large', message);
}

/**
 * A reply whose names alone exceed that budget. Compression does not help: the server would have to hold them as text.
 * @param maxBytes and `smaller` as of replyTooLarge()
 */
export function namesTooLarge(bytes: number, maxBytes: number, smaller: string): ApiError {
  const message =
    `The names in this reply have ${mibText(bytes)} MiB, and a client of this server gets at most ` +
    `${mibText(maxBytes)} MiB at once, compressed or not: ${smaller}`;
  return new ApiError(400, 'reply_too_large', message);
}

/** The result of work for the pool. @throws ApiError 503 replay_busy if the pool has no room for it */
export async function unlessBusy<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof PoolBusyError ? replayBusy() : error;
  }
}

export function damagedData(requestId: string): ApiError {
  const message = `Stored data of this reply are damaged, request id ${requestId}; a retry will not help`;
  return new ApiError(500, 'damaged_data', message);
}

export function internalError(requestId: string): ApiError {
  return new ApiError(500, 'internal_error', `Internal error, request id ${requestId}`);
}
