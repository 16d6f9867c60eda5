/** What the comparison and the two builds that it compares say to one another, over IPC. */

/** Asks a build to load a group, to take one turn at a case of it, or to say what a case gives now. */
export type SideRequest =
  | { kind: 'load'; group: string }
  | { kind: 'turn'; name: string; turnMs: number }
  | { kind: 'hash'; name: string }
  | { kind: 'unload' };

/** Deterministic figures of one operation: more is worse. */
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
  /** Whole: every part of the group is there, so that a case that is not is not meant to be. */
  | { kind: 'loaded'; whole: boolean; cases: LoadedCase[]; failures: SideFailure[] }
  | { kind: 'turn'; medianMs: number }
  | { kind: 'hash'; hash: string }
  | { kind: 'unloaded' }
  /** What was asked for threw. */
  | { kind: 'failed'; reason: string };

/** The reply to a request that did not fail. */
export type ReplyTo<R extends SideRequest> = Extract<
  SideReply,
  {
    kind: { load: 'loaded'; turn: 'turn'; hash: 'hash'; unload: 'unloaded' }[R['kind']];
  }
>;
