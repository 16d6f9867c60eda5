/** A client that writes given bytes to a socket and shows what comes back. */
import { get, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';

export class RawClient {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  private chunks: Buffer[] = [];
  private bytes = 0;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => {
      this.chunks.push(chunk);
      this.bytes += chunk.length;
    });
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => socket.on('close', () => resolve()));
  }

  static connect(port: number): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('error', reject);
      socket.once('connect', () => resolve(new RawClient(socket)));
    });
  }

  get received(): Buffer {
    return Buffer.concat(this.chunks);
  }

  get receivedBytes(): number {
    return this.bytes;
  }

  send(text: string): void {
    this.socket.write(text);
  }

  /** Waits until the reply contains `text`; fails when the connection closes without it. */
  async until(text: string): Promise<string> {
    for (;;) {
      const received = this.received.toString('latin1');
      if (received.includes(text)) return received;
      if (this.socket.closed) throw new Error(`closed before '${text}' came: ${received}`);
      await new Promise<void>((resolve) => {
        this.socket.once('data', () => setImmediate(resolve));
        void this.closed.then(resolve);
      });
    }
  }
}

/** The request's head, ready to be sent. */
export function requestText(line: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\nHost: test\r\n${lines.join('')}\r\n`;
}

/** GET, with the body as sent: fetch() would unpack it. */
export function rawReply(
  url: string,
  headers: Record<string, string>,
): Promise<{ headers: IncomingHttpHeaders; body: Buffer }> {
  return new Promise((resolve, reject) => {
    get(url, { headers, agent: false }, (reply) => {
      buffer(reply).then((body) => resolve({ headers: reply.headers, body }), reject);
    }).on('error', reject);
  });
}
