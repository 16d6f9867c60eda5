/** Tries every source once: `fathom collect --check`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { binSnapshotRows } from '../compute/ingest/snapshots.js';
import { binsOfBand } from '../compute/ladder.js';
import type { SortedBook } from '../storage/import/order-book.js';
import type { CollectConfig } from './config.js';
import { isMissing, type Sample, type SourceContext } from './source.js';

const LOOK_MS = 250;
const NEAR = 0.02;
const UNPRICED = 'no USD price of its quote currency: expected quote_usd';
/** Which token a ladder is of does not matter here. */
const ANY_TOKEN = { chain: 'mainchain', address: '1'.repeat(32) };

export interface CheckedSource {
  id: string;
  venue: string;
  losses: string;
  compared: string | null;
  /** Why it has no sample; null: it has one. */
  missing: string | null;
  /** In the quote currency. */
  price: number | null;
  spreadPct: number | null;
  /** Bids and asks within 2% of the price, in the quote currency (of contracts: price times contracts). */
  depth2Pct: readonly [bids: number, asks: number] | null;
  ageMs: number | null;
}

/** Starts every source and waits for its first sample, all at once. */
export function checkSources(
  config: CollectConfig,
  context: SourceContext,
  { patienceMs, stop }: { patienceMs: number; stop: AbortSignal },
): Promise<CheckedSource[]> {
  const all = config.tokens.flatMap((token) => token.sources);
  return Promise.all(
    all.map(async (configured): Promise<CheckedSource> => {
      const { id, quoteUsd } = configured;
      const source = configured.open(context);
      const { venue, losses, compared } = source;
      const head = { id, venue, losses, compared };
      const until = performance.now() + patienceMs;
      source.start();
      try {
        for (;;) {
          const found = await source.sample(0);
          if (!isMissing(found)) {
            const hasPrice = quoteUsd !== null || found.quoteUsd !== undefined;
            const missing = hasPrice || found.address === null ? null : UNPRICED;
            return { ...head, missing, ...figuresOf(found) };
          }
          if (performance.now() > until || stop.aborted) {
            const none = { price: null, spreadPct: null, depth2Pct: null, ageMs: null };
            return { ...head, missing: found.missing, ...none };
          }
          await sleep(LOOK_MS, undefined, { signal: stop }).catch(() => undefined);
        }
      } finally {
        source.stop();
      }
    }),
  );
}

function figuresOf(sample: Sample) {
  const { price, book, ageMs } = sample;
  if (book === undefined) return { price, spreadPct: null, depth2Pct: ladderDepth(sample), ageMs };
  const { bids, asks } = book;
  const spreadPct = (100 * (asks[0][0] - bids[0][0])) / price;
  return { price, spreadPct, depth2Pct: [near(bids, price), near(asks, price)] as const, ageMs };
}

const near = (levels: SortedBook['bids'], price: number): number =>
  levels
    .filter(([at]) => Math.abs(at / price - 1) <= NEAR)
    .reduce((sum, [at, size]) => sum + at * size, 0);

/** What a pool's bins within 2% hold; null if it is more than a ladder can. */
function ladderDepth(sample: Sample): readonly [bids: number, asks: number] | null {
  const market = { source: 'pool', exchange_type: 'DEX', address: 'pool', ...sample.body(1) };
  const row = { ...ANY_TOKEN, t: 1, price_usd: sample.price, markets: [market] };
  const { faults, runs } = binSnapshotRows([row], { firstLine: 1, mode: 'replace' });
  if (faults.length > 0) return null;
  const { bin, supportCents, resistanceCents } = runs[0].run;
  const { first, last } = binsOfBand(-100 * NEAR, 100 * NEAR);
  const depth: [number, number] = [0, 0];
  bin.forEach((at, i) => {
    if (at < first || at > last) return;
    depth[0] += Number(supportCents[i]) / 100;
    depth[1] += Number(resistanceCents[i]) / 100;
  });
  return depth;
}
