/** A server that answers for the same pages, whatever it is made of. */
import type { TokenHistory } from '../data/pages.js';
import type { PlainSnapshot } from './content.js';
import type { PageWindow } from '../cases/request.js';
import type { TableFiles } from './tables.js';

/** What of a page was made before it was asked for: nothing, or its compressed pieces. */
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

/** What a peer is made from. */
export interface PeerPlace {
  /** For what it keeps; it is removed afterwards. */
  folder: string;
  files: TableFiles;
  tokens: number;
}

export interface Peer {
  name: string;
  /** Of everything that it is made of. */
  version: string;
  url: string;
  headers: Record<string, string>;
  ways: readonly PeerWay[];
  /** CPU time of all of its processes; null where this system does not tell. */
  cpuMs(): number | null;
  stop(): Promise<void>;
}

/** Something is not installed, or can't run here: the rest is measured without it. */
export class NotRunError extends Error {}
