/** Live: clients' messages, and the subscriptions that they begin. */
import { hash } from 'node:crypto';
import { recordOf } from '../../compute/collections.js';
import type { ComputePool } from '../../compute/pool.js';
import type { ReplayQuery } from '../../compute/replay/query.js';
import type {
  DepthSource,
  FollowedDepth,
  KeyRecord,
  KeySource,
  StoreChange,
} from '../../storage/contract.js';
import type { LimitedEndpoint } from '../api/endpoint.js';
import { invalidParameter } from '../api/errors.js';
import { parameterReader, type ReadingOptions } from '../api/parameters.js';
import type { Clock } from '../clock.js';
import { ApiError } from '../http/errors.js';
import type { Limiter } from '../limits/limiter.js';
import type { Logger } from '../logger.js';
import { DEFAULT_SHARES } from '../memory.js';
import { viewOf } from '../replay/parameters.js';
import type { SegmentBlocks } from '../replay/segment-blocks.js';
import { Account, STREAM } from './account.js';
import type { LiveConnection, Subscription } from './connection.js';
import { LiveConnections } from './connections.js';
import { DepthFeed } from './depth-feed.js';
import { DepthSubscription } from './depth-subscription.js';
import { DocumentFeed, type DocumentHandlers } from './document-feed.js';
import { DocumentSubscription } from './document-subscription.js';
import { beginningOf, getStream } from './parameters.js';
import {
  CHANNELS,
  CLOSE_CODES,
  encodeError,
  encodeMessage,
  idIn,
  readRequest,
  type Request,
} from './protocol.js';
import { Rooms } from './rooms.js';
import { liveLimits, UnreadBytes } from './unread.js';

const MAX_SUBSCRIPTIONS = 100;
const TICK_MS = 1_000;
/** When clients of a stopped server should reconnect; a random time for each spreads them. */
const RETRY_MS = { least: 1_000, most: 5_000 } as const;

interface HubOptions {
  depth: DepthSource & FollowedDepth;
  blocks: SegmentBlocks;
  pool: ComputePool;
  clock: Clock;
  logger: Logger;
  keys: KeySource;
  limiter: Pick<Limiter, 'check' | 'maxConnections'>;
  handlers: DocumentHandlers;
  reading: ReadingOptions;
  /** Called for each message sent. @param lagMs time since its commit; null: no commit caused it */
  onMessage: (type: string, lagMs: number | null) => void;
  /** Memory for messages. */
  messageBytes?: number;
}

export class LiveHub {
  readonly connections: LiveConnections;
  private readonly depthFeed: DepthFeed;
  private readonly rooms: Rooms;
  private readonly documents: DocumentFeed;
  private readonly readStream: ReturnType<typeof parameterReader<typeof getStream>>;
  private readonly readChannel: ReturnType<typeof parameterReader<typeof getStream>>;
  private readonly timer = setInterval(() => void this.tick(), TICK_MS).unref();
  private isTicking = false;

  constructor(private readonly options: HubOptions) {
    const { handlers, reading, logger, clock, messageBytes = DEFAULT_SHARES.live } = options;
    const limits = liveLimits(messageBytes);
    const unread = new UnreadBytes(limits);
    this.connections = new LiveConnections({ ...options, unread });
    this.depthFeed = new DepthFeed({
      ...options,
      maxKeptBytes: limits.maxKeptBytes,
      maxNameBytes: limits.maxBytesInFlightPerKey,
    });
    this.rooms = new Rooms(this.depthFeed, () => clock.nowS());
    this.documents = new DocumentFeed(handlers, reading, (error) =>
      logger.error('a live document failed', {}, error),
    );
    this.readStream = parameterReader(getStream, reading);
    this.readChannel = parameterReader(getStream, { ...reading, channel: 'depth' });
  }

  get size(): number {
    return this.connections.size;
  }

  subscriptions(): Record<string, number> {
    const counts: Record<string, number> = recordOf(CHANNELS, () => 0);
    for (const connection of this.connections) {
      for (const { channel } of connection.subscriptions.values()) counts[channel]++;
    }
    return counts;
  }

