/** Collects binned runs until they make whole segments, within a bound of memory. */
import { marketKey, venueKey, type Market, type MarketType } from '../../compute/market/market.js';
import type { BinnedBatch } from '../../compute/binning/batch.js';
import type { ComputePool } from '../../compute/pool.js';
import type { JoinMode, MarketRun } from '../../compute/segment/join.js';
import { MAX_SEGMENT_CELLS } from '../../compute/segment/split.js';
import type { BundleWriter } from '../bundle/bundle.js';
import { InputError } from '../errors.js';

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

export class RunCollector {
  private readonly held = new Map<string, Held>();
  private heldCells = 0;
  private heldSnapshots = 0;
  /** Frames are written in the order of their flush, whichever is encoded first. */
  private readonly encoding: Promise<void>[] = [];
  private written: Promise<void> = Promise.resolve();
  private readonly venues = new Map<string, { type: MarketType; line: number }>();
  segments = 0;

  constructor(
    private readonly file: string,
    private readonly mode: JoinMode,
    private readonly pool: ComputePool,
    private readonly bundle: BundleWriter,
  ) {}

  /** Takes a batch's runs. @throws InputError where a venue has two types in the file */
  async add(batch: BinnedBatch, firstLine: number): Promise<void> {
    for (const part of batch.parts) {
      for (const market of part.markets) this.checkVenue(market, firstLine);
      const { chain, address, tier, t, bin } = part.run;
      const key = `${chain}:${address}:${tier}`;
      const held = this.held.get(key) ?? { parts: [], cells: 0 };
      held.parts.push(part);
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
    const encoded = this.pool.run('encodeRuns', { parts: held.parts, mode: this.mode });
    const { chain, address, tier } = held.parts[0].run;
    const previous = this.written;
    const written = encoded.then(async ({ segments, markets }) => {
      await previous;
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

  private checkVenue(market: Market, line: number): void {
    const key = venueKey(market.source);
    const known = this.venues.get(key);
    if (known === undefined) {
      this.venues.set(key, { type: market.type, line });
    } else if (known.type !== market.type) {
      throw new InputError(
        `${this.file}:${line}: markets.type: venue ${key} is ${known.type} in an earlier row and ${market.type} in this row or one of the next (market ${marketKey(market).split('\u0000').pop()})`,
      );
    }
  }
}
