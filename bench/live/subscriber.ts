/**
 * A connection of `GET /stream` that follows one token. It reads only the times of the snapshots in a frame: clients share
 * the cores with the server that they measure, and a WebSocket library would cost more.
 */
import { randomBytes } from 'node:crypto';
import net from 'node:net';

/** When a client received each snapshot, by the snapshot's time. */
type HeardMs = Map<number, number>;

/** Bins within 5% of the price, all markets as one. */
const VIEW = { group: 'all', min_pct: -5, max_pct: 5 };
const HEAD_END = '\r\n\r\n';
const FIN_TEXT = 0x81;
const PING = 0x89;
const PONG = 0x8a;
const CLOSE = 0x88;
const MASKED = 0x80;
/** Length values that state how many bytes the actual length has. */
const LENGTH_16 = 126;
const LENGTH_64 = 127;
const SNAPSHOTS = '{"type":"snapshots"';
const SUBSCRIBED = '{"type":"subscribed"';

export class Subscriber {
  readonly heardMs: HeardMs = new Map();
  private socket: net.Socket | null = null;
  private received: Buffer = Buffer.alloc(0);
  /** The last frame with data; its cursor continues the subscription. */
  private lastFrame: Buffer | null = null;
  private closeCode: number | null = null;

  constructor(
    private readonly port: number,
    private readonly key: string,
    readonly address: string,
  ) {}

  /** Connects and subscribes; when reconnecting, with the cursor of the last message. @throws Error */
  connect(): Promise<void> {
    const { cursor } = JSON.parse(this.lastFrame?.toString() ?? '{}') as { cursor?: string };
    this.received = Buffer.alloc(0);
    return new Promise((resolve, reject) => {
      const socket = net.connect(this.port, '127.0.0.1').setNoDelay(true);
      this.socket = socket;
      socket.on('error', reject);
      socket.on('close', () => reject(new Error(`closed with code ${this.closeCode ?? 'none'}`)));
      socket.once('connect', () => socket.write(this.upgrade()));
      let isOpen = false;
      socket.on('data', (chunk) => {
        this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
        if (!isOpen) {
          const end = this.received.indexOf(HEAD_END);
          if (end < 0) return;
          const head = this.received.toString('latin1', 0, end);
          if (!head.startsWith('HTTP/1.1 101')) {
            reject(new Error(head));
            return;
          }
          this.received = this.received.subarray(end + HEAD_END.length);
          isOpen = true;
          const subscription = {
            op: 'subscribe',
            id: 'a',
            channel: 'depth',
            address: this.address,
          };
          socket.write(clientFrame(FIN_TEXT, JSON.stringify({ ...subscription, ...VIEW, cursor })));
        }
        this.takeFrames(resolve);
      });
    });
  }

  /** Stops reading. */
  stall(): void {
    this.socket?.pause();
  }

  close(): void {
    this.socket?.removeAllListeners('close').destroy();
  }

  private upgrade(): string {
    const head = ['GET /api/v1/stream HTTP/1.1', 'host: bench', 'upgrade: websocket'];
    head.push('connection: upgrade', 'sec-websocket-version: 13', `x-api-key: ${this.key}`);
    head.push(`sec-websocket-key: ${randomBytes(16).toString('base64')}`);
    return head.join('\r\n') + HEAD_END;
  }

  private takeFrames(onSubscribed: () => void): void {
    const atMs = performance.now();
    for (;;) {
      const bounds = frameBounds(this.received);
      if (bounds === null) return;
      const payload = this.received.subarray(bounds.start, bounds.end);
      const kind = this.received[0];
      this.received = this.received.subarray(bounds.end);
      if (kind === PING) this.socket?.write(clientFrame(PONG, payload.toString()));
      if (kind === CLOSE) this.closeCode = payload.readUInt16BE();
      if (kind !== FIN_TEXT) continue;
      this.lastFrame = payload;
      const type = payload.toString('latin1', 0, SUBSCRIBED.length);
      if (type === SUBSCRIBED) onSubscribed();
      if (type.startsWith(SNAPSHOTS)) noteTimes(payload, atMs, this.heardMs);
    }
  }
}

/** Where the payload of the first frame is; null if the frame is incomplete. */
function frameBounds(received: Buffer): { start: number; end: number } | null {
  if (received.length < 2) return null;
  const short = received[1];
  const start = short === LENGTH_16 ? 4 : short === LENGTH_64 ? 10 : 2;
  if (received.length < start) return null;
  const length =
    short === LENGTH_16
      ? received.readUInt16BE(2)
      : short === LENGTH_64
        ? Number(received.readBigUInt64BE(2))
        : short;
  return received.length < start + length ? null : { start, end: start + length };
}

/** A frame with a mask of zeros, which changes nothing. */
function clientFrame(kind: number, text: string): Buffer {
  const payload = Buffer.from(text);
  const isShort = payload.length < LENGTH_16;
  const head = Buffer.alloc((isShort ? 2 : 4) + 4);
  head[0] = kind;
  head[1] = MASKED | (isShort ? payload.length : LENGTH_16);
  if (!isShort) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}

/** Records each time `"t":N` of a JSON text that has no other field `t`. */
function noteTimes(json: Buffer, atMs: number, heardMs: HeardMs): void {
  const name = '"t":';
  for (let at = json.indexOf(name); at >= 0; at = json.indexOf(name, at + 1)) {
    heardMs.set(
      Number.parseInt(json.toString('latin1', at + name.length, at + name.length + 12)),
      atMs,
    );
  }
}
