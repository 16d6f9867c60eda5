/** A connection of `GET /stream/:address`. It reads only the times of the snapshots in an event. */
import net from 'node:net';
import type { LiveClient } from './client.js';
import { type HeardMs, noteTimes } from './times.js';
import { VIEW } from './view.js';

const EVENT_END = '\n\n';
const ID = 'id: ';
const SNAPSHOTS = 'data: {"type":"snapshots"';
const SUBSCRIBED = 'data: {"type":"subscribed"';
const HEARTBEAT = 'data: {"type":"heartbeat"';

export class EventSubscriber implements LiveClient {
  readonly heardMs: HeardMs = new Map();
  heartbeats = 0;
  private socket: net.Socket | null = null;
  private received: Buffer = Buffer.alloc(0);
  /** The last event with an id, from which the subscription continues. */
  private lastEvent: Buffer | null = null;

  constructor(
    private readonly port: number,
    private readonly key: string,
    readonly address: string,
  ) {}

  connect(): Promise<void> {
    this.received = Buffer.alloc(0);
    return new Promise((resolve, reject) => {
      const socket = net.connect(this.port, '127.0.0.1').setNoDelay(true);
      this.socket = socket;
      socket.on('error', reject);
      socket.on('close', () => reject(new Error(`closed after ${this.received.toString()}`)));
      socket.once('connect', () => socket.write(this.request()));
      socket.on('data', (chunk) => {
        this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
        this.takeEvents(resolve);
      });
    });
  }

  stall(): void {
    this.socket?.pause();
  }

  close(): void {
    this.socket?.removeAllListeners('close').destroy();
  }

  private request(): string {
    const query = Object.entries(VIEW).map(([name, value]) => `${name}=${value}`);
    const head = [`GET /api/v1/stream/${this.address}?${query.join('&')} HTTP/1.1`, 'host: bench'];
    head.push('accept: text/event-stream', `x-api-key: ${this.key}`);
    const id = /^id: (\S+)$/m.exec(this.lastEvent?.toString('latin1') ?? '')?.[1];
    if (id !== undefined) head.push(`last-event-id: ${id}`);
    return `${head.join('\r\n')}\r\n\r\n`;
  }

  /** Before each event there is the reply's head, or the frame of a chunk. */
  private takeEvents(onSubscribed: () => void): void {
    const atMs = performance.now();
    for (;;) {
      const end = this.received.indexOf(EVENT_END);
      if (end < 0) return;
      const event = this.received.subarray(0, end);
      this.received = this.received.subarray(end + EVENT_END.length);
      const start = event.indexOf(ID);
      if (start < 0) continue;
      this.lastEvent = event;
      const at = event.indexOf('\n', start) + 1;
      const type = event.toString('latin1', at, at + SUBSCRIBED.length);
      if (type.startsWith(SUBSCRIBED)) onSubscribed();
      if (type.startsWith(HEARTBEAT)) this.heartbeats++;
      if (type.startsWith(SNAPSHOTS)) noteTimes(event, atMs, this.heardMs);
    }
  }
}
