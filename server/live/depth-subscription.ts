/** A subscription of channel `depth`: history, revisions and new snapshots of one token, in order. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDamage } from '../../compute/damage.js';
import { ArchiveUnavailableError } from '../../storage/archive/objects.js';
import type { DepthSource, TokenName, TokenRecord } from '../../storage/contract.js';
import { isoOf } from '../../compute/time.js';
import { invalidParameter } from '../api/errors.js';
import { missingVenues, sourceOf } from '../depth/shown-token.js';
import { ApiError, archiveUnavailable, replayBusy } from '../http/errors.js';
import { learnMarkets } from '../replay/page-plan.js';
import { Cursors, type Progress } from './cursor.js';
import type { DepthFeed, Update, View } from './depth-feed.js';
import { PageMeter } from './account.js';
import { type Beginning, clampedTime, isInReach } from './parameters.js';
import { encodeError, encodeMessage, joinMessage, PAGE_FIELDS } from './protocol.js';
import type { Follower, Message, Rooms } from './rooms.js';
import { PaidSubscription, type SubscriptionOptions } from './subscription.js';

/** Why a subscription is reset. */
const FORGOTTEN = 'the server does not remember what was revised and deleted since the cursor';

interface DepthSubscriptionOptions extends SubscriptionOptions {
  token: TokenName;
  view: View;
  beginning: Beginning;
  feed: DepthFeed;
  rooms: Rooms;
  depth: DepthSource & { readonly commitHistory: string; remembers(position: number): boolean };
  /** Called for failures that the client did not cause. */
  onError: (error: unknown) => void;
  /** Called once the error that ends the subscription has been sent. */
  onFailed: () => void;
}

