/** A subscription of channel `depth`: history, revisions and new snapshots of one token, in order. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDamage } from '../../compute/damage.js';
import { factsOfMarkets, venuesNotFound } from '../../compute/replay/query.js';
import type { DepthSource, TokenName, TokenRecord } from '../../storage/contract.js';
import { isoOf } from '../../compute/time.js';
import { invalidParameter } from '../api/errors.js';
import { Turns } from '../../storage/turns.js';
import { sourceOf } from '../depth/shown-token.js';
import { ApiError, replayBusy } from '../http/errors.js';
import { learnMarkets } from '../replay/page-plan.js';
import type { Cohorts, Follower, Message } from './cohorts.js';
import { Cursors, type Progress } from './cursor.js';
import type { DepthFeed, Update, View } from './depth-feed.js';
import type { UpdateStep } from './depth-steps.js';
import { PageMeter } from './account.js';
import { type Beginning, clampedTime, isInReach } from './parameters.js';
import { encodeError, encodeMessage, joinMessage, PAGE_FIELDS } from './protocol.js';
import { PaidSubscription, type SubscriptionOptions } from './subscription.js';

/** Why a subscription is reset. */
const FORGOTTEN = 'the server does not remember what was revised and deleted since the cursor';

interface DepthSubscriptionOptions extends SubscriptionOptions {
  token: TokenName;
  view: View;
  beginning: Beginning;
  feed: DepthFeed;
  cohorts: Cohorts;
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
  /** Whether the client has been up to date: snapshots after that are not history. */
  private isLive = false;
  /** performance.now() of the commit whose changes are being sent; null: history, or changes that no commit caused. */
  private committedMs: number | null = null;
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
    const { venues } = factsOfMarkets(markets);
    const missing = venuesNotFound(view.query, venues, ({ key }) => key);
    this.sendFields('subscribed', {
      token: token.address,
      ...(address === token.address ? {} : { resolved_token: address }),
      chain,
      ...(this.isClamped ? { clamped: true } : {}),
      ...(missing.length === 0 ? {} : { venues_not_found: missing }),
    });
    if (reset !== null) this.reset(this.progress, reset);
    this.start();
  }

  private reset(progress: Progress, reason: string): void {
    this.progress = progress;
    this.sendFields('reset', { reason });
  }

  override end(): void {
    super.end();
    this.options.cohorts.leave(this);
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

  encode(update: Update): Message {
    const { format } = this.view;
    const progress = { ...update.after, fromS: this.progress.fromS };
    const charged = this.costs(update) ? update.made : null;
    const positionFields = this.positionFields(progress);
    const head = { type: update.type, id: this.id };
    const bytes =
      update.made === null
        ? encodeMessage(format, { ...head, t: update.times, ...positionFields })
        : joinMessage(format, head, update.made.body, PAGE_FIELDS, positionFields);
    return { bytes, cursor: positionFields.cursor, progress, charged };
  }

  pays(update: Update): boolean {
    try {
      return !this.costs(update) || this.meter.pay() === 0;
    } catch {
      // Outside the cohort it fails with the same error.
      return false;
    }
  }

  take(
    type: string,
    { bytes, cursor, progress, charged }: Message,
    committedMs: number | null,
  ): void {
    this.progress = progress;
    this.send(type, bytes, cursor, committedMs);
    if (charged !== null) this.meter.sent(charged);
  }

  continueAlone(committedMs: number | null): void {
    this.committedMs = committedMs;
    this.start();
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

  private start(): void {
    void this.run().catch((error: unknown) => this.fail(error));
  }

  /** Sends steps until the client is up to date, then joins a cohort. */
  private async run(): Promise<void> {
    const { connection, feed, cohorts } = this.options;
    // A slow reader's subscriptions all continue when it reads.
    const turns = new Turns();
    while (!this.isEnded) {
      if (!connection.hasRoom) await this.waitForRoom();
      await turns.take();
      if (!connection.hasRoom) continue;
      const { commits } = feed;
      if (this.source === null) this.cursors = this.findToken();
      try {
        const step = this.source && (await feed.step(this.source.tokenId, this.progress));
        if (this.isEnded) return;
        if (step === null || step.type === 'behind') await this.nextCommit(commits);
        else if (step.type === 'forgotten') this.reset(step.after, FORGOTTEN);
        else if (step.type !== 'none') await this.sendStep(step);
        else {
          this.progress = step.after;
          this.isLive = true;
          if (feed.commits === commits) {
            cohorts.join(this, step.nextT);
            return;
          }
          this.committedMs = feed.committedMs;
        }
      } catch (error) {
        const waitMs = feed.retryAfterMs(error);
        if (waitMs === null) throw error;
        if (waitMs > 0) await this.pause(waitMs);
      }
    }
  }

  private async sendStep(step: UpdateStep): Promise<void> {
    const { feed, connection } = this.options;
    // It pays first: nothing that was made may wait for a key's rate.
    const waitMs = this.costs(step) ? this.meter.pay() : 0;
    if (waitMs > 0) {
      await this.pause(waitMs);
      return;
    }
    const update = await feed.update(step, this.view, this.keyId, !this.isLive);
    // If the client has stopped reading in the meantime, what is paid counts for a later message.
    if (this.isEnded || !connection.hasRoom) return;
    this.take(update.type, this.encode(update), this.committedMs);
  }

  /** Whether a step or update costs as replay pages do: history, and old snapshots that are revised or come late. */
  private costs(step: UpdateStep | Update): boolean {
    return 'isOld' in step && (step.isOld || !this.isLive);
  }

  /** Waits for the client to read, and sends `lagged` if there are changes by then. */
  private async waitForRoom(): Promise<void> {
    const { connection, feed } = this.options;
    await connection.room((stop) => (this.stopWaiting = stop));
    if (this.isEnded || !this.isLive) return;
    const step = this.source && (await feed.step(this.source.tokenId, this.progress));
    if (step !== null && step.type !== 'none' && step.type !== 'behind')
      this.sendFields('lagged', {});
  }

  /** @param commits the feed's count before the last step */
  private async nextCommit(commits: number): Promise<void> {
    const { feed } = this.options;
    if (feed.commits === commits) await feed.nextCommit((stop) => (this.stopWaiting = stop));
    this.committedMs = feed.committedMs;
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
  protected override fail(error: unknown): void {
    if (this.isEnded) return;
    const { connection, view, onError, onMessage, onFailed } = this.options;
    if (!(error instanceof ApiError)) onError(error);
    onMessage('error', null);
    connection.send(encodeError(view.format, this.id, this.answerTo(error)));
    connection.end(this.id);
    onFailed();
  }

  private answerTo(error: unknown): ApiError {
    if (error instanceof ApiError) return error;
    if (isDamage(error)) return DAMAGED;
    return this.options.feed.retryAfterMs(error) === null ? INTERNAL : replayBusy();
  }
}

const DAMAGED = new ApiError(500, 'damaged_data', 'Stored data of this subscription are damaged');
const INTERNAL = new ApiError(500, 'internal_error', 'Internal error');
