/** A subscription of a channel whose messages are whole documents. */
import type { Call } from '../api/endpoint.js';
import {
  type DocumentRequest,
  DOCUMENT_FIELDS,
  type DocumentFeed,
  type Following,
} from './document-feed.js';
import { encodeMessage, joinMessage, type LiveFormat } from './protocol.js';
import { PaidSubscription, type SubscriptionOptions } from './subscription.js';

interface DocumentSubscriptionOptions extends SubscriptionOptions {
  request: DocumentRequest;
  key: Call['key'];
  feed: DocumentFeed;
  /** Ends the subscription with an error. */
  fail: (error: unknown) => void;
}

export class DocumentSubscription extends PaidSubscription<DocumentSubscriptionOptions> {
  readonly channel: string;
  /** Whether the client has to read before it gets the document. */
  private isBehind = false;
  private following: Following | null = null;

  constructor(options: DocumentSubscriptionOptions) {
    super(options);
    this.channel = options.request.channel;
  }

  /** Sends `subscribed` and the current document. @throws ApiError 400 */
  async begin(): Promise<void> {
    const { feed, request, key } = this.options;
    let isSubscribed = false;
    this.following = await feed.follow(request, key, (encode) => {
      if (!isSubscribed) this.sendFields('subscribed', { channel: this.channel });
      isSubscribed = true;
      if (this.options.connection.hasRoom) this.sendDocument(encode);
      else void this.catchUp();
    });
    if (this.isEnded) this.following.leave();
  }

  override end(): void {
    super.end();
    this.following?.leave();
  }

  /** Has the document made again once the client has read what waits for it. */
  private async catchUp(): Promise<void> {
    if (this.isBehind) return;
    this.isBehind = true;
    await this.options.connection.room((stop) => (this.stopWaiting = stop));
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

  protected override sendFields(type: string, fields: object): void {
    this.send(
      type,
      encodeMessage(this.options.connection.format, { type, id: this.id, ...fields }),
    );
  }

  protected override fail(error: unknown): void {
    this.options.fail(error);
  }
}
