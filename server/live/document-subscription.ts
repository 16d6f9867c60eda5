/** A subscription of a channel whose messages are whole documents. */
import type { Call } from '../api/endpoint.js';
import type { Account } from './account.js';
import type { Connection, Subscription } from './connection.js';
import {
  type DocumentRequest,
  DOCUMENT_FIELDS,
  type DocumentFeed,
  type Following,
} from './document-feed.js';
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
  /** Whether the client has to read before it gets the document. */
  private isBehind = false;
  private following: Following | null = null;

  constructor(private readonly options: DocumentSubscriptionOptions) {
    this.id = options.id;
    this.channel = options.request.channel;
  }

  /** Sends `subscribed` and the current document. @throws ApiError 400 */
  async begin(): Promise<void> {
    const { feed, request, key } = this.options;
    let isSubscribed = false;
    this.following = await feed.follow(request, key, (encode) => {
      if (!isSubscribed) this.sendMessage('subscribed', { channel: this.channel });
      isSubscribed = true;
      if (this.options.connection.hasRoom) this.sendDocument(encode);
      else void this.catchUp();
    });
    if (this.isEnded) this.following.leave();
  }

  end(): void {
    this.isEnded = true;
    this.following?.leave();
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
      this.sendMessage('heartbeat', { t: this.options.nowS() });
    }
  }

  announceClosing(retryMs: number): void {
    this.sendMessage('closing', { retry_ms: retryMs });
  }

  /** Has the document made again once the client has read what waits for it. */
  private async catchUp(): Promise<void> {
    if (this.isBehind) return;
    this.isBehind = true;
    await this.options.connection.room();
    this.isBehind = false;
    this.following?.catchUp();
  }

  private sendDocument(encode: (format: LiveFormat) => Uint8Array): void {
    const { connection, nowS } = this.options;
    const { format } = connection;
    const head = { type: 'document', id: this.id };
    this.send(
      'document',
      joinMessage(format, head, encode(format), DOCUMENT_FIELDS, { t: nowS() }),
    );
  }

  private sendMessage(type: string, fields: object): void {
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
