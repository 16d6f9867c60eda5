/** The tasks of a pool thread: every export is a task, called by name with one plain input, and returns an outcome. */
import { threadId } from 'node:worker_threads';
import * as sums from './depth/depth-series.js';
import * as series from './depth/series-document.js';
import * as slippages from './depth/slippage-document.js';
import * as blocks from './holders/block-decoder.js';
import * as flow from './holders/flow.js';
import * as holders from './holders/rewrite.js';
import * as chunks from './ingest/chunk.js';
import * as cells from './ingest/flat-cells.js';
import * as levels from './ingest/level-rows.js';
import * as dlmm from './lp/dlmm-board.js';
import * as density from './lp/fee-density.js';
import * as range from './lp/pool-range.js';
import * as prices from './lp/price-range.js';
import { copying, moving } from './outcome.js';
import * as pressure from './orders/pressure.js';
import { packFragments } from './replay/fragment-file.js';
import * as fragments from './replay/fragment-maker.js';
import * as message from './replay/message.js';
import * as replay from './replay/render.js';
import * as rewrite from './segment/rewrite.js';
import * as samples from './segment/sample.js';
import * as segments from './segment/snapshots.js';

/** Their results are copied: the blocks are in memory of the LZ4 library, which cannot be moved. */
export const encodeRuns = copying((tokens: Parameters<typeof rewrite.encodeRuns>[0][]) =>
  tokens.map(rewrite.encodeRuns),
);
export const rewriteSegments = copying(rewrite.rewriteSegments);
export const sampleSegments = copying(samples.sampleSegments);

/** Returns the thread's id, and shows that the thread takes tasks. */
export const ping = copying((_input: null) => threadId);

export const renderMessage = moving(message.renderMessage);
export const renderPage = moving(replay.renderPage);
export const countPage = copying(replay.countPage);
export const sumSnapshots = moving(sums.sumSnapshots);
export const encodeSeries = moving(series.encodeSeries);
/** Packs the fragments of each input: one buffer then crosses threads. */
export const makeFragments = moving(
  (inputs: readonly (fragments.FragmentsInput & { segmentId: number })[]) =>
    inputs.map((input) => packFragments(input.segmentId, fragments.makeFragments(input))),
);
export const pickSnapshots = moving(segments.pickSnapshots);
export const slippageReply = moving(slippages.slippageReply);
export const findSlippage = copying(slippages.findSlippage);
export const encodeSlippage = moving(slippages.encodeSlippage);
export const binChunk = moving(chunks.binChunk);
export const headsOfChunk = copying(chunks.headsOfChunk);
export const columnsOfLines = moving(cells.columnsOfLines);
export const sortLevels = moving(levels.sortLevels);
export const rewriteHolderBlocks = moving(holders.rewriteHolderBlocks);
export const outlineOfBlock = moving(blocks.outlineOfBlock);
export const holderFlow = moving(flow.holderFlow);
/** The ranking and its cost in this thread. */
export const rankPressure = moving((input: pressure.PressureInput) => {
  const startMs = performance.now();
  const ranking = pressure.rankPressure(input);
  return { ranking, costMs: performance.now() - startMs };
});
export const poolRanges = moving(range.poolRanges);
export const priceHours = moving(prices.priceHours);
export const dlmmBoard = moving(dlmm.dlmmBoardTask);
export const feeDensityBoards = moving(density.feeDensityTask);
