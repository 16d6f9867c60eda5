/** Short hashes of results: different hashes mean different results. */
import { createHash } from 'node:crypto';
import type { BinnedChunk } from '../compute/ingest/binned-chunk.js';
import type { Page } from '../compute/replay/page.js';
import type { SnapshotRun } from '../compute/segment/run.js';

const HASH_CHARS = 8;

type Part = ArrayBufferView | string;

/** The first characters of SHA-256 over the parts, each preceded by its length in bytes. */
export function digestOf(parts: readonly Part[]): string {
  const hash = createHash('sha256');
  for (const part of parts) {
    const bytes = bytesOf(part);
    if (parts.length > 1) hash.update(`${bytes.length}:`);
    hash.update(bytes);
  }
  return hash.digest('hex').slice(0, HASH_CHARS);
}

function bytesOf(part: Part): Uint8Array {
  if (typeof part === 'string') return Buffer.from(part);
  return new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
}

/** A run's contents, independent of the width of its cents. */
export function digestOfRun(run: SnapshotRun): string {
  return digestOf(partsOfRun(run));
}

/** The contents of several runs, in order. */
export function digestOfRuns(runs: readonly SnapshotRun[]): string {
  return digestOf(runs.flatMap(partsOfRun));
}

/** The result of binning. @throws Error if a row was refused */
export function digestOfBatch(batch: BinnedChunk): string {
  if (batch.faultCount > 0) {
    const [{ line, field, message }] = batch.faults;
    throw new Error(`generated rows are refused: ${line}: ${field}: ${message}`);
  }
  return digestOf(
    batch.runs.flatMap(({ run, markets }) => [...partsOfRun(run), JSON.stringify(markets)]),
  );
}

export function digestOfPage(page: Page): string {
  const { t, tier, priceUsd, cellOffsets, index, bin, supportCents, resistanceCents } = page;
  const { markets, groups, facets, end, nextFrom } = page;
  return digestOf([
    t,
    tier,
    priceUsd,
    cellOffsets,
    bin,
    supportCents,
    resistanceCents,
    ...(index === null ? [] : [index]),
    JSON.stringify({ markets, groups, facets, end, nextFrom }),
  ]);
}

function partsOfRun(run: SnapshotRun): Part[] {
  const { chain, address, tier, t, priceUsd, cellOffsets, market, bin } = run;
  return [
    `${chain} ${address} ${tier}`,
    t,
    priceUsd,
    cellOffsets,
    market,
    bin,
    Float64Array.from(run.supportCents),
    Float64Array.from(run.resistanceCents),
  ];
}
