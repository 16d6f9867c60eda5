/** The flags of `npm run bench:peers`. */
import path from 'node:path';
import { namesFlag, readBenchFlags, wholeFlag } from '../flags.js';
import type { Turns } from './measure.js';

/** The peers that Fathom is compared with. */
export const PEER_NAMES = ['duckdb', 'postgres', 'clickhouse'] as const;
export type PeerName = (typeof PEER_NAMES)[number];

export const USAGE = `npm run bench:peers -- [--only NAME,NAME] [--tokens N] [--seconds N] [--smoke] [--json FILE]
  --only      peers to compare with: ${PEER_NAMES.join(', ')}; those that are not installed are left out
  --tokens    tokens in the store, two pages each; default 16
  --seconds   seconds of each row, in three turns; default 3
  --smoke     small and short: shows that it works, not how fast
  --json FILE where the results go; default bench/results/peers.json`;

export interface PeersOptions {
  peers: readonly PeerName[];
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
  const { only, tokens, seconds, smoke, json } = readBenchFlags(words, {
    options: {
      only: { type: 'string' },
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
    tokens: smoke ? 2 : stored,
    turns: smoke
      ? { clients: [1, 2], rounds: 1, warmUpMs: 0, turnMs: 1 }
      : { clients: [1, 8], rounds: ROUNDS, warmUpMs: turnMs / 2, turnMs },
    smoke,
    jsonFile: path.resolve(json),
  };
}
