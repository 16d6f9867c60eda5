/** What a pool thread runs: every export is a task, called by its name with one plain input. */
import { threadId } from 'node:worker_threads';
import { transferablesOf, type BinnedBatch } from './ingest/batch.js';
import { packCellColumns as cellColumns, type CellColumnsInput } from './ingest/cell-columns.js';
import { packCellLines as cellLines } from './ingest/cell-lines.js';
import {
  binSnapshotLines as snapshotLines,
  binSnapshotRows as snapshotRows,
  type BatchOptions,
  type SnapshotLines,
} from './ingest/snapshot-lines.js';
import { simulateDemo as simulate, type DemoUnitInput } from './demo/task.js';
import {
  rankPressure as rank,
  transferablesOfRanking,
  type PressureInput,
  type PressureRanking,
} from './orders/pressure.js';
import type { HolderFlow } from './holders/flow.js';
import { flowOfBlocks, transferablesOfFlow, type HolderFlowInput } from './holders/task.js';
import { buildPack, type PackInput } from './fragments/build.js';
import {
  rewriteHolderBlocks as rewriteHolders,
  type EncodedHolderBlock,
  type HolderRewrite,
} from './holders/rewrite.js';
import { moved } from './pool.js';
import { renderPage as render, type RenderInput, type RenderResult } from './replay/task.js';
import { transferablesOfCells, type SnapshotCells } from './ladder/snapshot-cells.js';
import { pickSnapshots as pick, type PickInput } from './segment/pick.js';
import {
  encodeRuns as encode,
  rewriteSegments as rewrite,
  type JoinedSegments,
  type RewriteInput,
  type RewriteResult,
} from './segment/task.js';

export { dlmmBoard, feeDensityBoards, poolRanges, priceHours } from './lp/tasks.js';

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
  const blocks = rewriteHolders(input);
  if (blocks === null) return null;
  return moved(
    blocks,
    blocks.flatMap(({ block, times }) => [block.buffer, times.buffer]),
  );
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
  const flow = flowOfBlocks(input);
  return flow && moved(flow, transferablesOfFlow(flow));
}

function movedBatch(batch: BinnedBatch): BinnedBatch {
  return moved(batch, transferablesOf(batch));
}
