/** Errors of requests. */
import type { components } from './generated/api.js';

/** Why a request is retried: the server is busy, a limit is reached, or the server is unavailable. */
export type WaitKind = 'busy' | 'limited' | 'connection';

type Own<Name extends keyof components['schemas']> = Omit<
  components['schemas'][Name],
  'error' | 'message' | 'error_code'
>;

/** Fields that bodies of some errors have, by their names in the API. */
export type ErrorFields = Partial<Own<'ChainNotSupportedError'> & Own<'BatchChainMismatchError'>>;

interface Details {
  /** HTTP status; null if no reply came. */
  status: number | null;
  /** `error_code` of the reply; null without one. */
  code?: string | null;
  /** The refused parameter; null if the failure has another cause. */
  parameter?: string | null;
  /** The wait that the reply's Retry-After asks for; null: none. */
  retryAfterMs?: number | null;
  /** The reply's other fields: of errors of chains, which chains there are and which addresses contradict them. */
  fields?: ErrorFields;
  /** `X-Request-Id` of the reply; null without one. */
  requestId?: string | null;
  cause?: unknown;
}

/** A request failed, retries included. The message quotes the server. */
export class FathomError extends Error {
  override readonly name = 'FathomError';
  readonly status: number | null;
  readonly code: string | null;
  readonly parameter: string | null;
  readonly retryAfterMs: number | null;
  readonly fields: ErrorFields;
  readonly requestId: string | null;

  constructor(message: string, details: Details) {
    super(message, { cause: details.cause });
    this.status = details.status;
    this.code = details.code ?? null;
    this.parameter = details.parameter ?? null;
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.fields = details.fields ?? {};
    this.requestId = details.requestId ?? null;
  }
}

/** Maximum length of a quoted message of a server. */
const MAX_QUOTED_CHARS = 500;

/** A server's message, safe to show on a terminal: one bounded line without control characters. */
export function quoted(text: string): string {
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
  return line.length <= MAX_QUOTED_CHARS ? line : `${line.slice(0, MAX_QUOTED_CHARS)}...`;
}

/** The error of a server whose `next_from` does not advance. */
export function noProgress(from: number): FathomError {
  return new FathomError(`the server makes no progress: its next page is ${from} again`, {
    status: 200,
  });
}
