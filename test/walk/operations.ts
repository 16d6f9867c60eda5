/** Random operations on a store: for walks of one store, among processes that are killed, and over a cluster's nodes. */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Tier } from '../../compute/market.js';
import { type Dataset, DATASETS } from '../../storage/ingest/datasets.js';
import {
  broughtBy,
  evenSnapshot,
  flatRows,
  type SnapshotRow,
  snapshotRow,
  someMarkets,
} from './depth-rows.js';
import { flatRowsOf } from './flat-rows.js';
import {
  type Brought,
  depthName,
  NO_MARKET,
  type Operation,
  pricesIn,
  type Rows,
  snapshotName,
} from './model.js';
import { MERGED, SLOTS, SLOTS_BEHIND_RETENTION, timeOf, TOKENS } from './times.js';

/** `replace` and `merge`: files of the tokens whose markets change one at a time; `ingest`: of every dataset. */
type Kind = Exclude<Operation['kind'], 'ingest'> | 'ingest' | 'replace' | 'merge';

/** What a walk wants of its operations. */
export interface Habits {
  /** How often each kind comes, in relation to the others. */
  shares: Partial<Record<Kind, number>>;
  /** Prices of snapshots whose markets change one at a time. */
  prices?: readonly number[];
  /** Whether merges and deletions may be refused: see isRefused(). */
  mayBeRefused?: boolean;
  /**
   * Whether the tokens whose markets change also have coarse snapshots, snapshots without cells, distant times, and more
   * snapshots than one segment holds.
   */
  isWide?: boolean;
  /** The tokens whose markets change. */
  tokens?: readonly string[];
}

/** What an operation may concern. */
export interface View {
  rows: Rows;
  /** Ids of keys that can be revoked and rotated. */
  keys: readonly string[];
  /** Tokens that can be pruned; by default those with data of every dataset. */
  prunable?: readonly string[];
  /** The first slot that snapshots of `ingest` may use. */
  firstSlot?: number;
}

const MOST_SNAPSHOTS = 40;
/** Enough for DuckDB to write rows before their commit. */
const MANY_SNAPSHOTS = 300;
const LARGE_SHARE = 0.06;
const CELLS = 24;
const MANY_CELLS = 160;
/** Snapshots whose markets change, of a token and at once. */
const CHANGING_SNAPSHOTS = 30;
const CHANGED_AT_ONCE = 12;
const DISTANT_MINUTES = 100_000;
const LONG_FILE = 700;
const SPANS_S = [60, 180, 900, 5000, 60_000];

/** Makes operations, in an order that a seed repeats. */
export class Operations {
  private last = 0;
  private files: string[] = [];

  constructor(
    private readonly folder: string,
    private readonly random: () => number,
    private readonly habits: Habits,
  ) {}

  /** Adds a file to those removed by removeFiles(). */
  removeLater(file: string): void {
    this.files.push(file);
  }

  /** Removes the files of the operations so far. */
  removeFiles(): void {
    for (const file of this.files.splice(0)) rmSync(file, { force: true });
  }

  /** @param random draws instead of the walk's own random numbers */
  next(view: View, random = this.random, shares = this.habits.shares): Operation {
    return new Draw(++this.last, this.folder, random, this.habits, view, this.files).of(shares);
  }

  /** A time before which retention removes raw depth. */
  retentionLimit(): number {
    return timeOf(Math.floor(this.random() * (SLOTS / 2)));
  }
}

/** One operation. */
class Draw {
  constructor(
    private readonly number: number,
    private readonly folder: string,
    private readonly random: () => number,
    private readonly habits: Habits,
    private readonly view: View,
    private readonly files: string[],
  ) {}

  of(shares: Habits['shares']): Operation {
    const all = Object.entries(shares) as [Kind, number][];
    let drawn = this.random() * all.reduce((sum, [, share]) => sum + share, 0);
    const kind = all.find(([, share]) => (drawn -= share) < 0)?.[0];
    // Without a key or stored depth, some have no object.
    return this.made(kind ?? 'ingest') ?? this.ingest();
  }

  private made(kind: Kind): Operation | null {
    const { number, view } = this;
    switch (kind) {
      case 'ingest':
        return this.ingest();
      case 'replace':
      case 'merge':
        return this.changed(kind === 'merge');
      case 'prune': {
        const token = this.pick(view.prunable ?? TOKENS);
        const beforeS = timeOf(this.below(SLOTS / 2));
        if (token === undefined || !this.isStored(token)) return null;
        return { kind, number, token, beforeS, shrinks: this.random() < 0.3 };
      }
      case 'delete':
        return this.deletion();
      case 'revoke':
      case 'rotate': {
        const id = this.pick(view.keys);
        return id === undefined ? null : { kind, number, id };
      }
      case 'create':
        return { kind, number, name: `k${number}` };
      case 'backup':
        return { kind, number, out: path.join(this.folder, `backup-${number}`) };
      case 'check':
        return { kind, number };
    }
  }