  /** Bytes that wait for clients to read. */
  get waitingBytes(): number {
    let bytes = 0;
    for (const connection of this.connections) bytes += connection.waitingBytes;
    return bytes;
  }

  touch(change: StoreChange): void {
    this.depthFeed.touch();
    for (const tokenId of change.tokenIds) {
      this.rooms.touch(tokenId, this.depthFeed.committedMs);
    }
  }

  /** Call when tokens, boards or orders in memory have changed. */
  touchDocuments(): void {
    this.documents.touch();
  }

  /** A client's message. */
  receive(connection: LiveConnection, message: Uint8Array, isText: boolean): void {
    if (!this.connections.has(connection)) return;
    if (this.endIfExceeded(connection, message.byteLength) || this.endIfDeaf(connection)) return;
    let id: string | null = null;
    try {
      const request = readRequest(message, isText);
      id = 'id' in request ? request.id : null;
      void this.handle(connection, request).catch((error: unknown) =>
        this.refuse(connection, id, error),
      );
    } catch (error) {
      this.refuse(connection, id ?? idIn(message, isText), error);
    }
  }

  /** A client's ping, to which the engine has queued a reply, or its pong. */
  onControlFrame(connection: LiveConnection): void {
    if (!this.connections.has(connection) || this.endIfExceeded(connection, 0)) return;
    connection.onControlFrame();
    this.endIfDeaf(connection);
  }

  private endIfExceeded(connection: LiveConnection, bytes: number): boolean {
    const most = this.connections.exceeded(connection, bytes);
    if (most === null) return false;
    this.connections.end(connection, CLOSE_CODES.policy, `expected at most ${most}`);
    return true;
  }

  private endIfDeaf(connection: LiveConnection): boolean {
    const { ignoresReplies } = connection;
    if (ignoresReplies)
      this.connections.end(connection, CLOSE_CODES.policy, 'expected replies to be read');
    return ignoresReplies;
  }

  /**
   * Begins a subscription of channel `depth`.
   * @param isOnly whether the connection has only this subscription: both end together, and the request is already paid
   * @throws ApiError 400, 403, 429
   */
  async followDepth(
    connection: LiveConnection,
    id: string,
    address: string,
    query: string,
    isOnly = false,
  ): Promise<void> {
    const { depth, clock, logger } = this.options;
    const read = isOnly ? this.readStream : this.readChannel;
    const { token, query: parameters } = read({ query }, address, null);
    const beginning = beginningOf(parameters, clock.nowS());
    const view = viewOf(parameters);
    const account = this.accountOf(connection, STREAM);
    if (!isOnly) account.pay();
    const subscription = new DepthSubscription({
      id,
      connection,
      token,
      account,
      beginning,
      depth,
      feed: this.depthFeed,
      rooms: this.rooms,
      view: { query: view, name: nameOf(view), format: connection.format },
      nowS: () => clock.nowS(),
      onMessage: this.options.onMessage,
      onError: (error) => logger.error('a live subscription failed', {}, error),
      onFailed: () => {
        if (isOnly)
          this.connections.end(connection, CLOSE_CODES.ended, 'the subscription has ended');
      },
    });
    await this.begin(connection, subscription);
  }

  /** Sends every client its cursor and when to reconnect, and ends all connections. */
  close(): void {
    clearInterval(this.timer);
    this.connections.close(({ subscriptions }) => {
      const retryMs = Math.round(RETRY_MS.least + Math.random() * (RETRY_MS.most - RETRY_MS.least));
      for (const subscription of subscriptions.values()) subscription.announceClosing(retryMs);
      return `the server is stopping: reconnect in ${retryMs} ms`;
    });
  }

