import { MAX_CELLS_PER_SNAPSHOT } from '../ladder.js';
import { CONSTANT_PRODUCT_MARKET, type Market, MAX_MARKETS_PER_TOKEN } from '../market.js';
import { LadderAccumulator } from './accumulator.js';
import type { BatchBuilder } from './batch.js';
import { addBook } from './book.js';
import type { MarketBlock } from './cell-store.js';
import { addCells, countDropped } from './cells.js';
import { addClmm, readClmm } from './clmm.js';
import { addConstantProduct, readConstantProduct } from './constant-product.js';
import { addDlmm, readDlmm } from './dlmm.js';
import { type Fields, isFields } from './fields.js';
import { type MarketFieldNames, oneOf } from './market-fields.js';
import { NumberList } from './number-list.js';
import type { PartBuilder } from './run-builder.js';
import { headOfRow, readHead } from './snapshot-head.js';

const BODIES = ['cells', 'book', 'constant_product', 'clmm', 'dlmm'] as const;
type BodyKind = (typeof BODIES)[number];

/** How a market of a row is called in faults. */
interface MarketPath {
  path: string;
  names: MarketFieldNames;
}

/** Paths of a row's first markets, made once. */
const FIRST_PATHS: readonly MarketPath[] = Array.from({ length: 64 }, (_, i) => pathOf(i));

function pathOf(index: number): MarketPath {
  const path = `markets[${index}]`;
  return { path, names: { prefix: `${path}.`, address: 'address' } };
}

/** The price that markets of a row without a valid price are read against; they are not kept. */
const ANY_PRICE_USD = 1;

/** Bins parsed rows of `snapshots` into a batch, one at a time. */
export class SnapshotRowBinner {
  private readonly ladder = new LadderAccumulator();
  private readonly poolsLadder = new LadderAccumulator();

  constructor(private readonly batch: BatchBuilder) {}

  /**
   * Reads one row, adds its snapshot or its faults.
   * @param basePriceUsd price of the stored snapshot that this one is merged into; NaN for none
   */
  add(row: unknown, line: number, basePriceUsd: number): void {
    const { batch } = this;
    batch.faults.line = line;
    if (!isFields(row)) {
      batch.faults.add('json', 'must be an object');
      return;
    }
    const before = batch.faults.count;
    const head = readHead(headOfRow(row), batch.faults);
    const part = head === null ? null : batch.runs.part(head);
    const standing =
      head === null || part === null ? NaN : batch.standingPrice(part, head.t, basePriceUsd);
    const given = head?.priceUsd ?? ANY_PRICE_USD;
    const priceUsd = Number.isNaN(standing) ? given : standing;
    const reading = new RowReading(batch, this.ladder, this.poolsLadder, part, priceUsd);
    reading.readMarkets(row.markets);
    if (reading.hasCells && head !== null) batch.checkCellsPrice(given, standing);
    batch.droppedLevels += reading.droppedLevels;
    if (head === null || part === null || batch.faults.count !== before) return;
    batch.put(part, { ...head, priceUsd }, reading.blocks, 'markets');
  }
}

/** One row's markets on their way into blocks. */
class RowReading {
  readonly blocks: MarketBlock[] = [];
  hasCells = false;
  droppedLevels = 0;
  private cells = 0;
  private readonly keys = new Set<string>();
  /** Index of the market `constant-product`; -1 before its first pool. */
  private poolsIndex = -1;
  /** How the row gives that market: as pools to sum, or summed already. */
  private poolsGivenAs: 'pools' | 'ladder' | null = null;

  constructor(
    private readonly batch: BatchBuilder,
    private readonly ladder: LadderAccumulator,
    private readonly poolsLadder: LadderAccumulator,
    /** null where the row's head is wrong: its markets are judged, not kept. */
    private readonly part: PartBuilder | null,
    private readonly priceUsd: number,
  ) {}

  readMarkets(markets: unknown): void {
    if (!Array.isArray(markets) || markets.length > MAX_MARKETS_PER_TOKEN) {
      this.batch.faults.add(
        'markets',
        `must be a list of at most ${MAX_MARKETS_PER_TOKEN} markets`,
      );
      return;
    }
    for (let i = 0; i < markets.length; i++) {
      this.readMarket(markets[i], FIRST_PATHS[i] ?? pathOf(i));
      // Far too many cells: what put() refuses need not be held in memory first.
      if (this.cells > MAX_CELLS_PER_SNAPSHOT) break;
    }
    if (this.poolsIndex >= 0) this.push(this.poolsIndex, this.poolsLadder);
  }

