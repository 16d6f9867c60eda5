/** A subscription of channel `depth`: history, revisions and new snapshots of one token, in order. */
import { isDamage } from '../../compute/damage.js';
import { PoolUnavailableError } from '../../compute/scheduler.js';
import { type DepthSource, SegmentGoneError, type TokenRecord } from '../../storage/contract.js';
import { StoreUnavailableError } from '../../storage/errors.js';
import type { AskedToken } from '../api/chain.js';
import { sourceOf } from '../depth/coverage.js';
import { ApiError, replayBusy } from '../http/errors.js';
import type { Connection, Subscription } from './connection.js';
import { Cursors, type Standing } from './cursor.js';
import type { DepthFeed, View } from './depth-feed.js';
import type { Step } from './depth-follower.js';
import { type Account, HOUR_MS, PageMeter, STREAM } from './account.js';
import { encodeMessage, joinMessage, PAGE_FIELDS } from './protocol.js';

/** A subscription without a message for this long gets a heartbeat. */
export const HEARTBEAT_MS = 5_000;
/** A step that the pool or the store has no room for is tried again after this long. */
const BUSY_MS = 1_000;

/** Messages that tell of commits. */
const DATA: ReadonlySet<string> = new Set(['snapshots', 'revised', 'deleted']);

/** Where a subscription begins. */
export interface Beginning {
  fromS: number | null;
  /** Whether the client asked for an earlier time than `fromS`. */
  isClamped: boolean;
  cursor: string | null;
}

interface DepthSubscriptionOptions {
  id: string;
  connection: Connection;
  token: AskedToken;
  view: View;
  account: Account;
  beginning: Beginning;
  feed: DepthFeed;
  depth: DepthSource & { readonly commitHistory: string; remembers(position: number): boolean };
  nowS: () => number;
  /** Told of each message. @param lagMs since the commit that it tells of; null: it tells of none */
  onMessage: (type: string, lagMs: number | null) => void;
  /** Told of failures that are not the client's. */
  onError: (error: unknown) => void;
}

export class DepthSubscription implements Subscription {
  readonly id: string;
  readonly channel = 'depth';
  private source: TokenRecord | null = null;
  private cursors: Cursors;
  private standing: Standing = { position: 0, nextFromS: 0, fromS: 0, pending: null };
  /** Whether the client was up to date once: what comes later is new. */
  private isLive = false;
  /** When the commit came whose changes are being sent; null: history, or a snapshot that became visible without a commit. */
  private committedMs: number | null = null;
  private sentMs = performance.now();
  private paidUntilMs = performance.now() + HOUR_MS;
  private isEnded = false;
  private stopWaiting = (): void => undefined;
  private readonly meter: PageMeter;

  constructor(private readonly options: DepthSubscriptionOptions) {
    this.id = options.id;
    this.meter = new PageMeter(options.account);
    this.cursors = this.lookUp();
  }

  /**
   * Finds where it begins, tells the client, and then all there is to tell.
   * @throws ApiError 400 for a cursor that is not the token's
   */
  async begin(): Promise<void> {
    const { beginning, token } = this.options;
    const reset = await this.place(beginning);
    const { source } = this;
    const { chain, address } = source ?? token;
    this.sendDocument('subscribed', {
      token: token.address,
      ...(address === token.address ? {} : { resolved_token: address }),
      chain,
      ...(beginning.isClamped ? { clamped: true } : {}),
    });
    if (reset !== null) this.sendDocument('reset', { reason: reset });
    void this.run().catch((error: unknown) => this.fail(error));
  }

  end(): void {
    this.isEnded = true;
    this.stopWaiting();
  }

  tick(nowMs: number): void {
    const { connection } = this.options;
    try {
      this.payHour(nowMs);
    } catch (error) {
      this.fail(error);
      return;
    }
    if (nowMs - this.sentMs < HEARTBEAT_MS || !connection.hasRoom) return;
    this.sendDocument('heartbeat', { t: this.options.nowS() });
  }

  farewell(retryMs: number): void {
    this.sendDocument('closing', { retry_ms: retryMs });
  }

  /** Pays for the next hour. */
  private payHour(nowMs: number): void {
    if (nowMs < this.paidUntilMs) return;
    const waitMs = this.options.account.tryToPay(STREAM);
    this.paidUntilMs = nowMs + (waitMs > 0 ? waitMs : HOUR_MS);
  }

  /** Looks the token up: a commit may have brought it, or its mainchain leg. */
  private lookUp(): Cursors {
    const { depth, token } = this.options;
    this.source = sourceOf(depth, token).source;
    return new Cursors(depth.commitHistory, this.source ?? token);
  }

  /** @returns why it could not begin where the client wanted, or null */
  private async place({ fromS, cursor }: Beginning): Promise<string | null> {
    if (cursor === null) {
      this.standing = await this.newest(fromS);
      return null;
    }
    const { depth } = this.options;
    const read = this.cursors.read(cursor);
    const expected = (what: string) =>
      new ApiError(400, 'invalid_parameter', `cursor: expected ${what}`, {
        fields: { parameter: 'cursor' },
      });
    if (read === null) throw expected('one that a message of this API has brought');
    if ('other' in read) {
      if (read.other === 'token') throw expected('one of the same token');
      this.standing = await this.newest(read.nextFromS);
      return 'the cursor is of another store';
    }
    this.standing = read;
    if (depth.remembers(read.position)) return null;
    this.standing = await this.newest(read.nextFromS);
    return 'the server does not remember what was revised and deleted since the cursor';
  }

