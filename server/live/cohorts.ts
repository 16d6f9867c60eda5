/**
 * Live subscriptions that stand at the same place move on together: each step and each message is made once for all
 * of them, and sent in turns, so that requests are answered in between.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Standing } from './cursor.js';
import type { DepthFeed, News, View } from './depth-feed.js';
import type { Telling } from './depth-follower.js';

/** Messages are sent for as long as this between two looks for requests. */
const TURN_MS = 1.5;
/** Messages of one step, for followers of other ids, that are kept while it is sent: each has about 0.5 MB at most. */
const MAX_KEPT_MESSAGES = 32;
/** A timer of Node reaches no further. */
const MAX_TIMER_S = 86_400;

/** What a follower is sent, and where it stands then. */
export interface Message {
  bytes: Uint8Array;
  cursor: string;
  standing: Standing;
}

/** A live subscription. */
export interface Follower {
  readonly tokenId: number;
  readonly view: View;
  readonly keyId: string;
  standing: Standing;
  /** The same for followers that get the same bytes. */
  readonly messageName: string;
  readonly hasRoom: boolean;
  encode(news: News): Message;
  /** Sends. @param committedMs performance.now() of the commit that it tells of; null: time alone has brought it */
  take(type: News['type'], message: Message, committedMs: number | null): void;
  /** Its client does not read, or it could not be told: it goes on without the others. */
  goAlone(committedMs: number | null): void;
}

/** Followers of one view that stand at the same place, but for where the history of each begins. */
interface Cohort {
  readonly tokenId: number;
  readonly view: View;
  readonly members: Set<Follower>;
  /** That of the member whose history begins first. */
  standing: Standing;
  /** performance.now() of the first commit since its last step was begun; null: there was none. */
  touchedMs: number | null;
  /** Ends when time alone brings the next snapshot. */
  timer: NodeJS.Timeout | undefined;
}

export class Cohorts {
  /** Those that have all there is: by token, then by place. */
  private readonly resting = new Map<number, Map<string, Cohort>>();
  private readonly moving = new Set<Cohort>();
  private readonly homes = new Map<Follower, Cohort>();
  /** What is sent, the first one now; each call sends one message, and returns false once there is none. */
  private readonly sending: (() => boolean)[] = [];

  constructor(
    private readonly feed: Pick<DepthFeed, 'step' | 'news' | 'retryAfterMs'>,
    private readonly nowS: () => number,
  ) {}

  /** Adds a follower that has all there is. @param nextT when time alone brings the next snapshot, or null */
  join(follower: Follower, nextT: number | null): void {
    this.rest(this.cohortOf([follower], follower.standing), nextT);
  }

  leave(follower: Follower): void {
    const cohort = this.homes.get(follower);
    if (cohort === undefined) return;
    this.homes.delete(follower);
    cohort.members.delete(follower);
    if (cohort.members.size === 0) this.wake(cohort);
  }

  /** A commit has changed a token. */
  touch(tokenId: number, committedMs: number): void {
    for (const cohort of this.moving) {
      if (cohort.tokenId === tokenId) cohort.touchedMs ??= committedMs;
    }
    for (const cohort of [...(this.resting.get(tokenId)?.values() ?? [])]) {
      this.wake(cohort);
      void this.move(cohort, committedMs);
    }
  }

  /** Takes all steps that there are. @param committedMs of the commit that has brought them; null: none has */
  private async move(cohort: Cohort, committedMs: number | null): Promise<void> {
    this.moving.add(cohort);
    while (cohort.members.size > 0) {
      committedMs = cohort.touchedMs ?? committedMs;
      cohort.touchedMs = null;
      try {
        const step = await this.feed.step(cohort.tokenId, cohort.standing);
        if (step.type === 'none') {
          this.place(cohort, step.after);
          if (this.isTouched(cohort)) continue;
          this.rest(cohort, step.nextT);
          break;
        }
        if (step.type === 'behind') throw new Error('a store goes forward');
        if (step.type !== 'snapshots' && this.split(cohort, committedMs)) break;
        await this.tell(cohort, step, committedMs);
      } catch (error) {
        const waitMs = this.feed.retryAfterMs(error);
        if (waitMs === null) {
          for (const follower of [...cohort.members]) this.release(follower, committedMs);
        } else if (waitMs > 0) await sleep(waitMs, undefined, { ref: false });
      }
    }
    this.moving.delete(cohort);
  }

