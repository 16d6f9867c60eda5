/** The pool's entry points for making segments. */
import type { Market } from '../market/market.js';
import {
  PriceConflictError,
  joinRuns,
  remapMarkets,
  type JoinMode,
  type MarketRun,
} from './join.js';
import { decodeSegment } from './segment.js';
import { describeSegment, splitRun, type EncodedSegment } from './split.js';

/** Segments ready to be stored, and the markets that they index. */
export interface JoinedSegments {
  segments: EncodedSegment[];
  markets: Market[];
}

/**
 * Joins runs fresh from binning and encodes the result as segments of the usual size. What is to be
 * merged keeps its cells without amounts until it meets what is stored.
 */
export function encodeRuns(input: { parts: MarketRun[]; mode: JoinMode }): JoinedSegments {
  const { run, markets } = joinRuns(input.parts, input.mode, input.mode === 'merge');
  return { segments: splitRun(run).map(describeSegment), markets: [...markets] };
}

/** What rewriteSegments joins: stored blocks, oldest first, and what is laid over them. */
export interface RewriteInput {
  stored: Uint8Array[];
  added: Uint8Array | null;
  /** The added block's market index -> the token's; null where they agree. */
  marketMap: Uint16Array | null;
  mode: JoinMode;
}

/** `price-conflict`: a snapshot to be merged has another price in the store than it was made for. */
export type RewriteResult =
  { status: 'done'; segments: EncodedSegment[] } | { status: 'price-conflict'; t: number };

/**
 * Lays a block over stored ones of the same token and tier and cuts the result into segments.
 * Without `added` it only joins small segments into large ones.
 */
export function rewriteSegments(input: RewriteInput): RewriteResult {
  const runs = input.stored.map(decodeSegment);
  if (input.added !== null) {
    const added = decodeSegment(input.added);
    runs.push(input.marketMap === null ? added : remapMarkets(added, input.marketMap));
  }
  // Indexes already are the token's own, so no list of markets has to be brought together.
  const parts = runs.map((run) => ({ run, markets: [] }));
  try {
    return {
      status: 'done',
      segments: splitRun(joinRuns(parts, input.mode).run).map(describeSegment),
    };
  } catch (error) {
    if (error instanceof PriceConflictError) return { status: 'price-conflict', t: error.t };
    throw error;
  }
}
