/** Stores of full segments, committed like an ingest does. */
import { describeSegment, sliceRun, splitRun } from '../../compute/segment/segment.js';
import type { SegmentFrame } from '../../storage/bundle.js';
import {
  benchAddress,
  EVERY_S,
  PAGE_A,
  START_S,
  tokenHistory,
  type TokenHistory,
} from './pages.js';
import { commitFrames } from '../store.js';
import { type GrowthStore, makeGrowthStore, type StoreShape } from './growth-store.js';

/**
 * How many histories the tokens share, each token under its own address and markets: generating them takes time.
 */
const BASES = 8;
/** Tokens per commit. */
const TOKENS_PER_COMMIT = 100;

/**
 * Fills a store in the order in which data arrives: a stretch of time for every token, then the next stretch. A stretch
 * is as long as a segment.
 */
export function fullSegmentStore(shape: StoreShape): Promise<GrowthStore> {
  const { everyS = EVERY_S } = shape;
  return makeGrowthStore(shape, async (store) => {
    const stretches = Array.from({ length: BASES }, (_, i) =>
      splitRun(tokenHistory(PAGE_A, PAGE_A.snapshots, i).run),
    );
    const [{ length: snapshotsAtMost }] = stretches[0].map(({ t }) => t);
    for (let first = 0; first < shape.snapshots; first += snapshotsAtMost) {
      const snapshots = Math.min(snapshotsAtMost, shape.snapshots - first);
      for (let token = 0; token < shape.tokens; token += TOKENS_PER_COMMIT) {
        const end = Math.min(shape.tokens, token + TOKENS_PER_COMMIT);
        const frames = Array.from({ length: end - token }, (_, i): SegmentFrame => {
          const base = stretches[(token + i) % BASES];
          const stretch = base[(first / snapshotsAtMost) % (base.length - 1)];
          return frameOf(token + i, sliceRun(stretch, 0, snapshots), first, everyS);
        });
        await commitFrames(store, frames);
      }
    }
    await store.settled();
  });
}

/** The stretch, under a token's address, from its snapshot number `first` on. */
function frameOf(
  token: number,
  stretch: TokenHistory['run'],
  first: number,
  everyS: number,
): SegmentFrame {
  const { chain, tier } = stretch;
  const address = benchAddress(token);
  const t = stretch.t.map((_, s) => START_S + (first + s) * everyS);
  return {
    kind: 'segment',
    chain,
    address,
    tier,
    markets: marketsOfToken(token),
    segment: describeSegment({ ...stretch, address, t }),
  };
}

function marketsOfToken(token: number): TokenHistory['markets'] {
  return tokenHistory(PAGE_A, 0, token).markets;
}
