/** Collects binned runs until they fill whole segments, with bounded memory. */
import {
  type BinnedChunk,
  type BinnedRun,
  type MarketOrigin,
  transferablesOf,
} from '../../compute/ingest/binned-chunk.js';
import { type Market, marketKey } from '../../compute/market.js';
import type { ComputePool } from '../../compute/pool.js';
import type { JoinMode, MarketRun } from '../../compute/segment/merge.js';
import { emptyRun } from '../../compute/segment/run.js';
import { MAX_SEGMENT_CELLS } from '../../compute/segment/segment.js';
import type { BundleWriter } from '../bundle.js';

/** Cells of one token and tier encoded at once. */
const FLUSH_CELLS = 4 * MAX_SEGMENT_CELLS;
/** Cells held for all tokens together, at 12 to 20 bytes each. */
const MAX_HELD_CELLS = 6 * 1024 * 1024;
/** Snapshots held for all tokens together. */
const MAX_HELD_SNAPSHOTS = 1024 * 1024;
/** Segments being encoded while the next runs are collected. */
const MAX_ENCODING = 4;

interface Held {
  runs: MarketRun[];
  cells: number;
}

const tokenOf = ({ run }: MarketRun): string => `${run.chain}:${run.address}`;

export class RunCollector {
  private readonly held = new Map<string, Held>();
  /** The markets of each token in all its tiers. */
  private readonly arrived = new Map<string, ArrivedMarkets>();
  private heldCells = 0;
  private heldSnapshots = 0;
  /** Running flushes; their frames are written in the order of the flushes. */
  private readonly encoding: Promise<void>[] = [];
  private written: Promise<void> = Promise.resolve();
  segments = 0;

  constructor(
    private readonly mode: JoinMode,
    private readonly pool: Pick<ComputePool, 'run'>,
    private readonly bundle: BundleWriter,
  ) {}

  async add(chunk: BinnedChunk): Promise<void> {
    this.noteArrivals(chunk.runs);
    for (const binned of chunk.runs) {
      const { tier, t, bin } = binned.run;
      const key = `${tokenOf(binned)}:${tier}`;
      const held = this.held.get(key) ?? { runs: [], cells: 0 };
      held.runs.push({ run: binned.run, markets: binned.markets });
      held.cells += bin.length;
      this.held.set(key, held);
      this.heldCells += bin.length;
      this.heldSnapshots += t.length;
      if (held.cells >= FLUSH_CELLS) await this.flush(key);
    }
    if (this.heldCells > MAX_HELD_CELLS || this.heldSnapshots > MAX_HELD_SNAPSHOTS) {
      await this.flushAll();
    }
  }

  /** Writes everything that is held. */
  async finish(): Promise<void> {
    await this.flushAll();
    await Promise.all(this.encoding);
    await this.written;
  }

  /** Waits for running encodings and writes, and ignores how they end. */
  async abandon(): Promise<void> {
    await Promise.allSettled([...this.encoding, this.written]);
  }

  private async flushAll(): Promise<void> {
    for (const key of [...this.held.keys()]) await this.flush(key);
  }

  private async flush(key: string): Promise<void> {
    const held = this.held.get(key);
    if (held === undefined) return;
    this.held.delete(key);
    this.heldCells -= held.cells;
    for (const { run } of held.runs) this.heldSnapshots -= run.t.length;
    const { chain, address, tier } = held.runs[0].run;
    // All flushes of a token number its markets the same way, so the store can take the segments unchanged.
    const arrived = this.arrivedOf(held.runs[0]);
    const numbered = { run: emptyRun({ chain, address, tier }), markets: arrived.markets };
    const encoded = this.pool.run(
      'encodeRuns',
      { parts: [numbered, ...held.runs], mode: this.mode },
      transferablesOf(held.runs),
    );
    const fresh = arrived.takeFresh();
    const previous = this.written;
    const written = encoded.then(async ({ segments, markets }) => {
      await previous;
      if (fresh.markets.length > 0) {
        await this.bundle.write({ kind: 'markets', chain, address, ...fresh });
      }
      for (const segment of segments) {
        await this.bundle.write({ kind: 'segment', chain, address, tier, markets, segment });
        this.segments++;
      }
    });
    written.catch(() => undefined);
    this.written = written;
    this.encoding.push(written);
    if (this.encoding.length > MAX_ENCODING) await this.encoding.shift();
  }

  /** Adds a chunk's markets to those of their tokens, in the order in which rows named them. */
  private noteArrivals(runs: readonly BinnedRun[]): void {
    const fresh = runs.flatMap((binned) => {
      const arrived = this.arrivedOf(binned);
      return binned.markets.map((market, i) => ({
        arrived,
        market,
        origin: binned.marketOrigins[i],
        arrival: binned.arrivals[i],
      }));
    });
    fresh.sort((a, b) => a.arrival - b.arrival);
    for (const { arrived, market, origin } of fresh) arrived.add(market, origin);
  }

  private arrivedOf(run: MarketRun): ArrivedMarkets {
    const token = tokenOf(run);
    const arrived = this.arrived.get(token) ?? new ArrivedMarkets();
    this.arrived.set(token, arrived);
    return arrived;
  }
}

/** Markets of one token in the order of the file. */
class ArrivedMarkets {
  readonly markets: Market[] = [];
  private readonly keys = new Set<string>();
  private readonly origins: MarketOrigin[] = [];
  private taken = 0;

  add(market: Market, origin: MarketOrigin): void {
    const key = marketKey(market);
    if (this.keys.has(key)) return;
    this.keys.add(key);
    this.markets.push(market);
    this.origins.push(origin);
  }

  /** The markets added since the last call. */
  takeFresh(): { markets: Market[]; origins: MarketOrigin[] } {
    const first = this.taken;
    this.taken = this.markets.length;
    return { markets: this.markets.slice(first), origins: this.origins.slice(first) };
  }
}
