/** Watches the tokens of alerts over the live channel: one tab of the browser does so for all of them. */
import type { AddressClient } from '../../client/address-client.js';
import { FathomError, type ReplayPage } from '../../client/index.js';
import { reloadMs } from '../state/load.js';
import { pause } from '../state/pause.js';
import {
  canSpare,
  currentClient,
  isLive,
  key,
  messageOf,
  noteFailure,
  trouble,
} from '../state/session.js';
import { spared } from '../state/spare.js';
import { Value } from '../state/value.js';
import { announce } from './announce.js';
import { kept, update } from './kept.js';
import { type Fired, only } from './kept-text.js';
import { assess, type Rule, type Shot, UNSEEN } from './rules.js';
import { shotOf } from './shot.js';

/** The lock of the tab that watches. Pages of other origins have other locks. */
const LOCK = 'fathom.alerts';
/** The pause after a token could not be followed for a reason that waiting does not end. */
const FAILED_PAUSE_MS = 30_000;
/** The first requests are the page's, which learns the key's limits from them. */
const BEGIN_PAUSE_MS = 1000;
/** The score of a new snapshot is there after a moment. */
const SCORE_PAUSE_MS = 1000;
/** The most requests for the score of a new snapshot. */
const SCORE_TRIES = 3;

/** What this tab knows of a watched token. */
export interface Watched {
  /** Time of the newest snapshot seen, epoch seconds; null: none yet. */
  t: number | null;
  /** Why it is not followed at the moment; null if it is, or is about to be. */
  trouble: string | null;
}

/** By address. */
export const watched = new Value<Readonly<Record<string, Watched>>>({});
/** The newest value of each alert, by its id. */
export const readings = new Value<Readonly<Record<string, { text: string; t: number }>>>({});
/** Whether this tab watches; false if another one does, or nothing is to be watched. */
export const isWatching = new Value(false);

/** Watches while there are alerts, a key that the server takes, and the page is not paused. Call it once. */
export function startWatching(): void {
  let stop: AbortController | null = null;
  const follow = (): void => {
    const hasKey = key.value !== null && trouble.value?.kind !== 'key-refused';
    const isDue = kept.value.rules.length > 0 && hasKey && isLive.value;
    if (isDue === (stop !== null)) return;
    stop?.abort();
    stop = isDue ? new AbortController() : null;
    if (stop !== null) void asTheOnlyTab(stop.signal);
  };
  for (const value of [kept, isLive, trouble]) value.follow(follow);
  key.follow(() => {
    // Another key has a client of its own.
    stop?.abort();
    stop = null;
    follow();
  });
  follow();
}

/** Watches until the signal is aborted, once no other tab of the browser does. */
async function asTheOnlyTab(signal: AbortSignal): Promise<void> {
  try {
    // Only there on https and on this machine: elsewhere each tab watches.
    if ('locks' in navigator)
      await navigator.locks.request(LOCK, { signal }, () => watchAll(signal));
    else await watchAll(signal);
  } catch {
    // Aborted.
  }
}

async function watchAll(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  isWatching.set(true);
  const following = new Map<string, AbortController>();
  const choose = (): void => {
    const wanted = new Set(kept.value.rules.map(({ address }) => address));
    for (const [address, stop] of following) {
      if (wanted.has(address)) continue;
      stop.abort();
      following.delete(address);
    }
    for (const address of wanted) {
      if (following.has(address)) continue;
      const stop = new AbortController();
      following.set(address, stop);
      void watch(address, stop.signal);
    }
    watched.set(only(watched.value, wanted));
    readings.set(only(readings.value, new Set(kept.value.rules.map(({ id }) => id))));
  };
  const unfollow = kept.follow(choose);
  choose();
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  unfollow();
  for (const stop of following.values()) stop.abort();
  watched.set({});
  readings.set({});
  isWatching.set(false);
}

/** Follows a token until the signal is aborted. The client reconnects by itself and misses nothing. */
async function watch(address: string, signal: AbortSignal): Promise<void> {
  await pause(BEGIN_PAUSE_MS, signal).catch(() => undefined);
  while (!signal.aborted) {
    try {
      const client = currentClient();
      if (client === null) return;
      await new Token(client, address, signal).follow();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof FathomError) noteFailure(error);
      note(address, { trouble: error instanceof FathomError ? messageOf(error) : String(error) });
    }
    await pause(FAILED_PAUSE_MS, signal).catch(() => undefined);
  }
}

class Token {
  private lastT = -Infinity;
  private last: { shot: Shot | null; score: { value: number; t: number } | null } = {
    shot: null,
    score: null,
  };
  private scoring = Promise.resolve();
  private isScoreDue = false;

  constructor(
    private readonly client: AddressClient,
    private readonly address: string,
    private readonly signal: AbortSignal,
  ) {}

  async follow(): Promise<never> {
    const { client, address, signal } = this;
    const unmeet = kept.follow(() => this.meet());
    try {
      return await this.read(client, address, signal);
    } finally {
      unmeet();
    }
  }

