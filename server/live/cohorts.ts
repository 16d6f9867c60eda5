/**
 * Groups live subscriptions that have made the same progress. A cohort makes each step and each message once for all its
 * members, and sends them in turns, between which the server answers requests.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { DAY_S } from '../../compute/time.js';
import { Turns } from '../../storage/turns.js';
import type { Progress } from './cursor.js';
import type { DepthFeed, Update, View } from './depth-feed.js';
import type { UpdateStep } from './depth-steps.js';

/** How long messages are sent before the event loop gets a turn. */
const TURN_MS = 1.5;
/** Messages, and their bytes, kept while a step has its turn, one for each subscription id. */
const MAX_KEPT_MESSAGES = 32;
const MAX_SHARED_MESSAGE_BYTES = 1024 * 1024;
/** Cohorts of one key that advance at a time. */
const LANES = 4;
/** Members of a cohort that are asked for their key. */
const MAX_ASKED_MEMBERS = 16;
/** Node's timers overflow after 24 days. */
const MAX_TIMER_S = DAY_S;

/** A message, and the follower's progress after it. */
export interface Message {
  bytes: Uint8Array;
  cursor: string;
  progress: Progress;
  /** What it costs as history; null: nothing. */
  charged: { snapshotCount: number; rowCount: number } | null;
}

/** A live subscription. */
export interface Follower {
  readonly tokenId: number;
  readonly view: View;
  readonly keyId: string;
  progress: Progress;
  /** Equal for followers that get the same bytes. */
  readonly messageName: string;
  readonly hasRoom: boolean;
  /** Whether the key has paid for an update, if it costs something; false: it has to wait. */
  pays(update: Update): boolean;
  encode(update: Update): Message;
  /** Sends a message. @param committedMs performance.now() of its commit; null: no commit, time passed */
  take(type: Update['type'], message: Message, committedMs: number | null): void;
  /** Takes further steps outside the cohort, because the client does not read, has to wait to pay, or a message failed. */
  continueAlone(committedMs: number | null): void;
}

/** Followers of one view whose progress is equal except for `fromS`. */
interface Cohort {
  readonly tokenId: number;
  readonly view: View;
  readonly members: Set<Follower>;
  /** The progress of the member with the earliest `fromS`. */
  progress: Progress;
  /** performance.now() of the first commit since the last step began; null: there was none. */
  touchedMs: number | null;
  /** Fires when the next snapshot becomes visible without a commit. */
  timer: NodeJS.Timeout | undefined;
}

interface DueCohorts {
  cohorts: Set<Cohort>;
  /** How many of the key's cohorts advance now: each may hold an encoded update. */
  lanes: number;
}

export class Cohorts {
  /** Cohorts that are up to date, by token, then by waitingKey(). */
  private readonly waiting = new Map<number, Map<string, Cohort>>();
  /** Cohorts that advance, or are about to. */
  private readonly advancing = new Set<Cohort>();
  /** Cohorts that are about to advance, by key. */
  private readonly due = new Map<string, DueCohorts>();
  private readonly cohortByFollower = new Map<Follower, Cohort>();
  /** Steps being sent, a turn each; each call sends one message, and returns false after the last. */
  private readonly sending: (() => boolean)[] = [];
  /** Messages of the step that was sent last, by messageName. */
  private kept = { update: null as Update | null, messages: new Map<string, Message>(), bytes: 0 };

  constructor(
    private readonly feed: Pick<DepthFeed, 'step' | 'update' | 'retryAfterMs'>,
    private readonly nowS: () => number,
  ) {}

  /** Adds a follower that is up to date. @param nextT when the next snapshot becomes visible without a commit, or null */
  join(follower: Follower, nextT: number | null): void {
    this.wait(this.newCohort([follower], follower.progress), nextT);
  }

  leave(follower: Follower): void {
    const cohort = this.cohortByFollower.get(follower);
    if (cohort === undefined) return;
    this.cohortByFollower.delete(follower);
    cohort.members.delete(follower);
    if (cohort.members.size === 0) this.stopWaiting(cohort);
  }

  /** A commit has changed a token. */
  touch(tokenId: number, committedMs: number): void {
    for (const cohort of this.advancing) {
      if (cohort.tokenId === tokenId) cohort.touchedMs ??= committedMs;
    }
    const cohorts = this.waiting.get(tokenId);
    this.waiting.delete(tokenId);
    for (const cohort of cohorts?.values() ?? []) {
      clearTimeout(cohort.timer);
      this.enqueue(cohort, committedMs);
    }
  }

