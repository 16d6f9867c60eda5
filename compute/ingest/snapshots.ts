/** Dataset `snapshots`: each row a snapshot with all its markets, binned into runs. */
import { BIN_COUNT, BIN_FACTORS, MAX_CELLS_PER_SNAPSHOT } from '../ladder.js';
import { MAX_MARKETS_PER_TOKEN } from '../market.js';
import { LadderAccumulator } from './accumulator.js';
import { type BinnedChunk, type Binning, ChunkBuilder, type RunBuilder } from './binned-chunk.js';
import { addBook, type BestPrices } from './book.js';
import type { MarketCells } from './cell-store.js';
import { addCells } from './cells.js';
import { addClmm, type ClmmBody, readClmm } from './clmm.js';
import { addConstantProduct, readConstantProduct } from './constant-product.js';
import { addDlmm, readDlmm } from './dlmm.js';
import { type Fields, isFields, oneOf, readHead } from './fields.js';
import { eachJsonLine } from './json-lines.js';
import { plainSnapshotRow } from './nested-rows.js';
import { type KeyedMarket, type MarketFieldNames, SUMMED_POOLS } from './market-fields.js';
import { NumberLists } from './number-lists.js';

/** Typical bytes of a cell as text: `[-12,3456.78,0],`. */
const BYTES_PER_CELL = 16;

/** Used for a row without a valid price, whose markets are only checked. */
const ANY_PRICE_USD = 1;

/** A book whose middle is further from the snapshot's price, as a factor, is probably in another unit. */
const FAR_FACTOR = 2;
/** A book whose best ask is more than this many times its best bid probably has a number in the wrong unit, or mistyped. */
const WIDE_FACTOR = 10;

const BODIES = ['cells', 'book', 'constant_product', 'clmm', 'dlmm'] as const;
type BodyKind = (typeof BODIES)[number];

/** Complete NDJSON lines. */
export interface SnapshotLines {
  /** Number of the first line in the file, from 1. */
  firstLine: number;
  bytes: Uint8Array;
  /** Whether they were made of rows with a schema, which gives all entries of a list the same type. */
  isTyped?: boolean;
}

/**
 * Bins NDJSON lines of the dataset `snapshots`. If two rows have the same snapshot, the later one replaces the
 * earlier one (`replace`), or its markets are added or replace the earlier ones (`merge`). Invalid lines
 * become faults, not errors.
 */
export function binSnapshotLines(input: SnapshotLines & Binning): BinnedChunk {
  const { bytes, firstLine } = input;
  const chunk = new ChunkBuilder(input, Math.ceil(bytes.length / BYTES_PER_CELL));
  const binner = new SnapshotBinner(chunk);
  const take = (given: unknown, index: number): void => {
    const row = input.isTyped && isFields(given) ? plainSnapshotRow(given) : given;
    binner.add(row, firstLine + index);
  };
  chunk.rows = eachJsonLine(bytes, firstLine, chunk.faults, take, binner.lists);
  return chunk.finish();
}

/** Like binSnapshotLines(), for rows parsed by JSON.parse. Each row is released once it is binned. */
export function binSnapshotRows(
  rows: Iterable<unknown>,
  options: Pick<SnapshotLines, 'firstLine'> & Binning,
): BinnedChunk {
  const chunk = new ChunkBuilder(options);
  const binner = new SnapshotBinner(chunk);
  for (const row of rows) binner.add(row, options.firstLine + chunk.rows++);
  return chunk.finish();
}

/** Bins parsed `snapshots` rows into a chunk, one at a time. */
export class SnapshotBinner {
  /** The lists of the row that add() gets. */
  readonly lists = new NumberLists();
  private readonly ladder = new LadderAccumulator();
  private readonly poolsLadder = new LadderAccumulator();

  /** @param field the field that holds the cells of a snapshot, for faults of all of them together */
  constructor(
    private readonly chunk: ChunkBuilder,
    private readonly field = 'markets',
  ) {}

