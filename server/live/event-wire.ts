/** Server-Sent Events: writes the messages of a connection as events. */
import type { ReplyStream } from '../http/outlet.js';
import type { Wire } from './connection.js';
import { encodeMessage } from './protocol.js';

/** How long a client of Server-Sent Events waits before it connects again. */
const RETRY_MS = 2_000;
const COMMENT_EVERY_S = 15;
/** A comment, which clients ignore. */
export const COMMENT = Buffer.from(':\n\n');

/** The clients of a group get the same message one after the other: its event is made once. */
const events = new WeakMap<Uint8Array, Uint8Array>();

function encodeEvent(message: Uint8Array, cursor: string | null): Uint8Array {
  const id = cursor === null ? '' : `id: ${cursor}\n`;
  return Buffer.concat([Buffer.from(`${id}data: `), message, Buffer.from('\n\n')]);
}

/** Writes messages as events. Messages that come before the reply has begun wait for it. */
export class EventWire implements Wire {
  readonly format = 'json';
  readonly keepAliveS = COMMENT_EVERY_S;
  private stream: ReplyStream | null = null;
  private early: Uint8Array[] = [];
  /** How the connection ended before the reply began. */
  private earlyEnd: 'end' | 'cut' | null = null;

  get waitingBytes(): number {
    return this.stream?.waitingBytes ?? this.early.reduce((sum, bytes) => sum + bytes.length, 0);
  }

  open(stream: ReplyStream): void {
    this.stream = stream;
    stream.write(Buffer.from(`retry: ${RETRY_MS}\n\n`));
    for (const bytes of this.early.splice(0)) stream.write(bytes);
    if (this.earlyEnd !== null) stream[this.earlyEnd]();
  }

  send(message: Uint8Array, cursor: string | null): void {
    let event = events.get(message);
    if (event === undefined) {
      event = encodeEvent(message, cursor);
      events.set(message, event);
    }
    this.write(event);
  }

  keepAlive(): void {
    this.write(COMMENT);
  }

  close(code: number, reason: string): void {
    this.write(Buffer.from(encodeClose(code, reason)));
    if (this.stream === null) this.earlyEnd = 'end';
    else this.stream.end();
  }

  cut(): void {
    if (this.stream === null) this.earlyEnd = 'cut';
    else this.stream.cut();
  }

  private write(bytes: Uint8Array): void {
    if (this.stream === null) this.early.push(bytes);
    else this.stream.write(bytes);
  }
}

const encodeClose = (code: number, reason: string): string =>
  `event: close\ndata: ${Buffer.from(encodeMessage('json', { type: 'close', code, reason })).toString()}\n\n`;
