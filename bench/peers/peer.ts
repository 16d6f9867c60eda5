/** A server of the same pages, whatever it is built of. */
import type { TokenHistory } from '../data/pages.js';
import type { PlainSnapshot } from './content.js';
import type { PageWindow } from '../cases/request.js';
import type { TableFiles } from './tables.js';

/** What existed of a page before it was requested: nothing, or its compressed pieces. */
export type PageState = 'cold' | 'fragments';

/** One way to answer. */
export interface PeerWay {
  name: string;
  state: PageState;
  /** For people, such as `gzip 1`. */
  coding: string;
  acceptEncoding: 'gzip' | 'br';
  pathOf: (window: PageWindow) => string;
  /** The decoded JSON as the replay reply has it. */
  snapshotsOf: (document: unknown, history: TokenHistory) => PlainSnapshot[];
}

/** What a peer is started with. */
export interface PeerPlace {
  /** A folder for its files, which is removed afterwards. */
  folder: string;
  files: TableFiles;
  tokens: number;
}

export interface Peer {
  name: string;
  /** The versions of its parts. */
  version: string;
  url: string;
  headers: Record<string, string>;
  ways: readonly PeerWay[];
  /** CPU time of all of its processes; null without /proc. */
  cpuMs(): number | null;
  stop(): Promise<void>;
}

/** Something is not installed, or can't run here: the rest is measured without it. */
export class NotRunError extends Error {}
