/** The body of a request. */
import type { EngineRequest } from './engine.js';
import { ApiError, replayBusy } from './errors.js';

/** Longer bodies are refused, whatever their route allows. */
const MAX_READ_AHEAD_BYTES = 64 * 1024;

/** Reads a body from the engine, which delivers it only as it arrives, and drops a body that nobody reads. */
export class RequestBody {
  /** The body read for a handler that is called later; null: it is not read. */
  private ahead: Promise<Uint8Array> | null = null;
  private isPostponed = false;

  constructor(private readonly request: EngineRequest) {}

  /**
   * Reads the body. Call this before the handler first awaits anything.
   * @throws ApiError 413 as soon as it exceeds `maxBytes`
   */
  read(maxBytes: number): Promise<Uint8Array> {
    if (!this.isPostponed) return this.receive(maxBytes);
    return this.ahead?.then((body) => checked(body, maxBytes)) ?? Promise.reject(replayBusy());
  }

  /** Prepares for a handler that is called later. @param readsAhead whether to keep the body until then */
  postpone(readsAhead: boolean): void {
    this.isPostponed = true;
    if (!readsAhead) return;
    this.ahead = this.receive(MAX_READ_AHEAD_BYTES);
    this.ahead.catch(() => undefined);
  }

  /**
   * Never settles if the client disconnects before the end of the body.
   * @throws ApiError 413 as soon as it exceeds `maxBytes`; the rest is discarded
   */
  private receive(maxBytes: number): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      this.request.onData((chunk, isLast) => {
        bytes += chunk.byteLength;
        if (bytes > maxBytes) {
          chunks.length = 0;
          reject(tooLarge(maxBytes));
          return;
        }
        chunks.push(Buffer.from(chunk));
        if (isLast) resolve(Buffer.concat(chunks));
      });
    });
  }
}

function checked(body: Uint8Array, maxBytes: number): Uint8Array {
  if (body.byteLength > maxBytes) throw tooLarge(maxBytes);
  return body;
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError(413, 'payload_too_large', `body: expected at most ${maxBytes} bytes`);
}
