import type { BinnedChunk } from '../../compute/ingest/binned-chunk.js';

/** What a chunk holds, without the lines that its runs came from. */
export function contentOf(chunk: BinnedChunk): object {
  const runs = chunk.runs.map(({ run, markets, arrivals }) => ({ run, markets, arrivals }));
  return { ...chunk, runs };
}
