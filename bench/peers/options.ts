/** The flags of `npm run bench:peers`. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { BenchUsageError } from '../errors.js';
import { namesFlag, readBenchFlags, wholeFlag } from '../flags.js';
import type { Turns } from './measure.js';

/** The peers that Fathom is compared with. */
const PEER_NAMES = ['duckdb', 'postgres', 'clickhouse', 'parquet'] as const;
export type PeerName = (typeof PEER_NAMES)[number];

/** The contents of the pages. */
const PAGES_NAMES = ['generated', 'books', 'pools'] as const;
export type PagesName = (typeof PAGES_NAMES)[number];

/** Where to find real market data. */
const REAL_FOLDER = path.join('..', 'shared', 'data');

export const USAGE = `npm run bench:peers -- [FLAG...]
  --only NAME,NAME   peers to compare with: ${PEER_NAMES.join(', ')}; those that are not installed are left out
  --clickhouse URL   a running ClickHouse of any version as one more peer, such as http://127.0.0.1:8123 or
                     http://user:password@127.0.0.1:8123; makes and drops a database there
  --pages NAME,NAME  what the pages are of: ${PAGES_NAMES.join(', ')}; one table each
  --real FOLDER      real order books and pools; default ${REAL_FOLDER}, left out where it is absent
  --tokens N         generated tokens in the store, two pages each; default 16
  --seconds N        seconds of each row, in three turns; default 3
  --smoke            small and short: shows that it works, not how fast
  --json FILE        where the results go; default bench/results/peers.json`;

export interface PeersOptions {
  peers: readonly PeerName[];
  clickhouse: URL | null;
  pages: readonly PagesName[];
  /** Exists, unless it is the default. */
  realFolder: string;
  tokens: number;
  turns: Turns;
  smoke: boolean;
  jsonFile: string;
}

/** Fathom keeps the fragments of all of them in memory. */
const MAX_TOKENS = 64;
const MAX_SECONDS = 600;
const ROUNDS = 3;

/** @throws BenchUsageError */
export function readPeersOptions(words: readonly string[]): PeersOptions {
  const { only, clickhouse, pages, real, tokens, seconds, smoke, json } = readBenchFlags(words, {
    options: {
      only: { type: 'string' },
      clickhouse: { type: 'string' },
      pages: { type: 'string' },
      real: { type: 'string' },
      tokens: { type: 'string', default: '16' },
      seconds: { type: 'string', default: '3' },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'peers.json') },
    },
  }).values;
  const stored = wholeFlag('--tokens', tokens, 1, MAX_TOKENS);
  const turnMs = (1000 * wholeFlag('--seconds', seconds, 1, MAX_SECONDS)) / ROUNDS;
  return {
    peers: namesFlag('--only', only, PEER_NAMES),
    clickhouse: clickhouse === undefined ? null : addressFlag('--clickhouse', clickhouse),
    pages: namesFlag('--pages', pages, PAGES_NAMES),
    realFolder: realFolder(real),
    tokens: smoke ? 2 : stored,
    turns: smoke
      ? { clients: [1, 2], rounds: 1, warmUpMs: 0, turnMs: 1 }
      : { clients: [1, 8], rounds: ROUNDS, warmUpMs: turnMs / 2, turnMs },
    smoke,
    jsonFile: path.resolve(json),
  };
}

/** @throws BenchUsageError if it is not exactly a server's address */
function addressFlag(flag: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isAddress = url?.protocol === 'http:' && url.pathname === '/';
  if (isAddress && url.search === '' && url.hash === '') return url;
  throw new BenchUsageError(
    `${flag}: expected the address of its HTTP interface, such as http://127.0.0.1:8123, not '${text}'`,
  );
}

/** @throws BenchUsageError if a given folder does not exist */
function realFolder(given: string | undefined): string {
  if (given === undefined) return REAL_FOLDER;
  if (existsSync(given)) return given;
  throw new BenchUsageError(`--real: there is no folder '${given}'`);
}
