/** Tardis `incremental_book_L2` and `book_snapshot_N` files as snapshots. */
import { BookSampler } from './book-sampler.js';
import type { ImportReport, TokenImport } from './formats.js';
import { BookMessage, type Levels } from './order-book.js';
import { SymbolChoice } from './symbols.js';
import { readTardisRows, tardisMarket, type TardisRow } from './tardis-rows.js';

/** A file is refused if more rows than this have one local_timestamp. */
const MAX_MESSAGE_ROWS = 2_000_000;

const NO_ROW = 'no row after the header';
const LEVEL_COLUMN = /^(asks|bids)\[([0-9]+)\]\.price$/;

interface LevelColumns {
  price: number;
  amount: number;
}

interface Columns {
  timestamp: number;
  bids: LevelColumns[];
  asks: LevelColumns[];
}

/**
 * Tardis `incremental_book_L2` files as snapshots. Rows with one local_timestamp are one message, whose time is their
 * greatest `timestamp`; a message with snapshot rows starts the book over.
 */
export async function* importTardisIncremental(
  request: TokenImport,
): AsyncGenerator<object, void, undefined> {
  const { files, options, report } = request;
  const sampler = new BookSampler(request);
  const message = new MessageOfRows(sampler, report);
  const choice = new SymbolChoice(options.symbol);
  for await (const nextRow of readTardisRows(files, choice, (row) => message.startFile(row))) {
    for (let row = nextRow(); row !== null; row = nextRow()) {
      if (message.endsBefore(row)) {
        if (sampler.isDue(message.us)) yield* sampler.before(message.us, message.body);
        message.apply();
      }
      message.add(row);
    }
  }
  if (!message.isEmpty) {
    yield* sampler.before(message.us, message.body);
    message.apply();
  }
  yield* sampler.finish(
    report.messages === 0
      ? NO_ROW
      : 'no row of a snapshot (is_snapshot true) to begin the book with',
  );
}

/** The message made of the last rows, and the columns of its file. */
class MessageOfRows {
  readonly body = new BookMessage();
  us = 0;
  private localUs = 0;
  private lastLocalUs = 0;
  private rows = 0;
  /** Whether the message's last row is one of a snapshot. */
  private isSnapshot = false;
  private lastWasSnapshot = false;
  private columns = { timestamp: 0, local: 0, isSnapshot: 0, side: 0, price: 0, amount: 0 };

  constructor(
    private readonly sampler: BookSampler,
    private readonly report: ImportReport,
  ) {}

  startFile(row: TardisRow): void {
    row.expectType('incremental_book_L2');
    this.columns = {
      timestamp: row.column('timestamp'),
      local: row.column('local_timestamp'),
      isSnapshot: row.column('is_snapshot'),
      side: row.column('side'),
      price: row.column('price'),
      amount: row.column('amount'),
    };
  }

  get isEmpty(): boolean {
    return this.rows === 0;
  }

  endsBefore(row: TardisRow): boolean {
    return this.rows > 0 && row.timeUs(this.columns.local) !== this.localUs;
  }

  add(row: TardisRow): void {
    const { columns, body } = this;
    if (this.rows === 0) {
      body.where = row.where;
      this.localUs = row.timeUs(columns.local);
      if (this.lastLocalUs === 0) this.sampler.nameMarket(tardisMarket(row), row.where);
    }
    if (++this.rows > MAX_MESSAGE_ROWS) {
      throw row.fault(columns.local, `more than ${MAX_MESSAGE_ROWS} rows in one message`);
    }
    const isSnapshot = readEither(row, columns.isSnapshot, 'true', 'false');
    if (isSnapshot && !this.isSnapshot) body.startOver();
    this.isSnapshot = isSnapshot;
    this.us = Math.max(this.us, row.timeUs(columns.timestamp));
    const side = readEither(row, columns.side, 'bid', 'ask') ? body.bids : body.asks;
    side.set(row.price(columns.price), row.amount(columns.amount));
  }

  /** Passes the message to the sampler and starts the next one. */
  apply(): void {
    const { body, sampler, us, localUs } = this;
    this.report.messages++;
    if (localUs < this.lastLocalUs) {
      this.report.outOfOrder.add({ t: us / 1e6, reason: 'a local_timestamp before the last' });
    }
    // A feed may consist of snapshots alone.
    if (body.reset && sampler.isWhole && !this.lastWasSnapshot) {
      this.report.gaps.add({ t: us / 1e6, reason: 'the feed starts over with a snapshot' });
    }
    sampler.apply(body, us);
    body.clear();
    this.lastLocalUs = localUs;
    this.lastWasSnapshot = this.isSnapshot;
    [this.us, this.rows, this.isSnapshot] = [0, 0, false];
  }
}

/** Whether a column has the first of two words; throws an InputError if it has neither. */
function readEither(row: TardisRow, column: number, first: string, second: string): boolean {
  if (row.isWord(column, first)) return true;
  if (row.isWord(column, second)) return false;
  throw row.fault(column, `expected ${first} or ${second}`);
}

/** Tardis `book_snapshot_N` files as snapshots: every row is a whole top-N book. */
export async function* importTardisSnapshot(
  request: TokenImport,
): AsyncGenerator<object, void, undefined> {
  const { files, options, report } = request;
  const sampler = new BookSampler(request);
  const message = new BookMessage();
  let columns: Columns = { timestamp: 0, bids: [], asks: [] };
  const startFile = (row: TardisRow) => {
    row.expectType('book_snapshot_N');
    columns = readColumns(row);
  };
  const choice = new SymbolChoice(options.symbol);
  for await (const nextRow of readTardisRows(files, choice, startFile)) {
    for (let row = nextRow(); row !== null; row = nextRow()) {
      if (report.messages++ === 0) sampler.nameMarket(tardisMarket(row), row.where);
      message.startOver();
      message.where = row.where;
      readSide(row, columns.bids, message.bids, 1);
      readSide(row, columns.asks, message.asks, -1);
      const us = row.timeUs(columns.timestamp);
      if (sampler.isDue(us)) yield* sampler.before(us);
      sampler.apply(message, us);
    }
  }
  yield* sampler.finish(NO_ROW);
}

function readColumns(row: TardisRow): Columns {
  const columns: Columns = { timestamp: row.column('timestamp'), bids: [], asks: [] };
  row.columns.forEach((name, price) => {
    const match = LEVEL_COLUMN.exec(name);
    if (match === null) return;
    const side = match[1] as 'asks' | 'bids';
    const level = Number(match[2]);
    columns[side][level] = { price, amount: row.column(`${side}[${level}].amount`) };
  });
  for (const side of ['asks', 'bids'] as const) {
    const depth = Math.max(columns[side].length, 1);
    for (let level = 0; level < depth; level++) row.column(`${side}[${level}].price`);
  }
  return columns;
}

/** Levels are listed best first; if the book has fewer than N, the remaining fields are empty. */
function readSide(row: TardisRow, columns: LevelColumns[], levels: Levels, sign: 1 | -1) {
  let last = sign * Infinity;
  let ended = false;
  for (const { price, amount } of columns) {
    if (row.isEmpty(price) && row.isEmpty(amount)) {
      ended = true;
      continue;
    }
    const value = row.price(price);
    if (ended) throw row.fault(price, 'expected nothing after an empty level');
    if (!((last - value) * sign > 0)) throw row.fault(price, 'expected the levels best first');
    last = value;
    levels.set(value, row.amount(amount));
  }
}