  /**
   * Has a cohort advance after others of the same key: the many views of one key delay those of no other.
   * @param committedMs of the commit that is the cause; null: no commit
   */
  private enqueue(cohort: Cohort, committedMs: number | null): void {
    cohort.touchedMs ??= committedMs;
    this.advancing.add(cohort);
    const keyId = this.leastBusyKey(cohort);
    const queue = this.due.get(keyId) ?? { cohorts: new Set(), lanes: 0 };
    queue.cohorts.add(cohort);
    this.due.set(keyId, queue);
    if (queue.lanes < LANES) void this.advanceAll(keyId, queue);
  }

  /** A key of the cohort for which few other cohorts wait. */
  private leastBusyKey({ members }: Cohort): string {
    let [{ keyId }] = members;
    const busy = (id: string) => this.due.get(id)?.cohorts.size ?? 0;
    let left = MAX_ASKED_MEMBERS;
    for (const member of members) {
      if (busy(keyId) === 0 || left-- === 0) break;
      if (busy(member.keyId) < busy(keyId)) ({ keyId } = member);
    }
    return keyId;
  }

  private async advanceAll(keyId: string, queue: DueCohorts): Promise<void> {
    queue.lanes++;
    const turns = new Turns();
    for (const cohort of queue.cohorts) {
      queue.cohorts.delete(cohort);
      await turns.take();
      await this.advance(cohort);
    }
    if (--queue.lanes === 0) this.due.delete(keyId);
  }

  /** Takes steps until the cohort is up to date. */
  private async advance(cohort: Cohort): Promise<void> {
    let committedMs: number | null = null;
    while (cohort.members.size > 0) {
      committedMs = cohort.touchedMs ?? committedMs;
      cohort.touchedMs = null;
      try {
        const step = await this.feed.step(cohort.tokenId, cohort.progress);
        if (step.type === 'none') {
          // All may have left in the meantime.
          if (cohort.members.size === 0) break;
          this.setProgress(cohort, step.after);
          if (this.hasNewCommit(cohort)) continue;
          this.wait(cohort, step.nextT);
          break;
        }
        if (step.type === 'behind') throw new Error("a store's commits went back");
        if (step.type === 'forgotten') {
          for (const follower of [...cohort.members]) this.release(follower, committedMs);
          break;
        }
        this.splitOff(cohort, beginningOf(step), committedMs);
        if (cohort.members.size === 0) break;
        await this.sendStep(cohort, step, committedMs);
      } catch (error) {
        const waitMs = this.feed.retryAfterMs(error);
        if (waitMs === null) {
          for (const follower of [...cohort.members]) this.release(follower, committedMs);
        } else if (waitMs > 0) await sleep(waitMs, undefined, { ref: false });
      }
    }
    this.advancing.delete(cohort);
  }

  private async sendStep(
    cohort: Cohort,
    step: UpdateStep,
    committedMs: number | null,
  ): Promise<void> {
    const { view, members } = cohort;
    const [{ keyId }] = members;
    const update = await this.feed.update(step, view, keyId, false);
    const rest = members.values();
    await this.inTurns(() => {
      const { value: follower, done } = rest.next();
      if (done === true) return false;
      if (!follower.hasRoom || !follower.pays(update)) {
        this.release(follower, committedMs);
        return true;
      }
      const message = this.encode(update, follower);
      follower.take(update.type, message, committedMs);
      return true;
    });
    cohort.progress = update.after;
  }

  /** A message for a follower: one that is kept, if possible. */
  private encode(update: Update, follower: Follower): Message {
    const name = follower.messageName;
    if (this.kept.update !== update) this.kept = { update, messages: new Map(), bytes: 0 };
    const { kept } = this;
    const known = kept.messages.get(name);
    if (known !== undefined) return known;
    const message = follower.encode(update);
    const { byteLength } = message.bytes;
    kept.bytes += byteLength;
    if (kept.messages.size === MAX_KEPT_MESSAGES || kept.bytes > MAX_SHARED_MESSAGE_BYTES) {
      kept.messages.clear();
      kept.bytes = byteLength;
    }
    kept.messages.set(name, message);
    return message;
  }

