/** What subscriptions of every channel have in common: heartbeats, hourly payments, and how messages are sent. */
import type { Account } from './account.js';
import type { LiveConnection, Subscription } from './connection.js';

/** A subscription without a message for this long gets a heartbeat. */
const HEARTBEAT_MS = 5_000;

export interface SubscriptionOptions {
  id: string;
  connection: LiveConnection;
  account: Account;
  nowS: () => number;
  /** Called for each message sent. @param lagMs time since its commit; null: no commit caused it */
  onMessage: (type: string, lagMs: number | null) => void;
}

export abstract class PaidSubscription<O extends SubscriptionOptions> implements Subscription {
  abstract readonly channel: string;
  readonly id: string;
  protected isEnded = false;
  /** Ends what the subscription waits for: it must not be kept until that comes. */
  protected stopWaiting = (): void => undefined;
  private sentMs = performance.now();

  constructor(protected readonly options: O) {
    this.id = options.id;
  }

  end(): void {
    this.isEnded = true;
    this.stopWaiting();
  }

  tick(nowMs: number): void {
    const { account, connection, nowS } = this.options;
    try {
      account.payHour(nowMs);
    } catch (error) {
      this.fail(error);
      return;
    }
    if (nowMs - this.sentMs < HEARTBEAT_MS || !connection.isReading) return;
    this.sendFields('heartbeat', { t: nowS() });
  }

  announceClosing(retryMs: number): void {
    this.sendFields('closing', { retry_ms: retryMs });
  }

  protected send(
    type: string,
    message: Uint8Array,
    cursor: string | null = null,
    committedMs: number | null = null,
  ): void {
    if (this.isEnded) return;
    this.sentMs = performance.now();
    this.options.onMessage(type, committedMs === null ? null : this.sentMs - committedMs);
    this.options.connection.send(message, cursor);
  }

  protected abstract sendFields(type: string, fields: object): void;

  /** Ends the subscription with an error. */
  protected abstract fail(error: unknown): void;
}
