/** Requests on the socket for commands. */
import { pack } from '../../compute/messagepack.js';
import { VERSION } from '../../storage/version.js';

export function packedRequest(request: unknown): Buffer {
  const body = pack(request);
  const head = `POST / HTTP/1.1\r\nHost: localhost\r\nFathom-Version: ${VERSION}\r\nContent-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}
