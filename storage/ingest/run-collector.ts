/** Collects binned runs until they make whole segments, within a bound of memory. */
import { marketKey, type Market } from '../../compute/market/market.js';
import { transferablesOf, type BinnedBatch } from '../../compute/binning/batch.js';
import type { RunPart } from '../../compute/binning/run-builder.js';
import type { ComputePool } from '../../compute/pool.js';
import type { JoinMode, MarketRun } from '../../compute/segment/join.js';
import { emptyRun } from '../../compute/segment/run.js';
import { MAX_SEGMENT_CELLS } from '../../compute/segment/split.js';
import type { BundleWriter } from '../bundle/bundle.js';

/** Cells of one token and tier that are worth encoding at once. */
const FLUSH_CELLS = 4 * MAX_SEGMENT_CELLS;
/** Cells held for all tokens together, at 12 to 20 bytes each. */
const MAX_HELD_CELLS = 6 * 1024 * 1024;
/** Snapshots held for all tokens together. */
const MAX_HELD_SNAPSHOTS = 1024 * 1024;
/** Segments that are encoded while the next runs are collected. */
const MAX_ENCODING = 4;

interface Held {
  parts: MarketRun[];
  cells: number;
}

const tokenOf = ({ run }: MarketRun): string => `${run.chain}:${run.address}`;

export class RunCollector {
  private readonly held = new Map<string, Held>();
  /** Markets of a token, of all its tiers, in the file's order, by market key. */
  private readonly arrived = new Map<string, Map<string, Market>>();
  private heldCells = 0;
  private heldSnapshots = 0;
  /** Frames are written in the order of their flush, whichever is encoded first. */
  private readonly encoding: Promise<void>[] = [];
  private written: Promise<void> = Promise.resolve();
  segments = 0;

  constructor(
    private readonly mode: JoinMode,
    private readonly pool: Pick<ComputePool, 'run'>,
    private readonly bundle: BundleWriter,
  ) {}

  /** Takes a batch's runs. */
  async add(batch: BinnedBatch): Promise<void> {
    this.noteArrivals(batch.parts);
    for (const part of batch.parts) {
      const { tier, t, bin } = part.run;
      const key = `${tokenOf(part)}:${tier}`;
      const held = this.held.get(key) ?? { parts: [], cells: 0 };
      held.parts.push({ run: part.run, markets: part.markets });
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

  /** Writes out everything that is held. */
  async finish(): Promise<void> {
    await this.flushAll();
    await Promise.all(this.encoding);
    await this.written;
  }

  /** Waits for what is under way, whatever becomes of it. */
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
    for (const { run } of held.parts) this.heldSnapshots -= run.t.length;
    const { chain, address, tier } = held.parts[0].run;
    // Every flush numbers the markets alike, so that the store can take the segments as they are.
    const arrived = [...(this.arrived.get(tokenOf(held.parts[0]))?.values() ?? [])];
    const numbered = { run: emptyRun({ chain, address, tier }), markets: arrived };
    const encoded = this.pool.run(
      'encodeRuns',
      { parts: [numbered, ...held.parts], mode: this.mode },
      transferablesOf(held),
    );
    const previous = this.written;
    const written = encoded.then(async ({ segments, markets }) => {
      await previous;
      if (arrived.length > 0) {
        await this.bundle.write({ kind: 'markets', chain, address, markets: arrived });
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

  /** Brings a batch's markets into the order that its rows named them in, across tiers. */
  private noteArrivals(parts: readonly RunPart[]): void {
    const fresh: { token: string; market: Market; arrival: number }[] = [];
    for (const part of parts) {
      const token = tokenOf(part);
      part.markets.forEach((market, i) => fresh.push({ token, market, arrival: part.arrivals[i] }));
    }
    fresh.sort((a, b) => a.arrival - b.arrival);
    for (const { token, market } of fresh) {
      const arrived = this.arrived.get(token) ?? new Map<string, Market>();
      const key = marketKey(market);
      if (!arrived.has(key)) arrived.set(key, market);
      this.arrived.set(token, arrived);
    }
  }
}
