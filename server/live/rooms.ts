/**
 * Live subscriptions by token. Followers of a token that show the same view and have made the same progress form a
 * group: it takes each step, and makes each message, once for all its members. A follower that has to wait, for its
 * client or its key, goes on alone, and joins the others again once it is up to date.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { pushTo } from '../../compute/collections.js';
import { DAY_S } from '../../compute/time.js';
import { Turns } from '../../storage/turns.js';
import type { Progress } from './cursor.js';
import type { DepthFeed, Update, View } from './depth-feed.js';
import type { Step, UpdateStep } from './depth-steps.js';
import { KeyLanes } from './key-lanes.js';

/** Messages, and their bytes, kept while a step is sent, one for each subscription id. */
const MAX_KEPT_MESSAGES = 32;
const MAX_SHARED_MESSAGE_BYTES = 1024 * 1024;
/** A key with more followers in a group goes on without the others, which would wait for its messages. */
const MAX_FOLLOWERS_OF_KEY = 64;
/** Node's timers overflow after 24 days. */
const MAX_TIMER_S = DAY_S;

/** A message, and the follower's progress after it. */
export interface Message {
  bytes: Uint8Array;
  cursor: string;
  progress: Progress;
}

/** A live subscription. */
export interface Follower {
  readonly tokenId: number;
  readonly view: View;
  readonly keyId: string;
  progress: Progress;
  /** Equal for followers that get the same bytes. */
  readonly messageName: string;
  /** Whether it has been up to date: what it gets before that is history. */
  isLive: boolean;
  readonly hasRoom: boolean;
  /** Waits until it has room and its key can pay, or the follower has left. */
  ready(): Promise<void> | void;
  /** Whether the key has paid for a message that costs something; false: it has to wait. @throws ApiError */
  pays(): boolean;
  /** Call for each message that was paid for. */
  charge(sent: { snapshotCount: number; rowCount: number }): void;
  encode(update: Update): Message;
  /** Sends a message. @param committedMs performance.now() of its commit; null: history, or time has passed */
  take(type: Update['type'], message: Message, committedMs: number | null): void;
  /** Waits for the next commit of any token. @param commits the feed's count before the last step */
  nextCommit(commits: number): Promise<void>;
  /** Tells the client that earlier revisions are forgotten. */
  reset(progress: Progress): void;
  /** Ends the subscription with an error. */
  fail(error: unknown): void;
}

/** Followers of one view whose progress is equal except for `fromS`. */
interface Group {
  readonly room: Room;
  readonly view: View;
  readonly members: Set<Follower>;
  /** The key of all members, which has many followers here; null: they are of any keys. */
  readonly ownKey: string | null;
  /** The progress of the member with the earliest `fromS`. */
  progress: Progress;
  /** performance.now() of the first commit since the last step began; null: there was none. */
  touchedMs: number | null;
}

/** The followers of a token. */
interface Room {
  readonly tokenId: number;
  /** Groups that are up to date, by nameOf(). */
  readonly waiting: Map<string, Group>;
  readonly advancing: Set<Group>;
  /** When the next snapshot becomes visible without a commit. */
  nextT: number;
  timer: NodeJS.Timeout | undefined;
}

interface SendOptions {
  /** The key whose lane the step has. */
  keyId: string;
  isLive: boolean;
  committedMs: number | null;
  turns: Turns;
}

export class Rooms {
  private readonly rooms = new Map<number, Room>();
  private readonly groupOf = new Map<Follower, Group>();
  private readonly live = new KeyLanes();
  private readonly history = new KeyLanes();
  /** Messages of the step that was sent last, by messageName. */
  private kept = nothingKept();

  constructor(
    private readonly feed: Pick<
      DepthFeed,
      'step' | 'update' | 'retryAfterMs' | 'commits' | 'nextCommit'
    >,
    private readonly nowS: () => number,
  ) {}

  /** Adds a follower, which gets every step from its progress on. */
  join(follower: Follower): void {
    const { tokenId, progress } = follower;
    let room = this.rooms.get(tokenId);
    if (room === undefined) {
      room = {
        tokenId,
        waiting: new Map(),
        advancing: new Set(),
        nextT: Infinity,
        timer: undefined,
      };
      this.rooms.set(tokenId, room);
    }
    void this.advance(this.group(room, [follower], progress), null);
  }

  leave(follower: Follower): void {
    const group = this.groupOf.get(follower);
    if (group === undefined) return;
    this.groupOf.delete(follower);
    group.members.delete(follower);
    const { room, members } = group;
    const name = nameOf(group);
    if (members.size > 0 || room.waiting.get(name) !== group) return;
    room.waiting.delete(name);
    this.closeIfEmpty(room);
  }

  /** A commit has changed a token. */
  touch(tokenId: number, committedMs: number): void {
    const room = this.rooms.get(tokenId);
    if (room === undefined) return;
    for (const group of room.advancing) group.touchedMs ??= committedMs;
    void this.wake(room, committedMs);
  }