  /** Adds a row's snapshot or its faults. */
  add(row: unknown, line: number): void {
    const { chunk } = this;
    chunk.faults.line = line;
    if (!isFields(row)) {
      chunk.faults.add('json', 'must be an object');
      return;
    }
    const before = chunk.faults.count;
    const head = readHead(row, chunk.faults);
    const run = head === null ? null : chunk.run(head);
    const existingPrice = head === null || run === null ? NaN : chunk.existingPrice(run, head);
    const given = head?.priceUsd ?? ANY_PRICE_USD;
    const priceUsd = Number.isNaN(existingPrice) ? given : existingPrice;
    const { lists, ladder, poolsLadder } = this;
    const reading = new RowReading(chunk, lists, ladder, poolsLadder, run, priceUsd);
    reading.readMarkets(row.markets);
    if (reading.hasCells && head !== null) chunk.checkCellsPrice(given, existingPrice);
    chunk.droppedLevels += reading.droppedLevels;
    if (head === null || run === null || chunk.faults.count !== before) return;
    chunk.warnOfLevels(line, head.t, reading.levels, reading.droppedLevels, reading.cells);
    chunk.put(run, { ...head, priceUsd }, reading.markets, this.field);
  }
}

/** Reads the markets of one row into cells. */
class RowReading {
  readonly markets: MarketCells[] = [];
  hasCells = false;
  droppedLevels = 0;
  /** Levels with an amount, including those outside the ladder. */
  levels = 0;
  cells = 0;
  private readonly keys = new Set<string>();
  /** Index of the market `constant-product`; -1 before its first pool. */
  private poolsIndex = -1;
  /** Whether the row gives that market as pools to be summed, or as a summed ladder. */
  private poolsGivenAs: 'pools' | 'ladder' | null = null;

  constructor(
    private readonly chunk: ChunkBuilder,
    private readonly lists: NumberLists,
    private readonly ladder: LadderAccumulator,
    private readonly poolsLadder: LadderAccumulator,
    /** Null if the row's head is invalid: its markets are only checked. */
    private readonly run: RunBuilder | null,
    private readonly priceUsd: number,
  ) {}

  readMarkets(markets: unknown): void {
    if (!Array.isArray(markets) || markets.length > MAX_MARKETS_PER_TOKEN) {
      this.chunk.faults.add(
        'markets',
        `must be a list of at most ${MAX_MARKETS_PER_TOKEN} markets`,
      );
      return;
    }
    for (let i = 0; i < markets.length; i++) {
      this.readMarket(markets[i], `markets[${i}]`);
      // put() will reject the snapshot: the rest need not be kept in memory.
      if (this.cells > MAX_CELLS_PER_SNAPSHOT) break;
    }
    if (this.poolsIndex >= 0) this.push(this.poolsIndex, this.poolsLadder);
  }

  private readMarket(fields: unknown, path: string): void {
    const { faults, markets } = this.chunk;
    if (!isFields(fields)) {
      faults.add(path, 'must be an object');
      return;
    }
    const names: MarketFieldNames = { prefix: `${path}.`, address: 'address' };
    const before = faults.count;
    const keyed = markets.read(fields, names);
    const body = this.bodyOf(fields, path);
    if (keyed !== null) this.checkOnce(keyed, path);
    if (body === 'constant_product') {
      if (keyed !== null) markets.checkPool(keyed.market, names);
      this.addPool(fields, path, names, before);
      return;
    }
    this.ladder.reset(this.priceUsd);
    if (body !== null) this.addBody(body, fields, path);
    this.droppedLevels += this.ladder.droppedLevels;
    this.levels += this.ladder.levels;
    const own = keyed === null ? null : markets.withOwnBody(keyed, names);
    if (own === SUMMED_POOLS) this.checkPoolsOnce('ladder', path);
    if (own === null || this.run === null || faults.count !== before) return;
    const index = this.chunk.arrive(this.run, own, names);
    if (index >= 0) this.push(index, this.ladder);
  }

  private push(index: number, ladder: LadderAccumulator): void {
    const market = this.chunk.store.pushLadder(index, ladder);
    this.cells += market.end - market.start;
    this.markets.push(market);
  }

  private bodyOf(fields: Fields, path: string): BodyKind | null {
    const given = BODIES.filter((kind) => fields[kind] !== undefined && fields[kind] !== null);
    if (given.length === 1) return given[0];
    this.chunk.faults.add(path, `must have exactly one of ${oneOf(BODIES)}`);
    return null;
  }

  private checkOnce({ key }: KeyedMarket, path: string): void {
    if (this.keys.has(key)) {
      this.chunk.faults.add(path, 'is the same market as an earlier one of this snapshot');
    }
    this.keys.add(key);
  }

