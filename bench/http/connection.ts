/**
 * A connection that sends requests and reads only the status and the length from the replies' heads: the generators share
 * the cores with the server that they measure, and an HTTP client would cost more.
 */
import net from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH = /\r\ncontent-length: (\d+)/i;
/** Position of the status within a status line. */
const STATUS_START = 9;
const STATUS_END = 12;

/** Called for each reply, in the order of the requests. */
type OnReply = (status: number, body: Buffer) => void;
/** Called if the connection ends or fails, or if a reply's length is unknown. */
type OnFailure = (error: Error) => void;

export class Connection {
  private received: Buffer = Buffer.alloc(0);
  private onReply: OnReply = () => undefined;

  private constructor(
    private readonly socket: net.Socket,
    onFailure: OnFailure,
  ) {
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      try {
        this.take(chunk);
      } catch (error) {
        onFailure(error as Error);
      }
    });
  }

  /** Connects to a port of this machine. @throws Error if nothing listens there */
  static open(port: number, onFailure: OnFailure): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = net.connect(port, '127.0.0.1');
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        socket.on('error', onFailure);
        socket.on('close', () => onFailure(new Error('the server closed a connection')));
        resolve(new Connection(socket, onFailure));
      });
    });
  }

  /**
   * Sends whole requests in one write, after all earlier ones are answered.
   * @param onReply called for each reply
   */
  ask(requests: string, onReply: OnReply): void {
    this.onReply = onReply;
    this.socket.write(requests);
  }

  /** Ends the connection without calling `onFailure`. */
  close(): void {
    this.socket.removeAllListeners('close').on('error', () => undefined);
    this.socket.destroy();
  }

  private take(chunk: Buffer): void {
    this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
    for (;;) {
      const headEnd = this.received.indexOf(HEAD_END);
      if (headEnd < 0) return;
      const head = this.received.toString('latin1', 0, headEnd);
      const length = LENGTH.exec(head)?.[1];
      if (length === undefined) throw new Error('a reply of unknown length');
      const end = headEnd + HEAD_END.length + Number(length);
      if (end > this.received.length) return;
      const body = this.received.subarray(headEnd + HEAD_END.length, end);
      this.received = this.received.subarray(end);
      this.onReply(Number(head.slice(STATUS_START, STATUS_END)), body);
    }
  }
}
