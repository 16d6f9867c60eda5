/** A subscription of a channel whose messages are whole documents. */
import type { Call } from '../api/endpoint.js';
import type { Account } from './account.js';
import type { Connection, Subscription } from './connection.js';
import { type DocumentRequest, DOCUMENT_FIELDS, type DocumentFeed } from './document-feed.js';
import { HEARTBEAT_MS } from './depth-subscription.js';
import { encodeMessage, joinMessage, type LiveFormat } from './protocol.js';

interface DocumentSubscriptionOptions {
  id: string;
  connection: Connection;
  account: Account;
  request: DocumentRequest;
  key: Call['key'];
  feed: DocumentFeed;
  nowS: () => number;
  onMessage: (type: string) => void;
  /** Ends the subscription with an error. */
  fail: (error: unknown) => void;
}

export class DocumentSubscription implements Subscription {
  readonly id: string;
  readonly channel: string;
  private sentMs = performance.now();
  private isEnded = false;
  /** The latest document, if it waits for the client to read. */
  private latest: ((format: LiveFormat) => Uint8Array) | null = null;
  private leave = (): void => undefined;

  constructor(private readonly options: DocumentSubscriptionOptions) {
    this.id = options.id;
    this.channel = options.request.channel;
  }

  /** Sends `subscribed` and the current document. @throws ApiError 400 */
  async begin(): Promise<void> {
    const { feed, request, key } = this.options;
    let isSubscribed = false;
    this.leave = await feed.follow(request, key, (encode) => {
      if (!isSubscribed) this.sendDocument('subscribed', { channel: this.channel });
      isSubscribed = true;
      this.latest = encode;
      void this.sendLatest();
    });
    if (this.isEnded) this.leave();
  }

  end(): void {
    this.isEnded = true;
    this.leave();
  }

  tick(nowMs: number): void {
    const { account, connection } = this.options;
    try {
      account.payHour(nowMs);
    } catch (error) {
      this.options.fail(error);
      return;
    }
    if (nowMs - this.sentMs >= HEARTBEAT_MS && connection.hasRoom) {
      this.sendDocument('heartbeat', { t: this.options.nowS() });
    }
  }

  announceClosing(retryMs: number): void {
    this.sendDocument('closing', { retry_ms: retryMs });
  }

  private async sendLatest(): Promise<void> {
    const { connection, nowS } = this.options;
    if (!connection.hasRoom) await connection.room();
    const encode = this.latest;
    this.latest = null;
    if (encode === null || this.isEnded) return;
    const { format } = connection;
    const head = { type: 'document', id: this.id };
    this.send(
      'document',
      joinMessage(format, head, encode(format), DOCUMENT_FIELDS, { t: nowS() }),
    );
  }

  private sendDocument(type: string, fields: object): void {
    this.send(
      type,
      encodeMessage(this.options.connection.format, { type, id: this.id, ...fields }),
    );
  }

  private send(type: string, message: Uint8Array): void {
    if (this.isEnded) return;
    this.sentMs = performance.now();
    this.options.onMessage(type);
    this.options.connection.send(message);
  }
}
