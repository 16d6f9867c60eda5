/** Messages between the comparison and its two builds, over IPC. */

/** Asks a build to load a group, to take one turn at a case, or for the current hash of a case's result. */
export type SideRequest =
  | { kind: 'load'; group: string }
  | { kind: 'turn'; name: string; turnMs: number }
  | { kind: 'hash'; name: string }
  | { kind: 'unload' };

/** Deterministic figures of one operation; more is worse. */
export type Counters = Record<string, number>;

export interface LoadedCase {
  name: string;
  hash: string;
  counters: Counters;
}

/** A group, a part of it or a case that a build cannot load or run. */
export interface SideFailure {
  what: string;
  reason: string;
}

export type SideReply =
  /** Whole: every part of the group was loaded, so a missing case was removed on purpose. */
  | { kind: 'loaded'; whole: boolean; cases: LoadedCase[]; failures: SideFailure[] }
  | { kind: 'turn'; medianMs: number }
  | { kind: 'hash'; hash: string }
  | { kind: 'unloaded' }
  /** The request threw. */
  | { kind: 'failed'; reason: string };

/** The reply to a successful request. */
export type ReplyTo<R extends SideRequest> = Extract<
  SideReply,
  {
    kind: { load: 'loaded'; turn: 'turn'; hash: 'hash'; unload: 'unloaded' }[R['kind']];
  }
>;
