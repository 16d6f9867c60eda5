/** What a command hands to the store: one file of a dataset, read, validated and binned. */
import type { OwnerNames } from '../../compute/holders/owners.js';
import type { MarketPlace } from '../../compute/ingest/run-builder.js';
import type { Chain, Market, Tier } from '../../compute/market.js';
import type { JoinMode } from '../../compute/segment/merge.js';
import type { EncodedSegment } from '../../compute/segment/segment.js';
import type { FlatDataset, TokenRow } from '../contract.js';
import type { SqlValue } from '../duckdb/statements.js';

/** Another layout of the frames is another version; the store refuses one it does not know. */
export const BUNDLE_VERSION = 2;

/** First frame of a bundle. */
export interface HeaderFrame {
  kind: 'header';
  version: number;
  /** The file's name as faults name it. */
  file: string;
  mode: JoinMode;
}

/** Markets of a token that its next segments, of whichever tier, name, in order of first arrival. */
export interface MarketsFrame {
  kind: 'markets';
  chain: Chain;
  address: string;
  markets: Market[];
  /** Where each first stood in the file, for what is wrong with it. */
  places?: MarketPlace[];
}

/** One segment of one token and tier. */
export interface SegmentFrame {
  kind: 'segment';
  chain: Chain;
  address: string;
  tier: Tier;
  /** What the segment's market column indexes. */
  markets: Market[];
  segment: EncodedSegment;
}

/** Rows of dataset `tokens`, with the line of each. */
export interface TokensFrame {
  kind: 'tokens';
  rows: { line: number; row: TokenRow }[];
}

/**
 * A row of a flat dataset: its table's columns in order, then whether it is kept. One that is not
 * only takes the stored row of its key away.
 */
export type FlatRowValues = readonly SqlValue[];

/** Rows of a flat dataset in the file's order. */
export interface RowsFrame {
  kind: 'rows';
  dataset: FlatDataset;
  rows: FlatRowValues[];
}

/** Holder snapshots of one token; a later frame's take the place of an earlier one's of the same t. */
export interface HoldersFrame {
  kind: 'holders';
  tokenAddress: string;
  /** The block's owners by their number. */
  names: OwnerNames;
  /** Epoch seconds of the block's snapshots, ascending. */
  times: Uint32Array;
  /** compute's holder block. */
  block: Uint8Array;
}

/** Last frame: without it the file was cut short. */
export interface EndFrame {
  kind: 'end';
  frames: number;
}

export type Frame =
  HeaderFrame | MarketsFrame | SegmentFrame | TokensFrame | RowsFrame | HoldersFrame | EndFrame;
