/** fetch(), as tests use it, depends on no time limit of a server: see test/support/connections.ts. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { atEnd } from '../support/folders.js';

it('a reply is whole, and its connection is not used again, if the server closes idle ones at once', async () => {
  const text = new Uint32Array(100_000).map((_, i) => Math.imul(i, 2_654_435_761)).join();
  const body = gzipSync(text);
  const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`;
  const requests: string[] = [];
  const server = createServer((socket) => {
    socket.once('data', (request) => {
      requests.push(String(request));
      socket.write(head);
      socket.end(body);
    });
  });
  server.listen(0, '127.0.0.1');
  atEnd(() => server.close());
  await once(server, 'listening');
  const reply = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect((await reply.text()) === text).toBe(true);
  expect(requests).toEqual([expect.stringMatching(/^connection: close\r$/im)]);
});