  /** A standing without revisions: from a time on, or from now on. */
  private async newest(fromS: number | null): Promise<Standing> {
    const { feed, nowS } = this.options;
    if (this.source === null) {
      return { position: 0, nextFromS: fromS ?? 0, fromS: fromS ?? 0, pending: null };
    }
    const view = await feed.view(this.source.tokenId);
    const newestT = view.newestT(nowS());
    const nextFromS = fromS ?? (newestT === null ? 0 : newestT + 1);
    return { position: view.position, nextFromS, fromS: fromS ?? 0, pending: null };
  }

  private async run(): Promise<void> {
    const { connection, feed } = this.options;
    while (!this.isEnded) {
      if (!connection.hasRoom) await this.catchBreath();
      const { commits } = feed;
      if (this.source === null) {
        this.cursors = this.lookUp();
        if (this.source === null) {
          await this.nextChange(commits, null, null);
          continue;
        }
      }
      const tokenId = this.source.tokenId;
      try {
        const step = await feed.step(tokenId, this.standing);
        if (this.isEnded) return;
        if (step.type === 'behind') await this.nextChange(commits, null, null);
        else if (step.type === 'none') {
          this.standing = step.after;
          this.isLive = true;
          await this.nextChange(commits, tokenId, step.nextT);
        } else await this.tell(step);
      } catch (error) {
        if (error instanceof SegmentGoneError) {
          feed.forgetSteps();
          continue;
        }
        if (!(error instanceof PoolUnavailableError) && !(error instanceof StoreUnavailableError))
          throw error;
        await this.pause(BUSY_MS);
      }
    }
  }

  private async tell(step: Exclude<Step, { type: 'none' | 'behind' }>): Promise<void> {
    const { feed, view, connection, account } = this.options;
    if (step.type === 'deleted') {
      this.standing = step.after;
      this.sendDocument('deleted', { t: step.times });
      return;
    }
    const isHistory = !this.isLive;
    const made = await feed.render(step.plan, view, account.keyId, isHistory);
    if (this.isEnded) return;
    if (isHistory) await this.pay(made);
    else await new Promise<void>((resolve) => feed.inTurn(resolve));
    // Meanwhile the client may have stopped reading.
    if (this.isEnded || !connection.hasRoom) return;
    this.standing = step.after(made.snapshotCount);
    const { type } = step;
    const where = this.where();
    const { format } = view;
    const message = joinMessage(format, { type, id: this.id }, made.body, PAGE_FIELDS, where);
    this.send(type, message, where.cursor);
  }

  /** Pays for history as for replay pages, waiting where the key's rate is exceeded. */
  private async pay(made: { snapshotCount: number; rowCount: number }): Promise<void> {
    for (let waitMs; !this.isEnded; await this.pause(waitMs)) {
      waitMs = this.meter.pay(made);
      if (waitMs === 0) return;
    }
  }

  /** Waits for the client to read, and tells it if it has missed something meanwhile. */
  private async catchBreath(): Promise<void> {
    const { connection, feed } = this.options;
    await connection.room();
    if (this.isEnded || !this.isLive) return;
    const step = this.source && (await feed.step(this.source.tokenId, this.standing));
    if (step !== null && step.type !== 'none' && step.type !== 'behind')
      this.sendDocument('lagged', {});
  }

  /**
   * @param commits as they were before the client was up to date
   * @param tokenId null: a commit of any token is waited for
   */
  private async nextChange(
    commits: number,
    tokenId: number | null,
    nextT: number | null,
  ): Promise<void> {
    const { feed } = this.options;
    this.committedMs =
      feed.commits === commits
        ? await feed.changed(tokenId, nextT, (stop) => (this.stopWaiting = stop))
        : feed.committedMs;
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.stopWaiting = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Where the client goes on. */
  private where(): { next_from: number; cursor: string } {
    const { standing } = this;
    return { next_from: standing.nextFromS, cursor: this.cursors.write(standing) };
  }

  private sendDocument(type: string, fields: object): void {
    const where = this.where();
    const { format } = this.options.view;
    const message = encodeMessage(format, { type, id: this.id, ...fields, ...where });
    this.send(type, message, where.cursor);
  }

  private send(type: string, message: Uint8Array, cursor: string): void {
    if (this.isEnded) return;
    this.sentMs = performance.now();
    const lagMs = this.committedMs === null ? null : this.sentMs - this.committedMs;
    this.options.onMessage(type, DATA.has(type) ? lagMs : null);
    this.options.connection.send(message, cursor);
  }

  /** Ends with an error: the client may subscribe again by its cursor. */
  private fail(error: unknown): void {
    if (this.isEnded) return;
    const { connection, view, onError } = this.options;
    if (!(error instanceof ApiError)) onError(error);
    const answer = error instanceof ApiError ? error : isDamage(error) ? damaged() : replayBusy();
    const message = encodeMessage(view.format, { type: 'error', id: this.id, ...answer.body });
    connection.send(message);
    connection.end(this.id);
  }
}

const damaged = (): ApiError =>
  new ApiError(500, 'damaged_data', 'Stored data of this subscription are damaged');