  private async handle(connection: LiveConnection, request: Request): Promise<void> {
    if (request.op === 'ping') {
      this.send(connection, 'pong', encodeMessage(connection.format, { type: 'pong' }));
      return;
    }
    if (request.op === 'auth') {
      if (connection.key !== null) {
        throw invalidParameter('op', 'expected no auth; the connection already has a key');
      }
      this.connections.admit(connection, request.key, 'the one in the message');
      return;
    }
    if (connection.key === null) {
      this.connections.end(connection, CLOSE_CODES.key, 'expected {"op":"auth","key":"..."} first');
      return;
    }
    const { id } = request;
    if (request.op === 'unsubscribe') {
      if (!connection.end(id)) throw invalidParameter('id', 'expected the id of a subscription');
      const answer = { type: 'unsubscribed', id };
      this.send(connection, answer.type, encodeMessage(connection.format, answer));
      return;
    }
    if (connection.subscriptions.has(id)) {
      throw invalidParameter('id', 'expected one that no subscription of the connection has');
    }
    if (connection.subscriptions.size >= MAX_SUBSCRIPTIONS) {
      // Waiting does not help.
      const most = `A connection has at most ${MAX_SUBSCRIPTIONS} subscriptions`;
      throw new ApiError(429, null, `${most}: unsubscribe from one first`);
    }
    const { channel, address, query } = request;
    const isOfToken = channel === 'depth' || channel === 'score';
    if (isOfToken !== (address !== null)) {
      const expected = isOfToken ? 'an address, was not sent' : `none for channel ${channel}`;
      throw invalidParameter('address', `expected ${expected}`);
    }
    if (channel === 'depth') await this.followDepth(connection, id, address ?? '', query);
    else await this.followDocument(connection, id, { channel, address, query });
  }

  private async followDocument(
    connection: LiveConnection,
    id: string,
    request: ConstructorParameters<typeof DocumentSubscription>[0]['request'],
  ): Promise<void> {
    const { key } = connection;
    if (key === null) return;
    const endpoint = this.documents.endpointOf(request.channel);
    const account = this.accountOf(connection, { ...endpoint, quotaCost: 1 });
    const call = account.hold();
    const subscription = new DocumentSubscription({
      id,
      connection,
      account,
      request,
      key: key.record,
      feed: this.documents,
      nowS: () => this.options.clock.nowS(),
      onMessage: this.options.onMessage,
      fail: (error) => {
        if (connection.end(id, subscription)) this.refuse(connection, id, error);
      },
    });
    try {
      await this.begin(connection, subscription);
      call.settle(200);
    } catch (error) {
      call.settle(error instanceof ApiError ? error.status : 500);
      throw error;
    }
  }

  private async begin(
    connection: LiveConnection,
    subscription: Subscription & { begin(): Promise<void> },
  ): Promise<void> {
    connection.subscriptions.set(subscription.id, subscription);
    try {
      await subscription.begin();
    } catch (error) {
      const isCurrent = connection.end(subscription.id, subscription);
      // The client has ended it already, and wants no word of it.
      if (isCurrent || !(error instanceof ApiError)) throw error;
    }
  }

  private accountOf(connection: LiveConnection, endpoint: LimitedEndpoint): Account {
    const key = () => (connection.key as { record: KeyRecord }).record;
    return new Account(this.options.limiter.check, key, endpoint);
  }

  private refuse(connection: LiveConnection, id: string | null, error: unknown): void {
    if (!(error instanceof ApiError)) this.options.logger.error('a live message failed', {}, error);
    const failure =
      error instanceof ApiError ? error : new ApiError(500, 'internal_error', 'Internal error');
    this.send(connection, 'error', encodeError(connection.format, id, failure));
  }

  /** Sends a message that belongs to no subscription. */
  private send(connection: LiveConnection, type: string, message: Uint8Array): void {
    this.options.onMessage(type, null);
    connection.reply(message);
  }

  private async tick(): Promise<void> {
    if (this.isTicking) return;
    this.isTicking = true;
    this.documents.poll();
    await this.connections.tick((connection) => {
      connection.messages = 0;
      const nowMs = performance.now();
      for (const subscription of [...connection.subscriptions.values()]) subscription.tick(nowMs);
    });
    this.isTicking = false;
  }
}

/** Equal for views that get the same messages, which do not repeat the request. */
function nameOf({ group, band, ...filter }: ReplayQuery): string {
  const { types, excludeTypes, venues, excludeVenues } = filter;
  const lists = [types, excludeTypes, venues, excludeVenues].map(
    (list) => list && [...list].sort(),
  );
  return hash('sha256', JSON.stringify([group, band.first, band.last, lists]), 'base64url');
}
