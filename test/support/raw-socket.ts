/** Frames and sockets below a WebSocket client's library. */
import { connect, type Socket } from 'node:net';
import { expect } from 'vitest';
import type { Service } from './cli.js';
import { MINT } from './stores.js';
import { eventually } from './waiting.js';

const MASK = Buffer.from([1, 2, 3, 4]);
export const TEXT = 1;
export const BINARY = 2;
export const PING = 9;
export const PONG = 10;

/** A frame as sent by a client, with the mistakes of a hostile one. */
export function frame(
  opcode: number,
  payload: Uint8Array,
  { fin = true, masked = true, reserved = 0, length = payload.length } = {},
): Buffer {
  const head = [(fin ? 0x80 : 0) | reserved | opcode];
  const mask = masked ? 0x80 : 0;
  if (length < 126) head.push(mask | length);
  else if (length < 65_536) head.push(mask | 126, length >> 8, length & 0xff);
  else head.push(mask | 127, 0, 0, 0, 0, ...[24, 16, 8, 0].map((bits) => (length >>> bits) & 0xff));
  const body = masked ? Uint8Array.from(payload, (byte, i) => byte ^ MASK[i % 4]) : payload;
  return Buffer.concat([Buffer.from(head), masked ? MASK : Buffer.alloc(0), body]);
}
export const text = (message: unknown) => frame(TEXT, Buffer.from(JSON.stringify(message)));

/** A socket below the WebSocket: it may send what no library sends, and not read. */
export class Raw {
  received = Buffer.alloc(0);
  isClosed = false;

  private constructor(readonly socket: Socket) {
    socket.on('data', (data) => (this.received = Buffer.concat([this.received, data])));
    socket.on('close', () => (this.isClosed = true));
    socket.on('error', () => undefined);
  }

  static async open(
    url: string,
    key: string | null,
    headers: Record<string, string> = {},
  ): Promise<Raw> {
    const { port } = new URL(url);
    const raw = new Raw(connect(Number(port), '127.0.0.1'));
    raw.socket.write(
      `GET /api/v1/stream HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n` +
        `${Object.entries(key === null ? headers : { ...headers, 'x-api-key': key })
          .map(([name, value]) => `${name}: ${value}\r\n`)
          .join('')}\r\n`,
    );
    await eventually('the upgrade', () => raw.received.includes('\r\n\r\n'));
    expect(raw.received.toString('latin1')).toMatch(/^HTTP\/1.1 101 /);
    return raw;
  }

  send(...frames: readonly Uint8Array[]): void {
    this.socket.write(Buffer.concat(frames));
  }

  async ends(): Promise<void> {
    await eventually('the end of the connection', () => this.isClosed);
  }

  async hears(words: string): Promise<void> {
    await eventually(
      () => `${words}, but ${this.received.toString('latin1')}`,
      () => this.received.includes(words),
    );
  }
}

/** Expects that a client with this key is served, by HTTP and live, whatever others do. */
export async function expectServed(service: Service, key: string): Promise<void> {
  expect((await service.get(`/score/${MINT}`, key)).status).toBe(200);
  const raw = await Raw.open(service.url, key);
  raw.send(text({ op: 'ping' }));
  await raw.hears('"pong"');
  raw.socket.destroy();
}
