/** What a client is told when a request fails (docs/definitions.md#errors). */

export type Headers = readonly (readonly [name: string, value: string])[];

export interface ApiErrorOptions {
  /** Fields of the body beside error, message and error_code. */
  fields?: Readonly<Record<string, unknown>>;
  headers?: Headers;
}

/** A failure with a status and a text that are meant for the client. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly headers: Headers;
  /** The JSON body. */
  readonly body: Readonly<Record<string, unknown>>;

  /** Without `errorCode` the body is `{error: message}` alone, as for 401, 403 and 429. */
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
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** The words that go with a status. */
export function reasonPhrase(status: number): string {
  return REASON_PHRASES[status] ?? 'Unknown';
}

/** No resources for this page now: come back in a second. No quota is used. */
export function replayBusy(): ApiError {
  return new ApiError(503, 'replay_busy', 'Replay is temporarily busy, retry in 1 second', {
    headers: [['Retry-After', '1']],
  });
}
