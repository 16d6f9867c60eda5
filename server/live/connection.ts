/** One live connection, over a WebSocket or Server-Sent Events: its key, its subscriptions, and what waits for it. */
import { runningMs } from '../../compute/running-time.js';
import type { KeyRecord } from '../../storage/contract.js';
import type { LiveFormat } from './protocol.js';
import type { Reader, UnreadBytes } from './unread.js';

/** No further message is sent while more than this waits for the client: with one of 0.75 MiB that makes 1 MiB. */
const MAX_WAITING_BYTES = 256 * 1024;

/** Unread replies to a client's own messages; while a bound of all or of its key is reached. */
const MAX_UNREAD_REPLY_BYTES = 1024 * 1024;
const MAX_CROWDED_REPLY_BYTES = 16 * 1024;

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
  /** Ends the connection without waiting for the client. */
  cut(): void;
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

export class LiveConnection implements Reader {
  readonly subscriptions = new Map<string, Subscription>();
  /** The client's messages since the last tick. */
  messages = 0;
  /** Null until the client has sent a key. */
  key: { text: string; record: KeyRecord } | null = null;
  private readonly waiters = new Set<() => void>();
  private open = true;
  private countedBytes = 0;
  /** Of replies to the client's messages and pings since it last took any of what waits. */
  unreadReplyBytes = 0;
  /** runningMs() when the client last took some of what waited, or nothing waited. */
  private takenMs = runningMs();

  constructor(
    private readonly wire: Wire,
    private readonly unread: UnreadBytes,
  ) {}

  get keyId(): string | null {
    return this.key?.record.id ?? null;
  }

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
  get isReading(): boolean {
    return this.wire.waitingBytes <= MAX_WAITING_BYTES;
  }

  /** Whether it may be sent more: its client reads, and so do the others. */
  get hasRoom(): boolean {
    return this.isReading && !this.unread.isFull(this.keyId);
  }

  get stalledMs(): number {
    return this.waitingBytes === 0 ? 0 : runningMs() - this.takenMs;
  }

  send(message: Uint8Array, cursor: string | null = null): void {
    if (!this.open) return;
    if (this.wire.waitingBytes === 0) this.takenMs = runningMs();
    this.wire.send(message, cursor);
    this.count();
  }

  /** @param ticks one a second */
  keepAlive(ticks: number): void {
    if (this.open && ticks % this.wire.keepAliveS === 0) this.wire.keepAlive();
    this.count();
  }

  /** Sends an answer to a message of the client. */
  reply(message: Uint8Array): void {
    this.queued(() => this.send(message));
  }

  /** Call when the engine may have queued a reply to a ping. */
  onControlFrame(): void {
    this.queued(() => this.count());
  }

  /** Whether so many replies wait that no further message is answered. */
  get ignoresReplies(): boolean {
    return (
      this.waitingBytes > MAX_UNREAD_REPLY_BYTES ||
      (this.unreadReplyBytes > MAX_CROWDED_REPLY_BYTES && this.unread.isFull(this.keyId))
    );
  }

  private queued(work: () => void): void {
    const before = this.countedBytes;
    work();
    this.unreadReplyBytes += Math.max(0, this.countedBytes - before);
  }

  /** Counts what waits. */
  count(): void {
    if (!this.open) return;
    const before = this.countedBytes;
    this.countedBytes = this.waitingBytes;
    // Node's engine reports only when nothing waits any more, or a long piece was taken.
    if (this.countedBytes < before) this.takenMs = runningMs();
    this.unread.count(this, this.countedBytes);
  }

  /** Resolves once it has room, the client has gone, or `stop` is called. */
  async room(onStop: (stop: () => void) => void): Promise<void> {
    let isStopped = false;
    while (this.open && !this.hasRoom && !isStopped) {
      if (this.isReading) this.unread.block(this);
      await new Promise<void>((resolve) => {
        this.waiters.add(resolve);
        onStop(() => {
          isStopped = true;
          this.waiters.delete(resolve);
          resolve();
        });
      });
    }
  }

  /** Call when the kernel has taken some of what waited. */
  onTaken(): void {
    this.takenMs = runningMs();
    this.unreadReplyBytes = 0;
    this.count();
    if (this.waitingBytes === 0) this.wake();
  }

  wake(): void {
    for (const resolve of this.waiters) resolve();
    this.waiters.clear();
  }

  cut(): void {
    if (this.open) this.wire.cut();
    this.closed();
  }

  /**
   * Ends a subscription.
   * @param only ends none but this one: its id may belong to another by now
   * @returns whether there was one
   */
  end(id: string, only?: Subscription): boolean {
    const subscription = this.subscriptions.get(id);
    if (subscription === undefined || (only ?? subscription) !== subscription) return false;
    subscription.end();
    return this.subscriptions.delete(id);
  }

  close(code: number, reason: string): void {
    if (this.open) this.wire.close(code, reason);
    this.closed();
  }

  /** Call when the connection has ended. */
  closed(): void {
    this.open = false;
    this.unread.forget(this);
    for (const subscription of this.subscriptions.values()) subscription.end();
    this.subscriptions.clear();
    this.wake();
  }
}
