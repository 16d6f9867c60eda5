/** Tries every source once: `fathom collect --check`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { binSnapshotRows } from '../compute/ingest/snapshots.js';
import { binsOfBand } from '../compute/ladder.js';
import { messageOf } from '../storage/errors.js';
import type { SortedBook } from '../storage/import/order-book.js';
import type { CollectConfig } from './config.js';
import { isMissing, type Sample, type SourceContext } from './source.js';
import { withTimeout } from './timeout.js';

const LOOK_MS = 250;
const NEAR = 0.02;
/** Neither the figures of a market nor its bounds depend on the token and the time. */
const ANY_MOMENT = { chain: 'mainchain', address: '1'.repeat(32), t: 1 };
const UNPRICED = 'no USD price of its quote currency: expected quote_usd';

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

/** Starts every source and waits for its first sample, all at once, until `patienceMs` have passed or `stop` aborts. */
export async function checkSources(
  config: CollectConfig,
  context: SourceContext,
  { patienceMs, stop }: { patienceMs: number; stop: AbortSignal },
): Promise<CheckedSource[]> {
  const followed = config.tokens
    .flatMap((token) => token.sources)
    .map((configured) => {
      const { id, quoteUsd } = configured;
      const source = configured.open(context);
      const { venue, losses, compared } = source;
      const none = { price: null, spreadPct: null, depth2Pct: null, ageMs: null };
      const row: CheckedSource = { id, venue, losses, compared, missing: 'no answer', ...none };
      return { source, quoteUsd, row };
    });
  const look = async (
    { source, quoteUsd, row }: (typeof followed)[number],
    signal: AbortSignal,
  ): Promise<void> => {
    for (; !signal.aborted; await sleep(LOOK_MS)) {
      try {
        const found = await source.sample(0);
        if (signal.aborted) return;
        row.missing = isMissing(found) ? found.missing : null;
        if (isMissing(found)) continue;
        const hasPrice = quoteUsd !== null || found.quoteUsd !== undefined;
        if (!hasPrice && found.address !== null) row.missing = UNPRICED;
        Object.assign(row, figuresOf(found));
        return;
      } catch (error) {
        row.missing = messageOf(error);
      }
    }
  };
  for (const { source } of followed) source.start();
  try {
    await withTimeout(stop, patienceMs, (signal) =>
      Promise.all(followed.map((each) => look(each, signal))),
    );
  } catch {
    // Time is up: what has not come is said in its row.
  } finally {
    for (const { source } of followed) source.stop();
  }
  return followed.map(({ row }) => row);
}

/** @returns figures, and why the store would refuse the market, if it would */
function figuresOf(sample: Sample): Partial<CheckedSource> {
  const { price, book, ageMs, address } = sample;
  const exchangeType = address === null ? 'CEX' : 'DEX';
  const market = { source: 'market', exchange_type: exchangeType, address, pair: null };
  const row = { ...ANY_MOMENT, price_usd: price, markets: [{ ...market, ...sample.body(1) }] };
  const { faults, runs } = binSnapshotRows([row], { firstLine: 1, mode: 'replace' });
  if (faults.length > 0)
    return { price, ageMs, missing: `${faults[0].field}: ${faults[0].message}` };
  if (book === undefined) return { price, ageMs, depth2Pct: ladderDepth(runs[0].run) };
  const { bids, asks } = book;
  const spreadPct = (100 * (asks[0][0] - bids[0][0])) / price;
  return { price, spreadPct, depth2Pct: [near(bids, price), near(asks, price)], ageMs };
}

const near = (levels: SortedBook['bids'], price: number): number =>
  levels
    .filter(([at]) => Math.abs(at / price - 1) <= NEAR)
    .reduce((sum, [at, size]) => sum + at * size, 0);

type BinnedRun = ReturnType<typeof binSnapshotRows>['runs'][number]['run'];

/** What the bins within 2% hold. */
function ladderDepth({ bin, supportCents, resistanceCents }: BinnedRun): readonly [number, number] {
  const { first, last } = binsOfBand(-100 * NEAR, 100 * NEAR);
  const depth: [number, number] = [0, 0];
  bin.forEach((at, i) => {
    if (at < first || at > last) return;
    depth[0] += Number(supportCents[i]) / 100;
    depth[1] += Number(resistanceCents[i]) / 100;
  });
  return depth;
}
