/** Turns binned chunks into a bundle: checks them, and collects them into segments. */
import type { BinnedChunk, BinnedRun } from '../../compute/ingest/binned-chunk.js';
import { type Fault, FaultLog, MAX_FAULTS } from '../../compute/ingest/fields.js';
import { NO_PRICE_FAULT } from '../../compute/ingest/level-rows.js';
import { type Market, marketKey } from '../../compute/market.js';
import type { ComputePool } from '../../compute/pool.js';
import { FaultyFileError, InputError } from '../errors.js';
import type { UseStore } from '../operations.js';
import { type BundleRequest, type PreparedFile, refusal, withBundle } from './prepared.js';
import { WarningTally } from '../../compute/ingest/warnings.js';
import { FirstPrices } from './first-prices.js';
import { warnOfTime } from './future-times.js';
import { RunCollector } from './run-collector.js';
import { SnapshotCount } from './snapshot-count.js';
import { VenueTypes } from './venue-types.js';

interface DepthRequest extends BundleRequest {
  pool: ComputePool;
  /** Whether the rows of one snapshot must be adjacent in the source. */
  together: boolean;
  /** A store whose prices are compared with the source's, for a warning. */
  compareWith?: UseStore | undefined;
}

/**
 * Prepares binned chunks from any source.
 * @param unreadable gets the faults of records of the source that cannot be read as rows
 * @throws InputError with the first ten faults; nothing of the rows is stored
 */
export function prepareDepth(
  request: DepthRequest,
  chunks: AsyncIterable<BinnedChunk>,
  unreadable: FaultLog = new FaultLog(),
): Promise<PreparedFile> {
  const { file, mode, pool, compareWith } = request;
  return withBundle(request, async (bundle, report) => {
    const collector = new RunCollector(mode, pool, bundle);
    const seen = request.together ? new SeenSnapshots() : null;
    const markets = new SeenMarkets();
    const snapshots = new SnapshotCount();
    const warnings = new WarningTally();
    const firstPrices = compareWith === undefined ? null : new FirstPrices(compareWith);
    const faults: Fault[] = [];
    const unpriced: number[] = [];
    const count = { found: 0, stopped: false };
    try {
      for await (const chunk of chunks) {
        const across = chunk.runs.flatMap((run) => [
          ...(seen?.add(run) ?? []),
          ...markets.add(run),
        ]);
        faults.push(...chunk.faults, ...across);
        count.found += chunk.faultCount + across.length;
        count.stopped = count.found >= MAX_FAULTS;
        if (count.stopped) break;
        if (count.found + unreadable.count > 0) continue;
        warnings.join(chunk.warnings);
        // All must run before the runs' memory moves to the pool.
        for (const run of chunk.runs) firstPrices?.add(run);
        for (const { run } of chunk.runs) snapshots.add(run);
        for (const { run, lines } of chunk.runs)
          run.t.forEach((t, i) => warnOfTime(warnings, t, lines[i]));
        await collector.add(chunk);
        report.rows += chunk.rows;
        report.snapshots += chunk.snapshots;
        report.cells += chunk.cells;
        report.droppedLevels += chunk.droppedLevels;
        report.earlierLevels += chunk.earlierLevels;
        unpriced.push(...chunk.unpriced);
        request.onProgress?.(report);
      }
      faults.push(...unreadable.faults);
      count.found += unreadable.count;
      // Readers stop after this many unreadable records.
      count.stopped ||= unreadable.count >= MAX_FAULTS;
      // A recorder that stops within a book leaves one without a price; if all are, the columns are wrong.
      if (count.found === 0 && snapshots.count === 0) {
        const first = unpriced.slice(0, MAX_FAULTS);
        faults.push(...first.map((line) => ({ line, ...NO_PRICE_FAULT })));
        count.found = first.length;
        count.stopped = first.length === MAX_FAULTS;
      }
      if (count.found === 0) {
        await collector.finish();
        // Rows of one snapshot may lie in several chunks.
        report.snapshots = snapshots.count;
        report.cells = collector.cells;
        await firstPrices?.compare(warnings);
        report.warnings = warnings.all;
      }
    } catch (error) {
      await collector.abandon();
      const found = count.found + unreadable.count;
      throw withEarlierFaults(error, file, [...faults, ...unreadable.faults], found);
    }
    if (count.found === 0) return;
    await collector.abandon();
    throw refusal(file, faults, count);
  });
}

/** The error for a file that turns out damaged after faulty rows: the rows' faults come first. */
function withEarlierFaults(
  error: unknown,
  file: string,
  faults: readonly Fault[],
  found: number,
): unknown {
  if (!(error instanceof InputError) || found === 0) return error;
  const first = [...refusal(file, faults).faults, ...error.faults].slice(0, MAX_FAULTS);
  return new FaultyFileError(file, first, { found: found + error.faults.length, stopped: true });
}

/** Finds snapshots whose rows are not adjacent: another snapshot is between them. */
class SeenSnapshots {
  private readonly seen = new Map<string, { latest: number; all: Set<number> }>();

  /** A fault for each snapshot of a run that an earlier chunk had. */
  add({ run, lines }: BinnedRun): Fault[] {
    const key = `${run.chain}:${run.address}:${run.tier}`;
    const known = this.seen.get(key) ?? { latest: -1, all: new Set<number>() };
    this.seen.set(key, known);
    const faults: Fault[] = [];
    run.t.forEach((t, i) => {
      if (t <= known.latest && known.all.has(t)) {
        const message =
          'the rows of one snapshot must be adjacent: sort by chain, address, tier, t';
        faults.push({ line: lines[i], field: 't', message });
      }
      known.latest = Math.max(known.latest, t);
      known.all.add(t);
    });
    return faults;
  }
}

/** Finds markets that contradict earlier rows of the file. */
class SeenMarkets {
  private readonly venues = new VenueTypes();
  /** Exchange types by token and market. */
  private readonly exchanges = new Map<string, Market['exchangeType']>();

  /** A fault for each contradiction of a run's markets. */
  add({ run, markets, marketOrigins }: BinnedRun): Fault[] {
    const faults: Fault[] = [];
    markets.forEach((market, i) => {
      const { line, prefix } = marketOrigins[i];
      const message = this.venues.contradiction(market);
      if (message !== null) faults.push({ line, field: `${prefix}type`, message });
      const key = `${run.chain}:${run.address}:${marketKey(market)}`;
      const exchange = this.exchanges.get(key) ?? market.exchangeType;
      this.exchanges.set(key, exchange);
      if (exchange !== market.exchangeType) {
        const message = `must be ${exchange}, as in an earlier row`;
        faults.push({ line, field: `${prefix}exchange_type`, message });
      }
    });
    return faults;
  }
}
