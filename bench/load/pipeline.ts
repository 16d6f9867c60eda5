/** A connection that has several requests under way and counts replies of known length. */
import type net from 'node:net';
import { connectTo, disconnect } from './socket.js';

const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH = /\r\ncontent-length: (\d+)/i;
/** Where a status line has the status. */
const STATUS_START = 9;
const STATUS_END = 12;

/** Told of each reply in the order of the requests. */
type OnReply = (status: number) => void;
/** Told where the connection ends, fails or brings something else than replies of known length. */
type OnFailure = (error: Error) => void;

export class Pipeline {
  private received: Buffer = Buffer.alloc(0);
  private readonly socket: net.Socket;

  private constructor(socket: net.Socket, onReply: OnReply, onFailure: OnFailure) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      try {
        this.take(chunk, onReply);
      } catch (error) {
        onFailure(error as Error);
      }
    });
  }

  /** @param onFailure told where the connection ends or fails */
  static open(
    port: number,
    onReply: OnReply,
    onFailure: (error: Error) => void,
  ): Promise<Pipeline> {
    return connectTo(port, onFailure).then((socket) => new Pipeline(socket, onReply, onFailure));
  }

  /** Sends whole requests, in one piece. */
  ask(requests: string): void {
    this.socket.write(requests);
  }

  close(): void {
    disconnect(this.socket);
  }

  private take(chunk: Buffer, onReply: OnReply): void {
    const all = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
    let from = 0;
    for (;;) {
      const headEnd = all.indexOf(HEAD_END, from);
      if (headEnd < 0) break;
      const head = all.toString('latin1', from, headEnd);
      const length = LENGTH.exec(head)?.[1];
      if (length === undefined) throw new Error('a reply of unknown length');
      const end = headEnd + HEAD_END.length + Number(length);
      if (end > all.length) break;
      from = end;
      onReply(Number(head.slice(STATUS_START, STATUS_END)));
    }
    this.received = all.subarray(from);
  }
}
