import type { BinnedBatch } from '../../compute/ingest/batch.js';

/** What a batch holds, without the lines that its parts came from. */
export function contentOf(batch: BinnedBatch): object {
  const parts = batch.parts.map(({ run, markets, arrivals }) => ({ run, markets, arrivals }));
  return { ...batch, parts };
}
