/** A connection that asks one request at a time and reads replies of known length: nothing more. */
import type net from 'node:net';
import { connectTo, disconnect } from './socket.js';

const HEAD_END = Buffer.from('\r\n\r\n');

/** A client as light as possible: the generator shares the cores with what it measures. */
export class Connection {
  private received: Buffer[] = [];
  private bytes = 0;
  /** Bytes of the reply that is awaited; null until its head is there. */
  private expected: number | null = null;
  private status = 0;
  private done: ((status: number) => void) | null = null;

  private constructor(private readonly socket: net.Socket) {
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.take(chunk));
  }

  /** @param onFailure told once where the connection ends or fails */
  static open(port: number, onFailure: (error: Error) => void): Promise<Connection> {
    return connectTo(port, onFailure).then((socket) => new Connection(socket));
  }

  /** Sends a whole request; `done` is called with the reply's status once all of it is there. */
  ask(request: string, done: (status: number) => void): void {
    this.done = done;
    this.socket.write(request);
  }

  close(): void {
    disconnect(this.socket);
  }

  private take(chunk: Buffer): void {
    this.received.push(chunk);
    this.bytes += chunk.length;
    if (this.expected === null) this.readHead();
    if (this.expected === null || this.bytes < this.expected) return;
    const { done, status } = this;
    this.received = [];
    this.bytes = 0;
    this.expected = null;
    this.done = null;
    done?.(status);
  }

  private readHead(): void {
    const all = this.received.length === 1 ? this.received[0] : Buffer.concat(this.received);
    this.received = [all];
    const end = all.indexOf(HEAD_END);
    if (end < 0) return;
    const head = all.toString('latin1', 0, end);
    this.status = Number(head.slice(9, 12));
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    this.expected = end + HEAD_END.length + Number(length ?? 0);
  }
}