  /** Calls `sendNext` until it returns false or throws, in turns with all others. */
  private inTurns(sendNext: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.sending.push(() => {
        try {
          if (sendNext()) return true;
          resolve();
        } catch (error) {
          // Only this cohort's step fails; sendAll() continues with the next.
          reject(error instanceof Error ? error : new Error(String(error)));
        }
        return false;
      });
      if (this.sending.length === 1) void this.sendAll();
    });
  }

  private async sendAll(): Promise<void> {
    let untilMs = performance.now() + TURN_MS;
    while (this.sending.length > 0) {
      const [sendNext] = this.sending;
      let isLeft = sendNext();
      while (isLeft && performance.now() < untilMs) isLeft = sendNext();
      this.sending.shift();
      if (!isLeft) continue;
      // After the others: a step of thousands of followers holds up no other view.
      this.sending.push(sendNext);
      await nextTurn();
      untilMs = performance.now() + TURN_MS;
    }
    this.kept = { update: null, messages: new Map(), bytes: 0 };
  }

  /** Splits off the followers whose history begins after a step does: they take their own. */
  private splitOff(cohort: Cohort, beginsS: number, committedMs: number | null): void {
    const others = [...cohort.members].filter(({ progress }) => progress.fromS > beginsS);
    if (others.length === 0) return;
    const fromS = others.reduce((least, { progress }) => Math.min(least, progress.fromS), Infinity);
    for (const follower of others) cohort.members.delete(follower);
    const part = this.newCohort(others, { ...cohort.progress, fromS });
    this.enqueue(part, cohort.touchedMs ?? committedMs);
  }

  /** Records that commits brought nothing to send. */
  private setProgress(cohort: Cohort, progress: Progress): void {
    cohort.progress = progress;
    for (const follower of cohort.members) {
      const { fromS } = follower.progress;
      follower.progress = fromS === progress.fromS ? progress : { ...progress, fromS };
    }
  }

  private hasNewCommit({ touchedMs }: Cohort): boolean {
    return touchedMs !== null;
  }

  private release(follower: Follower, committedMs: number | null): void {
    this.leave(follower);
    follower.continueAlone(committedMs);
  }

  private newCohort(followers: readonly Follower[], progress: Progress): Cohort {
    const [{ tokenId, view }] = followers;
    const members = new Set(followers);
    const cohort = { tokenId, view, members, progress, touchedMs: null, timer: undefined };
    for (const follower of followers) this.cohortByFollower.set(follower, cohort);
    return cohort;
  }

  /** Waits for the next commit, merged with a waiting cohort of equal progress. */
  private wait(cohort: Cohort, nextT: number | null): void {
    const { tokenId } = cohort;
    const key = waitingKey(cohort);
    const other = this.waiting.get(tokenId)?.get(key);
    if (other !== undefined) {
      this.stopWaiting(other);
      cohort = this.merged(other, cohort);
    }
    const byKey = this.waiting.get(tokenId) ?? new Map<string, Cohort>();
    this.waiting.set(tokenId, byKey.set(key, cohort));
    if (nextT === null) return;
    const waitS = Math.min(Math.max(1, nextT - this.nowS()), MAX_TIMER_S);
    cohort.timer = setTimeout(() => {
      this.stopWaiting(cohort);
      this.enqueue(cohort, null);
    }, waitS * 1000);
  }

  /** Moves the members of the smaller cohort to the larger one. */
  private merged(a: Cohort, b: Cohort): Cohort {
    const [large, small] = a.members.size >= b.members.size ? [a, b] : [b, a];
    for (const follower of small.members) {
      large.members.add(follower);
      this.cohortByFollower.set(follower, large);
    }
    if (small.progress.fromS < large.progress.fromS) large.progress = small.progress;
    return large;
  }

  private stopWaiting(cohort: Cohort): void {
    clearTimeout(cohort.timer);
    const byKey = this.waiting.get(cohort.tokenId);
    const key = waitingKey(cohort);
    if (byKey?.get(key) !== cohort) return;
    byKey.delete(key);
    if (byKey.size === 0) this.waiting.delete(cohort.tokenId);
  }
}

/** The earliest time that a step concerns. */
function beginningOf(step: UpdateStep): number {
  if (step.type === 'deleted') return Math.min(step.times[0], step.after.nextFromS);
  const { snapshots } = step.plan;
  return Math.min(snapshots[0].t, step.after(snapshots.length).nextFromS);
}

/** Equal for cohorts that can be merged: those of one view and equal progress except for `fromS`. */
function waitingKey({ view, progress }: Cohort): string {
  return `${progress.history} ${progress.position} ${progress.nextFromS} ${view.format} ${view.name}`;
}