  /** New alerts about the token see what is known already. */
  private meet(): void {
    const isNew = ({ id }: Rule): boolean => !(id in readings.value);
    if (!this.rules().some(isNew)) return;
    const { shot, score } = this.last;
    if (shot !== null) this.report(this.fire(shot, shot.t, isNew));
    if (score !== null) this.report(this.fire(score.value, score.t, isNew));
    else if (this.rules().some(({ kind }) => kind === 'score')) this.askScore();
  }

  private async read(client: AddressClient, address: string, signal: AbortSignal): Promise<never> {
    note(address, { t: null, trouble: null });
    await spared(canSpare, signal);
    const {
      data_time: t,
      service_score: score,
      symbol,
    } = await client.getScore({ address }, { signal });
    this.name(symbol);
    if (t !== null) {
      await spared(canSpare, signal);
      const page = await client.getReplay(
        { address, from: t, to: t + 1, group: 'all' },
        { signal },
      );
      this.see(page.snapshots);
      if (score !== null) this.assess(score, t);
    }
    const from = t === null ? undefined : t + 1;
    for await (const message of client.follow(address, { group: 'all', from }, { signal })) {
      note(address, { trouble: null });
      if (message.type === 'snapshots' || message.type === 'revised') this.see(message.snapshots);
    }
    throw new Error('The stream has ended');
  }

  /** Looks at snapshots in the order of their times; a revision of the newest one counts, too. */
  private see(snapshots: ReplayPage['snapshots']): void {
    const fresh = snapshots.filter(({ t }) => t >= this.lastT).toSorted((a, b) => a.t - b.t);
    if (fresh.length === 0) return;
    const shots = fresh.map(shotOf);
    const fired = shots.flatMap((shot) => this.fire(shot, shot.t));
    this.last.shot = shots[shots.length - 1];
    this.lastT = fresh[fresh.length - 1].t;
    note(this.address, { t: this.lastT });
    this.report(fired);
    if (this.rules().some(({ kind }) => kind === 'score')) this.askScore();
  }

  private assess(score: number, t: number): void {
    this.last.score = { value: score, t };
    this.report(this.fire(score, t));
  }

  private fire(
    shown: Shot | number,
    t: number,
    isAbout: (rule: Rule) => boolean = () => true,
  ): Fired[] {
    const fired: Fired[] = [];
    const seen: Record<string, (typeof kept.value.seen)[string]> = {};
    const read: Record<string, { text: string; t: number }> = {};
    for (const rule of this.rules().filter(isAbout)) {
      const before = kept.value.seen[rule.id] ?? UNSEEN;
      const outcome = assess(rule, before, shown);
      if (outcome === null) continue;
      read[rule.id] = { text: outcome.now, t };
      if (JSON.stringify(outcome.seen) !== JSON.stringify(before)) seen[rule.id] = outcome.seen;
      if (outcome.fired === null) continue;
      const { address, symbol } = rule;
      const seenT = Date.now() / 1000;
      // A revised snapshot may fire again.
      const id = `${rule.id} ${t} ${seenT}`;
      fired.push({ id, address, symbol, text: outcome.fired, dataT: t, seenT, isRead: false });
    }
    readings.set({ ...readings.value, ...read });
    // Written only if something has changed, not with each snapshot.
    if (Object.keys(seen).length > 0 || fired.length > 0) {
      update((now) => ({
        ...now,
        seen: { ...now.seen, ...seen },
        fired: [...fired.toReversed(), ...now.fired],
      }));
    }
    return fired;
  }

  private report(fired: readonly Fired[]): void {
    if (fired.length > 0) announce(fired);
  }

  /** Asks for the score of the newest snapshot, one request after the other, at most one in reloadMs(). */
  private askScore(): void {
    if (this.isScoreDue) return;
    this.isScoreDue = true;
    this.scoring = this.scoring.then(() => this.score()).catch(() => undefined);
  }

  private async score(): Promise<void> {
    const { client, address, signal } = this;
    for (let tries = 1; tries <= SCORE_TRIES; tries++) {
      // The server needs a moment for it; and new snapshots may follow at once.
      await pause(tries === 1 ? SCORE_PAUSE_MS : reloadMs(), signal);
      await spared(canSpare, signal);
      const wantedT = this.lastT;
      this.isScoreDue = false;
      const score = await client.getScore({ address }, { signal });
      if (score.service_score !== null)
        this.assess(score.service_score, score.data_time ?? wantedT);
      if ((score.data_time ?? 0) >= wantedT) break;
    }
    await pause(reloadMs(), signal);
  }

  private rules() {
    return kept.value.rules.filter(({ address }) => address === this.address);
  }

  private name(symbol: string | null): void {
    if (this.rules().every((rule) => rule.symbol === symbol)) return;
    update((now) => ({
      ...now,
      rules: now.rules.map((one) => (one.address === this.address ? { ...one, symbol } : one)),
    }));
  }
}

function note(address: string, part: Partial<Watched>): void {
  const before = watched.value[address] ?? { t: null, trouble: null };
  watched.set({ ...watched.value, [address]: { ...before, ...part } });
}
