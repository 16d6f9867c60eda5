/** What a pool thread runs: every export is a task, called by its name with one plain input. */
import { threadId } from 'node:worker_threads';
import { type DemoUnitInput, simulateDemo as simulate } from './demo/task.js';
import { buildPack, type PackInput } from './fragments/build.js';
import { holderFlow as flow, type HolderFlow, type HolderFlowInput } from './holders/flow.js';
import {
  type EncodedHolderBlock,
  type HolderRewrite,
  rewriteHolderBlocks as rewriteHolders,
} from './holders/rewrite.js';
import { type BinnedBatch, transferablesOf } from './ingest/batch.js';
import { type CellColumnsInput, packCellColumns as cellColumns } from './ingest/cell-columns.js';
import { packCellLines as cellLines } from './ingest/cell-lines.js';
import {
  type BatchOptions,
  binSnapshotLines as snapshotLines,
  binSnapshotRows as snapshotRows,
  type SnapshotLines,
} from './ingest/snapshot-lines.js';
import { type SnapshotCells, transferablesOfCells } from './ladder/snapshot-cells.js';
import { type DlmmBoard, dlmmBoard as board, type DlmmBoardInput } from './lp/dlmm-board.js';
import {
  type FeeDensityBoards,
  feeDensityBoards as density,
  type FeeDensityInput,
} from './lp/fee-density.js';
import { type PoolRanges, poolRanges as ranges, type PoolRangesInput } from './lp/pool-range.js';
import { type HourPrices, priceHours as prices, type PriceHoursInput } from './lp/price-range.js';
import {
  type PressureInput,
  type PressureRanking,
  rankPressure as rank,
  transferablesOfRanking,
} from './orders/pressure.js';
import { moved } from './pool.js';
import { type RenderInput, renderPage as render, type RenderResult } from './replay/task.js';
import { type PickInput, pickSnapshots as pick } from './segment/pick.js';
import {
  encodeRuns as encode,
  type JoinedSegments,
  type RewriteInput,
  type RewriteResult,
  rewriteSegments as rewrite,
} from './segment/task.js';

/** Answers with the thread's id: it has started and takes tasks. */
export function ping(_input: null): number {
  return threadId;
}

/** One replay page; its body is moved to the caller. */
export function renderPage(input: RenderInput): RenderResult {
  const result = render(input);
  return result.status === 'done' ? moved(result, [result.body.buffer]) : result;
}

/** Fragment packs of segments: the buffers that openPack opens, moved to the caller. */
export function buildFragments(inputs: readonly PackInput[]): Uint8Array<ArrayBuffer>[] {
  const packs = inputs.map((input) => buildPack(input).buffer);
  return moved(
    packs,
    packs.map(({ buffer }) => buffer),
  );
}

/** NDJSON lines of `snapshots`, binned; the columns are moved to the caller. */
export function binSnapshotLines(input: SnapshotLines): BinnedBatch {
  return movedBatch(snapshotLines(input));
}

/** Parsed rows of `snapshots`, binned. */
export function binSnapshotRows(input: BatchOptions & { rows: unknown[] }): BinnedBatch {
  return movedBatch(snapshotRows(input.rows, input));
}

/** NDJSON lines of `cells`, packed into runs. */
export function packCellLines(input: SnapshotLines): BinnedBatch {
  return movedBatch(cellLines(input));
}

/** Columns of `cells`, packed into runs. */
export function packCellColumns(input: CellColumnsInput): BinnedBatch {
  return movedBatch(cellColumns(input));
}

/** A piece of the simulated market, binned. */
export function simulateDemo(input: DemoUnitInput): BinnedBatch {
  return movedBatch(simulate(input));
}

/** Binned runs as segments ready to be stored. */
export function encodeRuns(input: Parameters<typeof encode>[0]): JoinedSegments {
  return encode(input);
}

/** Stored segments with another laid over them. */
export function rewriteSegments(input: RewriteInput): RewriteResult {
  return rewrite(input);
}

/** Stored holder blocks with snapshots laid over them; the blocks are moved to the caller. */
export function rewriteHolderBlocks(input: HolderRewrite): EncodedHolderBlock[] | null {
  return movedColumns(rewriteHolders(input));
}

/** Single snapshots of stored segments; the columns are moved to the caller. */
export function pickSnapshots(input: readonly PickInput[]): SnapshotCells[][] {
  const picked = pick(input);
  return moved(picked, picked.flat().flatMap(transferablesOfCells));
}

/** Every token's DCA pressure, ranked, and what that cost; the columns are moved to the caller. */
export function rankPressure(input: PressureInput): { ranking: PressureRanking; costMs: number } {
  const startMs = performance.now();
  const ranking = rank(input);
  const costMs = performance.now() - startMs;
  return moved({ ranking, costMs }, transferablesOfRanking(ranking));
}

/** What a token's largest holders did; the columns are moved to the caller. */
export function holderFlow(input: HolderFlowInput): HolderFlow | null {
  return movedColumns(flow(input));
}

/** One base token's pools in the range of its price; the columns are moved to the caller. */
export function poolRanges(input: PoolRangesInput): PoolRanges {
  return movedColumns(ranges(input));
}

/** A token's prices by hour; the columns are moved to the caller. */
export function priceHours(input: PriceHoursInput): HourPrices {
  return movedColumns(prices(input));
}

/** The DLMM board of every period; the columns are moved to the caller. */
export function dlmmBoard(input: DlmmBoardInput): DlmmBoard {
  return movedColumns(board(input));
}

/** The fee density of every window and denominator; the columns are moved to the caller. */
export function feeDensityBoards(input: FeeDensityInput): FeeDensityBoards {
  return movedColumns(density(input));
}

function movedBatch(batch: BinnedBatch): BinnedBatch {
  return moved(batch, transferablesOf(batch));
}

/** Moves all columns of a result, however deep its objects nest. */
function movedColumns<T extends object | null>(result: T): T {
  return moved(result, [...buffersIn(result)]);
}

function buffersIn(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) found.add(value.buffer as ArrayBuffer);
  else if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) buffersIn(inner, found);
  }
  return found;
}
