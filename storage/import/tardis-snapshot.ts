import { BookMessage } from './book.js';
import type { LevelList } from './levels.js';
import type { ImportOptions, ImportToken } from './options.js';
import type { ImportReport } from './report.js';
import { BookSampler } from './sampler.js';
import { tardisMarket } from './tardis-market.js';
import { readTardisRows, type TardisRow } from './tardis-rows.js';

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

/** Tardis `book_snapshot_N` files as snapshots: every row is a whole top-N book. */
export async function* importTardisSnapshot(
  files: readonly string[],
  token: ImportToken,
  options: ImportOptions,
  report: ImportReport,
): AsyncGenerator<object, void, undefined> {
  const sampler = new BookSampler(token, options, report);
  const message = new BookMessage();
  let columns: Columns = { timestamp: 0, bids: [], asks: [] };
  const startFile = (row: TardisRow) => {
    columns = readColumns(row);
  };
  for await (const nextRow of readTardisRows(files, startFile)) {
    for (let row = nextRow(); row !== null; row = nextRow()) {
      if (report.messages++ === 0) sampler.nameMarket(tardisMarket(row));
      message.startOver();
      message.where = row.where;
      readSide(row, columns.bids, message.bids, 1);
      readSide(row, columns.asks, message.asks, -1);
      const us = row.timeUs(columns.timestamp);
      if (sampler.isDue(us)) yield* sampler.before(us);
      sampler.apply(message, us);
    }
  }
  yield* sampler.finish();
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

/** Levels stand best first; where the book has fewer than N, the rest of the fields are empty. */
function readSide(row: TardisRow, columns: LevelColumns[], levels: LevelList, sign: 1 | -1) {
  let last = sign * Infinity;
  let ended = false;
  for (const { price, amount } of columns) {
    if (row.isEmpty(price) && row.isEmpty(amount)) {
      ended = true;
      continue;
    }
    const value = row.price(price);
    if (ended) throw row.fault(price, 'expected nothing behind an empty level');
    if (!((last - value) * sign > 0)) throw row.fault(price, 'expected the levels best first');
    last = value;
    levels.push(value, row.amount(amount));
  }
}
