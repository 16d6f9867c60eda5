/** Turns chunks of a depth dataset into a bundle: bins them in the pool, checks them, collects them into segments. */
import type { BinnedChunk, BinnedRun } from '../../compute/ingest/binned-chunk.js';
import { CELL_NUMBERS, CELL_TEXTS, type CellColumns } from '../../compute/ingest/cell-columns.js';
import { type Fault, FaultLog, MAX_FAULTS } from '../../compute/ingest/fields.js';
import { type Market, marketKey } from '../../compute/market.js';
import type { ComputePool } from '../../compute/pool.js';
import type { JoinMode } from '../../compute/segment/merge.js';
import { FaultyFileError, InputError } from '../errors.js';
import type { UseStore } from '../operations.js';
import type { Chunk } from './chunks.js';
import { type BundleRequest, type PreparedFile, refusal, withBundle } from './prepared.js';
import { WarningTally } from '../../compute/ingest/warnings.js';
import { FirstPrices } from './first-prices.js';
import { warnOfTime } from './future-times.js';
import { RunCollector } from './run-collector.js';
import { SnapshotCount } from './snapshot-count.js';
import { VenueTypes } from './venue-types.js';

/** Chunks read ahead, in addition to one per thread. */
const CHUNKS_AHEAD = 4;
/** With more bytes of chunks than this in the pool, only one chunk is read ahead. */
const MAX_AHEAD_BYTES = 32 * 1024 * 1024;
/** Assumed size of a chunk of parsed rows: lists of objects are large, so only a few should wait. */
const UNKNOWN_BYTES = 16 * 1024 * 1024;

interface ChunksRequest extends BundleRequest {
  pool: ComputePool;
  /** Whether the rows of one snapshot must be adjacent in the source. */
  together: boolean;
  /** A store whose prices are compared with the source's, for a warning. */
  compareWith?: UseStore | undefined;
}

/**
 * Prepares chunks of a depth dataset from any source.
 * @param unreadable gets the faults of records in `chunks` that cannot be read as rows
 * @throws InputError with the first ten faults; nothing of the rows is stored
 */
export function prepareChunks(
  request: ChunksRequest,
  chunks: AsyncIterable<Chunk>,
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
    const count = { found: 0, stopped: false };
    try {
      for await (const chunk of binnedChunks(chunks, pool, mode)) {
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
        request.onProgress?.(report);
      }
      faults.push(...unreadable.faults);
      count.found += unreadable.count;
      // Readers stop after this many unreadable records.
      count.stopped ||= unreadable.count >= MAX_FAULTS;
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

/** Bins chunks in the pool, several at once, and yields the results in the file's order. */
async function* binnedChunks(
  chunks: AsyncIterable<Chunk>,
  pool: ComputePool,
  mode: JoinMode,
): AsyncGenerator<BinnedChunk> {
  const running: { binned: Promise<BinnedChunk>; bytes: number }[] = [];
  let bytes = 0;
  const hasRoomForMore = (): boolean => {
    const ahead = running.length - pool.threads;
    return ahead <= 1 || (ahead <= CHUNKS_AHEAD && bytes <= MAX_AHEAD_BYTES);
  };
  try {
    for await (const chunk of chunks) {
      const size = bytesOf(chunk);
      bytes += size;
      const binned = binChunk(chunk, pool, mode);
      // Awaited later; until then a failure must not count as unhandled.
      binned.catch(() => undefined);
      running.push({ binned, bytes: size });
      while (!hasRoomForMore()) {
        const next = running.shift()!;
        yield await next.binned;
        bytes -= next.bytes;
      }
    }
    while (running.length > 0) yield await running.shift()!.binned;
  } finally {
    await Promise.allSettled(running.map(({ binned }) => binned));
  }
}

function binChunk(chunk: Chunk, pool: ComputePool, mode: JoinMode): Promise<BinnedChunk> {
  const { firstLine, basePrices } = chunk;
  const options = { firstLine, mode, basePrices };
  switch (chunk.kind) {
    case 'snapshotLines':
    case 'cellLines': {
      const bytes = movable(chunk.bytes);
      const task = chunk.kind === 'cellLines' ? 'packCellLines' : 'binSnapshotLines';
      const isTyped = chunk.kind === 'snapshotLines' && chunk.isTyped === true;
      return pool.run(task, { bytes, isTyped, ...options }, [bytes.buffer]);
    }
    case 'snapshotRows':
      return pool.run('binSnapshotRows', { rows: chunk.rows, lines: chunk.lines, ...options });
    case 'selfBinned':
      return chunk.bin(basePrices);
    case 'cellColumns':
      return pool.run(
        'packCellColumns',
        { ...chunk.columns, ...options },
        buffersOf(chunk.columns),
      );
  }
}

/** The bytes in a separate buffer that can move to a worker. */
function movable(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength;
  return isWhole ? new Uint8Array(buffer) : new Uint8Array(bytes);
}

function bytesOf(chunk: Chunk): number {
  switch (chunk.kind) {
    case 'snapshotLines':
    case 'cellLines':
      return chunk.bytes.length;
    case 'cellColumns':
      return buffersOf(chunk.columns).reduce((sum, { byteLength }) => sum + byteLength, 0);
    case 'snapshotRows':
    case 'selfBinned':
      return UNKNOWN_BYTES;
  }
}

/** The columns' buffers, to move to a worker. */
function buffersOf(columns: CellColumns): ArrayBuffer[] {
  const { starts, texts, lines } = columns;
  const all = [
    ...CELL_NUMBERS.map((name) => columns[name]),
    ...CELL_TEXTS.map((name) => texts[name].codes),
    starts,
    ...(lines === undefined ? [] : [lines]),
  ];
  return all.map(({ buffer }) => buffer as ArrayBuffer);
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