  private async tell(cohort: Cohort, step: Telling, committedMs: number | null): Promise<void> {
    const { view, members } = cohort;
    const [{ keyId }] = members;
    const news = await this.feed.news(step, view, keyId, false);
    const rest = members.values();
    const messages = new Map<string, Message>();
    await this.inTurns(() => {
      const { value: follower, done } = rest.next();
      if (done === true) return false;
      if (!follower.hasRoom) {
        this.release(follower, committedMs);
        return true;
      }
      const name = follower.messageName;
      let message = messages.get(name);
      if (message === undefined) {
        message = follower.encode(news);
        if (messages.size === MAX_KEPT_MESSAGES) messages.clear();
        messages.set(name, message);
      }
      follower.take(news.type, message, committedMs);
      return true;
    });
    cohort.standing = news.after;
  }

  /** Calls `sendNext` until it returns false or throws, in turns with all others. */
  private inTurns(sendNext: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.sending.push(() => {
        try {
          if (sendNext()) return true;
          resolve();
        } catch (error) {
          // The cohort's step fails; the others behind it are sent theirs.
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
      while (this.sending[0]()) {
        if (performance.now() < untilMs) continue;
        await nextTurn();
        untilMs = performance.now() + TURN_MS;
      }
      this.sending.shift();
    }
  }

  /**
   * Who is told of a revision depends on where its history begins: makes a cohort for each beginning.
   * @returns whether there were several
   */
  private split(cohort: Cohort, committedMs: number | null): boolean {
    const byBeginning = new Map<number, Follower[]>();
    for (const follower of cohort.members) {
      const { fromS } = follower.standing;
      const others = byBeginning.get(fromS);
      if (others === undefined) byBeginning.set(fromS, [follower]);
      else others.push(follower);
    }
    if (byBeginning.size === 1 && byBeginning.has(cohort.standing.fromS)) return false;
    for (const [fromS, followers] of byBeginning) {
      const part = this.cohortOf(followers, { ...cohort.standing, fromS });
      part.touchedMs = cohort.touchedMs;
      void this.move(part, committedMs);
    }
    return true;
  }

  /** Commits have moved the cohort on without a message. */
  private place(cohort: Cohort, standing: Standing): void {
    cohort.standing = standing;
    for (const follower of cohort.members) {
      const { fromS } = follower.standing;
      follower.standing = fromS === standing.fromS ? standing : { ...standing, fromS };
    }
  }

  private isTouched({ touchedMs }: Cohort): boolean {
    return touchedMs !== null;
  }

  private release(follower: Follower, committedMs: number | null): void {
    this.leave(follower);
    follower.goAlone(committedMs);
  }

  private cohortOf(followers: readonly Follower[], standing: Standing): Cohort {
    const [{ tokenId, view }] = followers;
    const members = new Set(followers);
    const cohort = { tokenId, view, members, standing, touchedMs: null, timer: undefined };
    for (const follower of followers) this.homes.set(follower, cohort);
    return cohort;
  }

  /** Has it wait for the next commit, together with others at the same place. */
  private rest(cohort: Cohort, nextT: number | null): void {
    const { tokenId } = cohort;
    const place = placeOf(cohort);
    const other = this.resting.get(tokenId)?.get(place);
    if (other !== undefined) {
      this.wake(other);
      cohort = this.joined(other, cohort);
    }
    const places = this.resting.get(tokenId) ?? new Map<string, Cohort>();
    this.resting.set(tokenId, places.set(place, cohort));
    if (nextT === null) return;
    const waitS = Math.min(Math.max(1, nextT - this.nowS()), MAX_TIMER_S);
    cohort.timer = setTimeout(() => {
      this.wake(cohort);
      void this.move(cohort, null);
    }, waitS * 1000);
  }

  /** The larger one, with the members of the other. */
  private joined(a: Cohort, b: Cohort): Cohort {
    const [large, small] = a.members.size >= b.members.size ? [a, b] : [b, a];
    for (const follower of small.members) {
      large.members.add(follower);
      this.homes.set(follower, large);
    }
    if (small.standing.fromS < large.standing.fromS) large.standing = small.standing;
    return large;
  }

  /** Ends its rest, if it rests. */
  private wake(cohort: Cohort): void {
    clearTimeout(cohort.timer);
    const places = this.resting.get(cohort.tokenId);
    const place = placeOf(cohort);
    if (places?.get(place) !== cohort) return;
    places.delete(place);
    if (places.size === 0) this.resting.delete(cohort.tokenId);
  }
}

/** Where the standings of a view's followers are the same, but for where their histories begin. */
function placeOf({ view, standing }: Cohort): string {
  return `${standing.position} ${standing.nextFromS} ${view.format} ${view.name}`;
}