  private readMarket(fields: unknown, { path, names }: MarketPath): void {
    const { faults, markets } = this.batch;
    if (!isFields(fields)) {
      faults.add(path, 'must be an object');
      return;
    }
    const before = faults.count;
    const market = markets.read(rawMarket(fields), names);
    const body = this.bodyOf(fields, path);
    if (market !== null) this.checkOnce(market, path);
    if (body === 'constant_product') {
      if (market !== null) markets.checkPool(market, names);
      this.addPool(fields, path, names, before);
      return;
    }
    const sorted = this.sortedCells(fields, body);
    if (sorted === null) {
      this.ladder.reset(this.priceUsd);
      if (body !== null) this.addBody(body, fields, path);
      this.droppedLevels += this.ladder.droppedLevels;
    }
    const own = market === null ? null : markets.ofLadder(market, names);
    if (own === CONSTANT_PRODUCT_MARKET) this.checkPoolsOnce('ladder', path);
    if (own === null || this.part === null || faults.count !== before) return;
    const index = this.batch.arrive(this.part, own, names);
    if (index < 0) return;
    if (sorted === null) this.push(index, this.ladder);
    else this.keep(this.batch.runs.store.pushCells(index, sorted));
  }

  /** Cells that need no ladder to sort them, as most do not. */
  private sortedCells(fields: Fields, body: BodyKind | null): NumberList | null {
    const { cells } = fields;
    if (body !== 'cells' || !(cells instanceof NumberList)) return null;
    const dropped = countDropped(cells);
    if (dropped < 0) return null;
    this.hasCells = true;
    this.droppedLevels += dropped;
    return cells;
  }

  private push(index: number, ladder: LadderAccumulator): void {
    this.keep(this.batch.runs.store.pushLadder(index, ladder));
  }

  private keep(block: MarketBlock): void {
    this.cells += block.end - block.start;
    this.blocks.push(block);
  }

  private bodyOf(fields: Fields, path: string): BodyKind | null {
    // Field by field: a name that is worked out is looked up slowly.
    const { cells, book, constant_product: product, clmm, dlmm } = fields;
    const bodies =
      +isGiven(cells) + +isGiven(book) + +isGiven(product) + +isGiven(clmm) + +isGiven(dlmm);
    if (bodies === 1) {
      if (isGiven(cells)) return 'cells';
      if (isGiven(book)) return 'book';
      return BODIES.find((kind) => isGiven(fields[kind])) ?? null;
    }
    this.batch.faults.add(path, `must have exactly one of ${oneOf(BODIES)}`);
    return null;
  }

  private checkOnce(market: Market, path: string): void {
    const key = this.batch.markets.keyOf(market);
    if (this.keys.has(key)) {
      this.batch.faults.add(path, 'is the same market as an earlier one of this snapshot');
    }
    this.keys.add(key);
  }

  /** Refuses pools beside a market `constant-product` that is summed already. */
  private checkPoolsOnce(givenAs: 'pools' | 'ladder', path: string): void {
    if (this.poolsGivenAs !== null && this.poolsGivenAs !== givenAs) {
      const { source } = CONSTANT_PRODUCT_MARKET;
      this.batch.faults.add(path, `gives the market ${source} a second time in this snapshot`);
    }
    this.poolsGivenAs ??= givenAs;
  }

  /** Adds any body but constant_product to the ladder. */
  private addBody(kind: Exclude<BodyKind, 'constant_product'>, market: Fields, path: string): void {
    const { faults } = this.batch;
    if (kind === 'cells') {
      this.hasCells = true;
      addCells(this.ladder, market, path, faults);
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
        addBook(this.ladder, body, bodyPath, faults);
        return;
      case 'clmm': {
        const pool = readClmm(body, bodyPath, faults);
        if (pool !== null) addClmm(this.ladder, pool);
        return;
      }
      case 'dlmm': {
        const pool = readDlmm(body, bodyPath, faults);
        if (pool !== null) addDlmm(this.ladder, pool);
        return;
      }
    }
  }

  /** Adds a pool to the sum that becomes the market `constant-product`. */
  private addPool(market: Fields, path: string, names: MarketFieldNames, before: number): void {
    const { faults } = this.batch;
    const bodyPath = `${path}.constant_product`;
    const body = market.constant_product;
    if (!isFields(body)) {
      faults.add(bodyPath, 'must be an object');
      return;
    }
    const pool = readConstantProduct(body, bodyPath, faults);
    this.checkPoolsOnce('pools', path);
    if (pool === null || this.part === null || faults.count !== before) return;
    if (this.poolsIndex < 0) {
      this.poolsIndex = this.batch.arrive(this.part, CONSTANT_PRODUCT_MARKET, names);
      if (this.poolsIndex < 0) return;
      this.poolsLadder.reset(this.priceUsd);
    }
    addConstantProduct(this.poolsLadder, pool);
  }
}

const isGiven = (body: unknown): boolean => body !== undefined && body !== null;

function rawMarket(fields: Fields) {
  const { source, exchange_type: exchangeType, type, address, pair } = fields;
  return { source, exchangeType, type, address, pair };
}
