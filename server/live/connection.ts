/** One live connection, over a WebSocket or Server-Sent Events: its key, its subscriptions, and what waits for it. */
import type { KeyRecord } from '../../storage/contract.js';
import type { LiveFormat } from './protocol.js';

/** No further message is sent while more than this waits for the client: with one of 0.75 MiB that makes 1 MiB. */
const MAX_WAITING_BYTES = 256 * 1024;

/** Sends to one client. */
export interface Wire {
  readonly format: LiveFormat;
  readonly waitingBytes: number;
  /** @param cursor of the message; null: it has none */
  send(message: Uint8Array, cursor: string | null): void;
  /** How often keepAlive() is due. */
  readonly keepAliveS: number;
  /** Shows the client that the connection works, and finds out whether the client is still there. */
  keepAlive(): void;
  close(code: number, reason: string): void;
}

export interface Subscription {
  readonly id: string;
  readonly channel: string;
  /** Ends it; nothing more is sent. */
  end(): void;
  /** Sends a heartbeat and pays for another hour when these are due. */
  tick(nowMs: number): void;
  /** Sends the last message before the server stops. */
  announceClosing(retryMs: number): void;
}

export class LiveConnection {
  readonly subscriptions = new Map<string, Subscription>();
  /** The client's messages since the last tick. */
  messages = 0;
  /** Null until the client has sent a key. */
  key: { text: string; record: KeyRecord } | null = null;
  private waiters: (() => void)[] = [];
  private open = true;

  constructor(private readonly wire: Wire) {}

  /** Whether its key has expired, or was rotated so that its text is no longer valid. */
  mayHaveLostKey(nowS: number): boolean {
    const { expiresAtS = null, earlierUntilS = null } = this.key?.record ?? {};
    return [expiresAtS, earlierUntilS].some((endS) => endS !== null && nowS >= endS);
  }

  get format(): LiveFormat {
    return this.wire.format;
  }

  get waitingBytes(): number {
    return this.wire.waitingBytes;
  }

  /** Whether the client reads fast enough to receive more. */
  get hasRoom(): boolean {
    return this.wire.waitingBytes <= MAX_WAITING_BYTES;
  }

  send(message: Uint8Array, cursor: string | null = null): void {
    if (this.open) this.wire.send(message, cursor);
  }

  /** @param ticks one a second */
  keepAlive(ticks: number): void {
    if (this.open && ticks % this.wire.keepAliveS === 0) this.wire.keepAlive();
  }

  /** Resolves once the client has read what waited, or has gone. */
  room(): Promise<void> {
    if (!this.open || this.hasRoom) return Promise.resolve();
    return new Promise((resolve) => this.waiters.push(resolve));
  }

  /** Call when the kernel has taken what waited. */
  onRoom(): void {
    for (const resolve of this.waiters.splice(0)) resolve();
  }

  end(id: string): boolean {
    const subscription = this.subscriptions.get(id);
    subscription?.end();
    return this.subscriptions.delete(id);
  }

  close(code: number, reason: string): void {
    if (this.open) this.wire.close(code, reason);
    this.closed();
  }

  /** Call when the connection has ended. */
  closed(): void {
    this.open = false;
    for (const subscription of this.subscriptions.values()) subscription.end();
    this.subscriptions.clear();
    this.onRoom();
  }
}
