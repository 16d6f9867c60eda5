/** Requests on the socket for commands, as bytes. */
import { pack } from '../../compute/messagepack.js';
import { VERSION } from '../../storage/version.js';

export function requestOf(body: Uint8Array): Buffer {
  const head = `POST / HTTP/1.1\r\nHost: localhost\r\nFathom-Version: ${VERSION}\r\nContent-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

export const packedRequest = (request: unknown): Buffer => requestOf(pack(request));
