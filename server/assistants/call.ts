/** A call of a tool: its client of the API, and when it ends. */
import { fathomClient, type FathomClient } from '../../client/index.js';
import { away, limited, noKey, ToolError } from './failures.js';

/** Assistants give up after a minute. */
const MAX_CALL_MS = 45_000;

/** The server that the tools read. */
export interface Source {
  url: string;
  /** Null: none was configured. */
  key: string | null;
}

export interface Call {
  readonly source: Source;
  readonly client: FathomClient;
  /** Aborted when the assistant cancels, when the server is away, and when waiting takes too long. */
  readonly signal: AbortSignal;
}

/** @throws ToolError without a key */
export function startCall(source: Source, cancelled: AbortSignal): Call {
  const { url, key } = source;
  if (key === null) throw new ToolError(noKey(url));
  const ending = new AbortController();
  const endMs = performance.now() + MAX_CALL_MS;
  const client = fathomClient({
    url,
    key,
    // Waits for its turn when the rate is limited, but not for a server that is away.
    onWait: ({ kind, message, waitMs }) => {
      if (kind !== 'connection' && performance.now() + waitMs < endMs) return;
      ending.abort(new ToolError(kind === 'connection' ? away(url, message) : limited(message)));
    },
  });
  const late = AbortSignal.timeout(MAX_CALL_MS);
  return { source, client, signal: AbortSignal.any([cancelled, ending.signal, late]) };
}
