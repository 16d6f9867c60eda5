/** What the comparison and the two builds that it compares say to one another, over IPC. */

/** Asks a build to load a group, or to take one turn at a case of it. */
export type SideRequest =
  | { kind: 'load'; group: string }
  | { kind: 'turn'; name: string; turnMs: number }
  | { kind: 'unload' };

export interface LoadedCase {
  name: string;
  hash: string;
  /** Deterministic figures of one operation: more is worse. */
  counters: Record<string, number>;
}

export type SideReply =
  | { kind: 'loaded'; cases: LoadedCase[] }
  /** The build lacks what the group measures. */
  | { kind: 'lacks'; reason: string }
  | { kind: 'turn'; medianMs: number }
  | { kind: 'unloaded' };
