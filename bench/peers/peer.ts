/** A server of the same pages, whatever it is built with. */
import type { TokenHistory } from '../data/pages.js';
import type { PlainSnapshot } from './content.js';
import type { PageSet, PageWindow } from './page-set.js';
import type { TableFiles } from './tables.js';

/** What existed of a page before the request: nothing, its compressed pieces, or its bytes in a file. */
export type PageState = 'cold' | 'fragments' | 'file';

/** What a reply is compared with. */
export interface ComparedPage {
  window: PageWindow;
  history: TokenHistory;
  snapshots: PlainSnapshot[];
}

/** One way to make a reply. */
export interface PeerWay {
  name: string;
  state: PageState;
  /** Format and coding for people, such as `JSON, gzip 1`. */
  coding: string;
  /** The requested content coding, which every reply must have. */
  contentCoding: 'gzip' | 'identity';
  /** Whether a reply is a range of a file. */
  isRange?: boolean;
  pathOf: (window: PageWindow) => string;
  /** In addition to those of the server and the content coding. */
  headersOf?: (window: PageWindow) => Record<string, string>;
  /** Decodes a reply without its content coding. */
  snapshotsOf: (body: Uint8Array, page: ComparedPage) => PlainSnapshot[] | Promise<PlainSnapshot[]>;
}

/** What a peer is started with. */
export interface PeerPlace {
  /** A folder for its files, which is removed afterwards. */
  folder: string;
  files: TableFiles;
  set: PageSet;
}

export interface Peer {
  name: string;
  /** The versions of its parts. */
  version: string;
  url: string;
  headers: Record<string, string>;
  ways: readonly PeerWay[];
  /** CPU time of all its processes so far; null if it is not known. */
  cpuMs(): number | null | Promise<number | null>;
  stop(): Promise<void>;
}

/** Something is not installed or cannot run here: everything else is measured without it. */
export class NotRunError extends Error {}
