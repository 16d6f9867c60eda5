/** Receives the body of a request. */
import { ApiError } from './errors.js';

/** Longer bodies are refused, whatever their route allows, if they are read before their handler is called. */
export const MAX_READ_AHEAD_BYTES = 64 * 1024;

/** Gets the next part of a body. The engine reuses the chunk's memory when the listener returns. */
export type OnChunk = (chunk: Uint8Array, isLast: boolean) => void;

/**
 * The whole body, from an engine that delivers it as it arrives. Never settles if the client disconnects before its end.
 * @throws ApiError 413 as soon as it exceeds `maxBytes`; the rest is discarded
 */
export function wholeBody(
  receive: (onChunk: OnChunk) => void,
  maxBytes: number,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    receive((chunk, isLast) => {
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

/** @throws ApiError 413 */
export function checkSize(body: Uint8Array, maxBytes: number): Uint8Array {
  if (body.byteLength > maxBytes) throw tooLarge(maxBytes);
  return body;
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError(413, 'payload_too_large', `body: expected at most ${maxBytes} bytes`);
}