  /** Has the groups that are up to date advance. @param committedMs of the commit that is the cause; null: no commit */
  private async wake(room: Room, committedMs: number | null): Promise<void> {
    const groups = [...room.waiting.values()];
    room.waiting.clear();
    for (const group of groups) {
      group.touchedMs ??= committedMs;
      room.advancing.add(group);
    }
    // First, the one who commits gets its answer.
    await nextTurn();
    const turns = new Turns();
    for (const group of groups) {
      this.splitByKey(group, group.touchedMs);
      void this.advance(group, group.touchedMs);
      await turns.take();
    }
  }

  /**
   * Takes steps until the group is up to date. Never rejects.
   * @param isRetry whether an error ends the subscription; else each member tries once more alone
   */
  private async advance(group: Group, committedMs: number | null, isRetry = false): Promise<void> {
    const { room, members } = group;
    room.advancing.add(group);
    let isOver = false;
    while (members.size > 0 && !isOver) {
      try {
        const [first] = members;
        if (members.size === 1) await first.ready();
        const { isLive } = first;
        if (isLive) committedMs = group.touchedMs ?? committedMs;
        group.touchedMs = null;
        const { commits } = this.feed;
        const step = await this.takeStep(group, isLive, committedMs);
        if (step?.type === 'none') isOver = this.rest(group, step);
        else if (step?.type === 'behind') await this.nextCommit(group, commits);
      } catch (error) {
        const waitMs = this.feed.retryAfterMs(error);
        if (waitMs === null) {
          await eachInTurns(members, new Turns(), (one) => {
            if (isRetry) this.fail(one, error);
            else this.goAlone(one, committedMs, true);
          });
        } else if (waitMs > 0) await sleep(waitMs, undefined, { ref: false });
      }
    }
    room.advancing.delete(group);
    this.closeIfEmpty(room);
  }

  /** Takes one step in turn with others of the same key: the many views of one key delay those of no other. */
  private takeStep(
    group: Group,
    isLive: boolean,
    committedMs: number | null,
  ): Promise<Step | null> {
    const { room, members } = group;
    const lanes = isLive ? this.live : this.history;
    const keyId = group.ownKey ?? lanes.leastBusy(members);
    return lanes.run(keyId, async (turns) => {
      const [first] = members;
      // By then, all may have left, and the client of a single one may have stopped reading.
      if (first === undefined || (members.size === 1 && !first.hasRoom)) return null;
      const step = await this.feed.step(room.tokenId, group.progress);
      if (step.type === 'forgotten') await this.resetAll(group, step.after, { committedMs, turns });
      else if (step.type !== 'none' && step.type !== 'behind') {
        await this.sendStep(group, step, { keyId, isLive, committedMs, turns });
      }
      return step;
    });
  }

  private async sendStep(
    group: Group,
    step: UpdateStep,
    { keyId, isLive, committedMs, turns }: SendOptions,
  ): Promise<void> {
    const { members, view } = group;
    this.splitOff(group, beginningOf(step), committedMs);
    // As for replay pages: history, and old snapshots that are revised or come late.
    const isCharged = step.type !== 'deleted' && (step.isOld || !isLive);
    // It pays first: nothing that was made may wait for a key's rate.
    if (isCharged) {
      await eachInTurns(members, turns, (one) => {
        if (!one.pays()) this.goAlone(one, committedMs);
      });
    }
    if (members.size === 0) return;
    const update = await this.feed.update(step, view, keyId, !isLive);
    await eachInTurns(members, turns, (one) => {
      if (!one.hasRoom) this.goAlone(one, committedMs);
      else {
        one.take(update.type, this.encode(update, one), committedMs);
        if (isCharged && update.made !== null) one.charge(update.made);
      }
    });
    group.progress = update.after;
    if (this.kept.update === update) this.kept = nothingKept();
  }

