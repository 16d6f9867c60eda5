/** The bench's pages as the plain reference makes them. */
import { createHash } from 'node:crypto';
import { type PageShape, tokenHistory } from '../../bench/data/pages.js';
import { envelopeOf } from '../../bench/data/requests.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import type { SnapshotRun } from '../../compute/segment/run.js';
import { type PlainRequest, type PlainStore, referencePage } from '../reference/replay.js';

/** The generated page as the plain reference's store. */
function plainStore({ run, markets }: { run: SnapshotRun; markets: PlainStore['markets'] }) {
  const snapshots: PlainStore['snapshots'] = Array.from(run.t, (t, s) => ({
    t,
    tier: run.tier,
    price: run.priceUsd[s],
    cells: Array.from(run.bin.subarray(run.cellOffsets[s], run.cellOffsets[s + 1]), (bin, c) => {
      const i = run.cellOffsets[s] + c;
      const support = BigInt(run.supportCents[i]);
      return { market: run.market[i], bin, support, resistance: BigInt(run.resistanceCents[i]) };
    }),
  }));
  return { markets, snapshots };
}

/** The hash of the page that the plain reference makes of the bench's data. */
export function referenceHash(
  shape: PageShape,
  group: PlainRequest['group'] = 'market',
  types: PlainRequest['types'] = null,
): string {
  const { token, resolvedToken, chain, window } = envelopeOf(shape.snapshots);
  const none = { excludeTypes: null, venues: null, excludeVenues: null };
  const { reply } = referencePage(
    plainStore(tokenHistory(shape, shape.snapshots, 0)),
    { from: window.from, to: window.to, group, types, ...none, minPct: -50, maxPct: 100 },
    PAGE_LIMITS,
    { token, resolvedToken, chain, clamped: false },
  );
  return createHash('sha256').update(JSON.stringify(reply)).digest('hex').slice(0, 8);
}
