/** Request bodies, bounded. */
import { ApiError } from './errors.js';
import type { UwsResponse } from './uws.js';

/**
 * Collects a request's body. A body that is cut short never settles: its client has gone.
 * @throws ApiError 413 as soon as it exceeds `maxBytes`; the rest is read and dropped
 */
export function readBody(res: UwsResponse, maxBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    res.onData((chunk, isLast) => {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) {
        chunks.length = 0;
        reject(new ApiError(413, 'payload_too_large', `body: expected at most ${maxBytes} bytes`));
        return;
      }
      // The chunk's memory is the library's again as soon as this returns.
      chunks.push(Buffer.from(Buffer.from(chunk)));
      if (isLast) resolve(Buffer.concat(chunks));
    });
  });
}