  /** Adds a fault for pools beside a market `constant-product` that is already summed. */
  private checkPoolsOnce(givenAs: 'pools' | 'ladder', path: string): void {
    if (this.poolsGivenAs !== null && this.poolsGivenAs !== givenAs) {
      const { source } = SUMMED_POOLS.market;
      this.chunk.faults.add(path, `gives the market ${source} a second time in this snapshot`);
    }
    this.poolsGivenAs ??= givenAs;
  }

  /** Adds any body except constant_product to the ladder. */
  private addBody(kind: Exclude<BodyKind, 'constant_product'>, market: Fields, path: string): void {
    const { lists } = this;
    const { faults } = this.chunk;
    if (kind === 'cells') {
      this.hasCells = true;
      addCells(this.ladder, market, path, faults, lists);
      return;
    }
    const body = market[kind];
    const bodyPath = `${path}.${kind}`;
    if (!isFields(body)) {
      faults.add(bodyPath, 'must be an object');
      return;
    }
    switch (kind) {
      case 'book':
        this.warnOfBook(addBook(this.ladder, body, bodyPath, faults, lists), market);
        return;
      case 'clmm': {
        const pool = readClmm(body, bodyPath, faults);
        if (pool === null) return;
        this.warnOfLiquidity(pool, market);
        addClmm(this.ladder, pool);
        return;
      }
      case 'dlmm': {
        const pool = readDlmm(body, bodyPath, faults, lists);
        if (pool !== null) addDlmm(this.ladder, pool);
        return;
      }
    }
  }

  private warnOfLiquidity({ negativeAt }: ClmmBody, { source, pair, address }: Fields): void {
    if (negativeAt === null) return;
    const { warnings, faults } = this.chunk;
    const what = (): string =>
      `the liquidity of the pool ${[source, pair ?? address].filter(Boolean).join(' ')} falls below 0 at tick ${negativeAt}: are ticks missing?`;
    warnings.add('negative_liquidity', faults.line, what);
  }

  private warnOfBook({ bidUsd, askUsd }: BestPrices, { source, pair }: Fields): void {
    const { warnings, faults } = this.chunk;
    const named = (): string => `the book of ${[source, pair].filter(Boolean).join(' ')}`;
    if (Number.isNaN(bidUsd) !== Number.isNaN(askUsd)) {
      const side = Number.isNaN(bidUsd) ? 'bids' : 'asks';
      warnings.add('one_sided_book', faults.line, () => `${named()} has no ${side}`);
    } else if (bidUsd >= askUsd) {
      const what = (): string =>
        `${named()} is crossed: best bid ${bidUsd}, best ask ${askUsd} (USD); are bids and asks swapped?`;
      warnings.add('crossed_book', faults.line, what);
    } else if (askUsd > WIDE_FACTOR * bidUsd) {
      const what = (): string =>
        `${named()} has a wide spread: best bid ${bidUsd}, best ask ${askUsd} (USD); is one of them mistyped?`;
      warnings.add('wide_spread', faults.line, what);
    }
    const ratio = (bidUsd + askUsd) / 2 / this.priceUsd;
    // Beyond the ladder, `outside_ladder` tells of it.
    const isOnLadder = ratio >= BIN_FACTORS[0] && ratio <= BIN_FACTORS[BIN_COUNT - 1];
    if (isOnLadder && (ratio > FAR_FACTOR || ratio < 1 / FAR_FACTOR)) {
      const what = (): string =>
        `${named()} is far from price_usd ${this.priceUsd}: best bid ${bidUsd}, best ask ${askUsd} (USD)`;
      warnings.add('far_from_price', faults.line, what);
    }
  }

  /** Adds a pool to the sum that becomes the market `constant-product`. */
  private addPool(market: Fields, path: string, names: MarketFieldNames, before: number): void {
    const { faults } = this.chunk;
    const bodyPath = `${path}.constant_product`;
    const body = market.constant_product;
    if (!isFields(body)) {
      faults.add(bodyPath, 'must be an object');
      return;
    }
    const pool = readConstantProduct(body, bodyPath, faults);
    this.checkPoolsOnce('pools', path);
    if (pool === null || this.run === null || faults.count !== before) return;
    if (this.poolsIndex < 0) {
      this.poolsIndex = this.chunk.arrive(this.run, SUMMED_POOLS, names);
      if (this.poolsIndex < 0) return;
      this.poolsLadder.reset(this.priceUsd);
    }
    addConstantProduct(this.poolsLadder, pool);
  }
}
