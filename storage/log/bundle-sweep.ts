/** Removes large bundles that no entry refers to. */
import { HOUR_MS } from '../../compute/time.js';
import { ABANDONED_AFTER_MS } from '../bundle.js';
import { wallMs } from '../wall-clock.js';
import { largeBundleOf } from './entry.js';
import type { JetStreamLog } from './jetstream.js';

/** How often a node searches for them. */
const EVERY_MS = 6 * HOUR_MS;

export class BundleSweep {
  private lookedAtMs = -Infinity;

  constructor(
    private readonly log: JetStreamLog,
    private readonly onError: (error: unknown) => void,
    private readonly afterMs?: number,
  ) {}

  /** Starts a sweep in the background if one is due; call it often. */
  look(): void {
    if (performance.now() - this.lookedAtMs < EVERY_MS) return;
    this.lookedAtMs = performance.now();
    sweepBundles(this.log, this.afterMs).catch(this.onError);
  }
}

/**
 * Removes large bundles that no entry refers to: their publishers ended before publishing the entry. Before a node
 * publishes an entry, it checks that the bundle is still there.
 * @param afterMs minimum age of a bundle, by this machine's clock and by the times of the log
 * @returns how many were removed
 */
export async function sweepBundles(
  log: JetStreamLog,
  afterMs: number = ABANDONED_AFTER_MS,
): Promise<number> {
  const contents = await log.bundles.contents();
  const state = await log.state();
  if (contents.length === 0 || state === null) return 0;
  const last = await log.lastLarge();
  const named = new Set<string>();
  let seen = 0;
  if (last > 0) {
    for await (const { position, data } of log.largeEntries(state.first, last)) {
      const name = largeBundleOf(data);
      if (name !== null) named.add(name);
      seen = position;
    }
  }
  // A JetStream server that lags behind the others may lack entries.
  if (seen < last) return 0;
  const beforeMs = Math.min(wallMs(), state.lastMs) - afterMs;
  let removed = 0;
  for (const content of contents) {
    if (content.name !== null && named.has(content.name)) continue;
    const putMs = await log.bundles.lastPutMs(content);
    if (putMs === null || putMs >= beforeMs) continue;
    await log.bundles.remove(content);
    removed++;
  }
  return removed;
}