  /** A file of any dataset. */
  private ingest(): Operation {
    const { number, below } = this;
    const dataset = DATASETS[below(DATASETS.length)];
    if (dataset === 'snapshots' || dataset === 'cells' || dataset === 'levels') {
      const rows = this.evenRows();
      const lines = dataset === 'snapshots' ? rows : rows.flatMap((row) => flatRows(row, dataset));
      return this.file(dataset, lines, broughtBy(rows, false));
    }
    const named = flatRowsOf(dataset, number, below);
    const rows = new Map(named.map(({ name }) => [name, `${number}`]));
    const lines = named.flatMap(({ row }) => row);
    return this.file(dataset, lines, { rows, snapshots: new Map(), arrivals: [] });
  }

  private evenRows(): SnapshotRow[] {
    const { below, view } = this;
    const firstSlot = view.firstSlot ?? 0;
    const isLarge = firstSlot + MANY_SNAPSHOTS < SLOTS && this.random() < LARGE_SHARE;
    const token = TOKENS[below(TOKENS.length)];
    const count = isLarge ? MANY_SNAPSHOTS : 1 + below(MOST_SNAPSHOTS);
    const first = firstSlot + below(SLOTS - firstSlot - count);
    const bins = isLarge ? MANY_CELLS : CELLS;
    return Array.from({ length: count }, (_, i) =>
      evenSnapshot(this.number, token, timeOf(first + i), bins),
    );
  }

  /** A file of snapshots with several markets. */
  private changed(merge: boolean): Operation {
    const { below, habits, view } = this;
    const { isWide = false, prices = [2], mayBeRefused = false } = habits;
    const keepsPrices = merge && !(mayBeRefused && below(4) === 0);
    const stored = keepsPrices ? pricesIn(view.rows) : new Map<string, number>();
    const sent = new Map<string, number>();
    const draw = (token: string, t: number, tier: Tier, markets: SnapshotRow['markets']) => {
      const name = snapshotName(token, t, tier);
      const price = sent.get(name) ?? stored.get(name) ?? (this.pick(prices) as number);
      if (merge) sent.set(name, price);
      return snapshotRow(token, t, { tier, price_usd: price, markets });
    };
    const some = () => someMarkets(this.number, below, { hasEmpty: isWide });
    if (isWide && below(6) === 0) {
      const token = this.changingToken();
      const markets = some();
      const [firstS, stepS] = [this.changingTime(), [60, 300, -60][below(3)]];
      return this.snapshots(
        Array.from({ length: 2 + below(LONG_FILE) }, (_, i) =>
          draw(token, firstS + i * stepS, 'raw', markets),
        ),
        merge,
      );
    }
    const rows = Array.from({ length: 1 + below(CHANGED_AT_ONCE) }, () =>
      draw(this.changingToken(), this.changingTime(), this.tier(), some()),
    );
    return this.snapshots(rows, merge);
  }

  private snapshots(rows: readonly SnapshotRow[], merge: boolean): Operation {
    return { ...this.file('snapshots', rows, broughtBy(rows, merge)), merge };
  }

  private deletion(): Operation | null {
    const { below, number, habits, view } = this;
    const token = this.changingToken();
    const stored = [...view.rows.keys()].flatMap((name) => depthName(name) ?? []);
    const one = this.pick(stored.filter((depth) => depth.token === token));
    if (one === undefined) return null;
    const fromS = habits.mayBeRefused === true && below(4) === 0 ? this.changingTime() : one.t;
    const later = this.pick(stored.filter((depth) => depth.token === token && depth.t > fromS));
    // Up to another snapshot, or just past it.
    const endS = later === undefined || below(2) === 0 ? null : later.t + below(2);
    const toS = endS ?? fromS + (this.pick(SPANS_S) as number);
    const isAll = one.market === NO_MARKET || below(2) === 0;
    return { kind: 'delete', number, token, fromS, toS, market: isAll ? null : one.market };
  }

  private file(
    dataset: Dataset,
    rows: readonly object[],
    brings: Brought,
  ): Operation & { kind: 'ingest' } {
    const { number } = this;
    const file = path.join(this.folder, `file-${number}.ndjson`);
    writeFileSync(file, `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
    this.files.push(file);
    return { kind: 'ingest', number, dataset, file, merge: false, brings };
  }

  private isStored(token: string): boolean {
    return [...this.view.rows.keys()].some((name) => depthName(name)?.token === token);
  }

  private changingToken(): string {
    return this.pick(this.habits.tokens ?? [MERGED]) as string;
  }

  private changingTime(): number {
    const isDistant = this.habits.isWide === true && this.below(9) === 0;
    if (isDistant) return timeOf(this.below(SLOTS) - DISTANT_MINUTES);
    return timeOf(SLOTS_BEHIND_RETENTION + this.below(CHANGING_SNAPSHOTS));
  }

  private tier(): Tier {
    if (this.habits.isWide !== true || this.below(4) > 0) return 'raw';
    return this.below(2) === 0 ? '15m' : '1h';
  }

  private pick<T>(list: readonly T[]): T | undefined {
    return list[this.below(list.length)];
  }

  private readonly below = (end: number): number => Math.floor(this.random() * end);
}
