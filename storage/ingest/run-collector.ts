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
import type { JoinedSegments } from '../../compute/segment/rewrite.js';
import { emptyRun } from '../../compute/segment/run.js';
import { MAX_SEGMENT_CELLS } from '../../compute/segment/segment.js';
import type { BundleWriter, Frame, MarketsFrame, SegmentFrame } from '../bundle.js';

/** Cells of one token and tier encoded at once. */
const FLUSH_CELLS = 4 * MAX_SEGMENT_CELLS;
/** Cells of several tokens and tiers encoded in one task: a task costs as much as encoding some hundreds. */
const TASK_CELLS = 8192;
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

/** What is encoded of one token and tier. */
interface Taken {
  of: Pick<SegmentFrame, 'chain' | 'address' | 'tier'>;
  /** An empty run with all markets of the token so far, in their order. */
  numbered: MarketRun;
  runs: MarketRun[];
  /** Markets that no frame has yet. */
  fresh: Pick<MarketsFrame, 'markets' | 'origins'>;
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
  /** Cells with amounts in the segments. */
  cells = 0;

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
      if (held.cells >= FLUSH_CELLS) await this.flush([key]);
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
    let keys: string[] = [];
    let cells = 0;
    for (const [key, held] of [...this.held]) {
      keys.push(key);
      cells += held.cells;
      if (cells < TASK_CELLS) continue;
      await this.flush(keys);
      [keys, cells] = [[], 0];
    }
    if (keys.length > 0) await this.flush(keys);
  }

  /** Encodes what is held under these keys in one task. */
  private async flush(keys: readonly string[]): Promise<void> {
    const taken = keys.map((key) => this.take(key));
    const encoded = this.pool.run(
      'encodeRuns',
      taken.map(({ numbered, runs }) => ({ parts: [numbered, ...runs], mode: this.mode })),
      transferablesOf(taken.flatMap(({ runs }) => runs)),
    );
    const previous = this.written;
    const written = encoded.then(async (tokens) => {
      await previous;
      await this.bundle.writeAll(tokens.flatMap((token, i) => framesOf(taken[i], token)));
      for (const { segments, cells } of tokens) {
        this.segments += segments.length;
        this.cells += cells;
      }
    });
    written.catch(() => undefined);
    this.written = written;
    this.encoding.push(written);
    if (this.encoding.length > MAX_ENCODING) await this.encoding.shift();
  }

  /** Takes what is held under a key, and the token's markets that no frame has yet. */
  private take(key: string): Taken {
    const held = this.held.get(key)!;
    this.held.delete(key);
    this.heldCells -= held.cells;
    for (const { run } of held.runs) this.heldSnapshots -= run.t.length;
    const { chain, address, tier } = held.runs[0].run;
    const of = { chain, address, tier };
    // All flushes of a token number its markets the same way, so the store can take the segments unchanged.
    const arrived = this.arrivedOf(held.runs[0]);
    const numbered = { run: emptyRun(of), markets: arrived.markets };
    return { of, numbered, runs: held.runs, fresh: arrived.takeFresh() };
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

/** The frames of one token and tier: its new markets, then its segments. */
function framesOf({ of, fresh }: Taken, { segments, markets }: JoinedSegments): Frame[] {
  const frames: Frame[] = segments.map((segment) => ({ kind: 'segment', ...of, markets, segment }));
  if (fresh.markets.length === 0) return frames;
  const { chain, address } = of;
  return [{ kind: 'markets', chain, address, ...fresh }, ...frames];
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