  /** A message for a follower: one that is kept, if possible. */
  private encode(update: Update, follower: Follower): Message {
    const name = follower.messageName;
    if (this.kept.update !== update) this.kept = { ...nothingKept(), update };
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

  private async resetAll(
    group: Group,
    after: Progress,
    { committedMs, turns }: Pick<SendOptions, 'committedMs' | 'turns'>,
  ): Promise<void> {
    await eachInTurns(group.members, turns, (one) => {
      if (one.hasRoom) one.reset({ ...after, fromS: one.progress.fromS });
      else this.goAlone(one, committedMs);
    });
    group.progress = after;
  }

  /** The group's store does not have all commits of its cursor yet. */
  private async nextCommit({ members }: Group, commits: number): Promise<void> {
    const [first] = members;
    if (members.size === 1) await first.nextCommit(commits);
    else for (const one of members) this.goAlone(one, null);
  }

  /**
   * Has a group that is up to date wait for the next commit, with others of equal name.
   * @returns false if a commit has come in the meantime
   */
  private rest(group: Group, { after, nextT }: Extract<Step, { type: 'none' }>): boolean {
    const { room, members } = group;
    group.progress = after;
    for (const one of members) {
      const { fromS } = one.progress;
      one.progress = fromS === after.fromS ? after : { ...after, fromS };
      one.isLive = true;
    }
    if (group.touchedMs !== null) return false;
    // All may have left in the meantime.
    if (members.size === 0) return true;
    const name = nameOf(group);
    const other = room.waiting.get(name);
    room.waiting.set(name, other === undefined ? group : this.merged(other, group));
    this.wakeAt(room, nextT);
    return true;
  }

  /** Moves the members of the smaller group to the larger one. */
  private merged(a: Group, b: Group): Group {
    const [large, small] = a.members.size >= b.members.size ? [a, b] : [b, a];
    const { fromS } = small.progress;
    for (const one of small.members) {
      large.members.add(one);
      this.groupOf.set(one, large);
    }
    small.members.clear();
    if (fromS < large.progress.fromS) large.progress = small.progress;
    return large;
  }

  private wakeAt(room: Room, nextT: number | null): void {
    if (nextT === null || nextT >= room.nextT) return;
    clearTimeout(room.timer);
    room.nextT = nextT;
    const waitS = Math.min(Math.max(1, nextT - this.nowS()), MAX_TIMER_S);
    room.timer = setTimeout(() => {
      room.nextT = Infinity;
      void this.wake(room, null);
    }, waitS * 1000);
  }

  /** Splits off the followers whose history begins after a step does: they take their own. */
  private splitOff(group: Group, beginsS: number, committedMs: number | null): void {
    const others = [...group.members].filter(({ progress }) => progress.fromS > beginsS);
    if (others.length === 0) return;
    const fromS = others.reduce((least, { progress }) => Math.min(least, progress.fromS), Infinity);
    const { room, ownKey, progress } = group;
    void this.advance(this.group(room, others, { ...progress, fromS }, ownKey), committedMs);
  }

  /** Splits off the followers of each key that has many. */
  private splitByKey(group: Group, committedMs: number | null): void {
    const { room, members, ownKey, progress } = group;
    if (ownKey !== null || members.size <= MAX_FOLLOWERS_OF_KEY) return;
    const byKey = new Map<string, Follower[]>();
    for (const one of members) pushTo(byKey, one.keyId, one);
    for (const [keyId, some] of byKey) {
      if (some.length <= MAX_FOLLOWERS_OF_KEY) continue;
      void this.advance(this.group(room, some, progress, keyId), committedMs);
    }
  }

  private goAlone(follower: Follower, committedMs: number | null, isRetry = false): void {
    const group = this.groupOf.get(follower);
    if (group === undefined) return;
    const alone = this.group(group.room, [follower], follower.progress);
    void this.advance(alone, committedMs, isRetry);
  }

  private fail(follower: Follower, error: unknown): void {
    follower.fail(error);
    this.leave(follower);
  }

  /** Puts followers of equal progress, except for `fromS`, into a group of their own. */
  private group(
    room: Room,
    followers: readonly Follower[],
    progress: Progress,
    ownKey: string | null = null,
  ): Group {
    const [{ view }] = followers;
    const members = new Set(followers);
    const group = { room, view, members, ownKey, progress, touchedMs: null };
    for (const one of followers) {
      this.groupOf.get(one)?.members.delete(one);
      this.groupOf.set(one, group);
    }
    return group;
  }

  private closeIfEmpty(room: Room): void {
    if (room.waiting.size > 0 || room.advancing.size > 0) return;
    clearTimeout(room.timer);
    this.rooms.delete(room.tokenId);
  }
}

const nothingKept = () => ({
  update: null as Update | null,
  messages: new Map<string, Message>(),
  bytes: 0,
});

/** Calls `work` for each member, between which the server answers requests. A failure ends only the member's subscription. */
async function eachInTurns(
  members: Iterable<Follower>,
  turns: Turns,
  work: (one: Follower) => void,
): Promise<void> {
  for (const one of members) {
    try {
      work(one);
    } catch (error) {
      one.fail(error);
    }
    const turn = turns.take();
    if (turn !== undefined) await turn;
  }
}

/** The earliest time that a step concerns. */
function beginningOf(step: UpdateStep): number {
  if (step.type === 'deleted') {
    const { nextFromS, pending } = step.after;
    return Math.min(step.times[0], nextFromS, (pending?.doneT ?? Infinity) + 1);
  }
  const { snapshots } = step.plan;
  return Math.min(snapshots[0].t, step.after(snapshots.length).nextFromS);
}

/** Equal for groups that can be merged. */
function nameOf({ ownKey, view, progress }: Group): string {
  return `${progress.history} ${progress.position} ${progress.nextFromS} ${view.format} ${view.name} ${ownKey ?? ''}`;
}
