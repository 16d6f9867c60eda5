/** A server of the same pages, whatever it is built of. */
import type { TokenHistory } from '../data/pages.js';
import type { PlainSnapshot } from './content.js';
import type { PageSet, PageWindow } from './page-set.js';
import type { TableFiles } from './tables.js';

/** What existed of a page before it was requested: nothing, its compressed pieces, or its bytes in a file. */
export type PageState = 'cold' | 'fragments' | 'file';

export type PageFormat = 'JSON' | 'Arrow' | 'Parquet';

/** What a reply is compared with. */
export interface ComparedPage {
  window: PageWindow;
  history: TokenHistory;
  snapshots: PlainSnapshot[];
}

/** One way to answer. */
export interface PeerWay {
  name: string;
  state: PageState;
  format: PageFormat;
  /** For people, such as `gzip 1`. */
  coding: string;
  /** The content coding that is asked for, and that every reply must have. */
  contentCoding: 'gzip' | 'br' | 'identity';
  /** Whether a reply is a range of a file. */
  isRange?: boolean;
  pathOf: (window: PageWindow) => string;
  /** Beside those of the server and the content coding. */
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
  /** CPU time of all of its processes so far; null where nobody counts it. */
  cpuMs(): number | null | Promise<number | null>;
  stop(): Promise<void>;
}

/** Something is not installed, or can't run here: the rest is measured without it. */
export class NotRunError extends Error {}