export class DepthSubscription
  extends PaidSubscription<DepthSubscriptionOptions>
  implements Follower
{
  readonly channel = 'depth';
  private source: TokenRecord | null = null;
  /** Whether the client asked for older history than is served. */
  private isClamped = false;
  private cursors: Cursors;
  progress: Progress = { history: '', position: 0, nextFromS: 0, fromS: 0, pending: null };
  messageName = '';
  isLive = false;
  /** performance.now() from which the key may pay again. */
  private payableMs = 0;
  private readonly meter: PageMeter;

  constructor(options: DepthSubscriptionOptions) {
    super(options);
    this.meter = new PageMeter(options.account);
    this.cursors = this.findToken();
  }

  /**
   * Sends `subscribed`, then history and changes.
   * @throws ApiError 400 for a cursor that is not the token's
   */
  async begin(): Promise<void> {
    const { beginning, token, view, depth } = this.options;
    const reset = await this.startFrom(beginning);
    this.messageName = `${this.progress.fromS} ${this.id}`;
    const { source } = this;
    const { chain, address } = source ?? token;
    const markets = source === null ? [] : depth.markets(source.tokenId);
    await learnMarkets(markets);
    this.sendFields('subscribed', {
      token: token.address,
      ...(address === token.address ? {} : { resolved_token: address }),
      chain,
      ...(this.isClamped ? { clamped: true } : {}),
      ...missingVenues(view.query, markets),
    });
    if (reset !== null) this.reset(this.progress, reset);
    void this.join().catch((error: unknown) => this.fail(error));
  }

  reset(progress: Progress, reason = FORGOTTEN): void {
    this.progress = progress;
    this.sendFields('reset', { reason });
  }

  override end(): void {
    super.end();
    this.options.rooms.leave(this);
  }

  get tokenId(): number {
    if (this.source === null) throw new Error('the token is not known yet');
    return this.source.tokenId;
  }

  get view(): View {
    return this.options.view;
  }

  get keyId(): string {
    return this.options.account.keyId;
  }

  get hasRoom(): boolean {
    return this.options.connection.hasRoom;
  }

  /** Waits until the key may pay again, then for the client to read; sends `lagged` if there are changes by then. */
  ready(): Promise<void> | void {
    if (this.payableMs > performance.now() || !this.hasRoom) return this.wait();
  }

  private async wait(): Promise<void> {
    const { connection, feed } = this.options;
    const waitMs = this.payableMs - performance.now();
    if (waitMs > 0) await this.pause(waitMs);
    if (this.isEnded || connection.hasRoom) return;
    await connection.room((stop) => (this.stopWaiting = stop));
    if (this.isEnded || !this.isLive) return;
    const { type } = await feed.step(this.tokenId, this.progress);
    if (type !== 'none' && type !== 'behind') this.sendFields('lagged', {});
  }

  pays(): boolean {
    const waitMs = this.meter.pay();
    this.payableMs = performance.now() + waitMs;
    return waitMs === 0;
  }

  charge(sent: { snapshotCount: number; rowCount: number }): void {
    this.meter.sent(sent);
  }

  encode(update: Update): Message {
    const { format } = this.view;
    const progress = { ...update.after, fromS: this.progress.fromS };
    const positionFields = this.positionFields(progress);
    const head = { type: update.type, id: this.id };
    const bytes =
      update.made === null
        ? encodeMessage(format, { ...head, t: update.times, ...positionFields })
        : joinMessage(format, head, update.made.body, PAGE_FIELDS, positionFields);
    return { bytes, cursor: positionFields.cursor, progress };
  }

  take(type: string, { bytes, cursor, progress }: Message, committedMs: number | null): void {
    this.progress = progress;
    this.send(type, bytes, cursor, committedMs);
  }

  async nextCommit(commits: number): Promise<void> {
    const { feed } = this.options;
    if (feed.commits === commits) await feed.nextCommit((stop) => (this.stopWaiting = stop));
  }

  /** Looks up the token again: a commit may have added it, or its mainchain leg. */
  private findToken(): Cursors {
    const { depth, token } = this.options;
    this.source = sourceOf(depth, token).source;
    return new Cursors(this.source ?? token);
  }

  /** @returns why the cursor could not be continued, or null */
  private async startFrom({ fromS, isClamped, cursor }: Beginning): Promise<string | null> {
    if (cursor === null) {
      this.isClamped = isClamped;
      this.progress = await this.progressFrom(fromS);
      return null;
    }
    const { depth } = this.options;
    const read = this.cursors.read(cursor, depth.commitHistory);
    const nowS = this.options.nowS();
    if (read === null) throw invalidParameter('cursor', 'expected one from a message of this API');
    if ('other' in read && read.other === 'token') {
      throw invalidParameter('cursor', 'expected one of the same token');
    }
    if (!isInReach(read.nextFromS, nowS)) {
      const expected = 'expected one whose next_from is at most an hour ahead of now';
      throw invalidParameter('cursor', `${expected} (${isoOf(nowS)})`);
    }
    const nextFromS = clampedTime(read.nextFromS, nowS);
    this.isClamped = read.nextFromS < nextFromS;
    // The client keeps what it has, and is told of changes of it from now on.
    const renewed = async () => ({ ...(await this.progressFrom(nextFromS)), fromS: read.fromS });
    if ('other' in read) {
      this.progress = await renewed();
      return 'the cursor is of another store';
    }
    this.progress = { ...read, nextFromS };
    if (depth.remembers(read.position) && depth.remembers(read.pending?.upTo ?? read.position)) {
      return null;
    }
    this.progress = await renewed();
    return FORGOTTEN;
  }

  /** The progress of a new subscription: from a time on, or from now on. */
  private async progressFrom(fromS: number | null): Promise<Progress> {
    const { depth, feed, nowS } = this.options;
    const view = this.source === null ? null : await feed.view(this.source.tokenId);
    const nextFromS = fromS ?? (view?.newestT(nowS()) ?? -1) + 1;
    const { history, position } = view ?? { history: depth.commitHistory, position: 0 };
    return { history, position, nextFromS, fromS: nextFromS, pending: null };
  }

  /** Joins the followers of the token, once there is one. */
  private async join(): Promise<void> {
    const { feed, rooms } = this.options;
    while (!this.isEnded) {
      // A commit may also have added it while the subscription began.
      if (this.source === null) this.cursors = this.findToken();
      if (this.source !== null) {
        rooms.join(this);
        return;
      }
      await this.nextCommit(feed.commits);
    }
  }

  private async pause(ms: number): Promise<void> {
    const waiting = new AbortController();
    this.stopWaiting = () => waiting.abort();
    await sleep(ms, undefined, { signal: waiting.signal }).catch(() => undefined);
  }

  /** The fields from which a client continues. */
  private positionFields(progress: Progress): { next_from: number; cursor: string } {
    return { next_from: progress.nextFromS, cursor: this.cursors.write(progress) };
  }

  protected override sendFields(type: string, fields: object): void {
    const positionFields = this.positionFields(this.progress);
    const { format } = this.view;
    const message = encodeMessage(format, { type, id: this.id, ...fields, ...positionFields });
    this.send(type, message, positionFields.cursor);
  }

  /** Ends the subscription with an error; the client may subscribe again with its cursor. */
  override fail(error: unknown): void {
    if (this.isEnded) return;
    const { connection, view, onError, onMessage, onFailed } = this.options;
    // An archive that fails has log lines and a metric of its own.
    const isKnown = error instanceof ApiError || error instanceof ArchiveUnavailableError;
    if (!isKnown) onError(error);
    onMessage('error', null);
    connection.send(encodeError(view.format, this.id, this.answerTo(error)));
    connection.end(this.id);
    onFailed();
  }

  private answerTo(error: unknown): ApiError {
    if (error instanceof ApiError) return error;
    if (error instanceof ArchiveUnavailableError) return archiveUnavailable();
    if (isDamage(error)) return DAMAGED;
    return this.options.feed.retryAfterMs(error) === null ? INTERNAL : replayBusy();
  }
}

const DAMAGED = new ApiError(500, 'damaged_data', 'Stored data of this subscription are damaged');
const INTERNAL = new ApiError(500, 'internal_error', 'Internal error');
