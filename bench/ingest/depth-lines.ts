/** Ladders as text: flat cells as CSV and NDJSON, nested snapshots with cells and with books. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { binSnapshotRows } from '../../compute/ingest/snapshots.js';
import type { Market } from '../../compute/market.js';
import { bodyRows, LEVELS_OF_BODY } from '../data/bodies.js';
import {
  benchAddress,
  EVERY_S,
  PAGE_A,
  START_S,
  tokenHistory,
  type TokenHistory,
} from '../data/pages.js';
import type { Pages, Written } from './written.js';

/** How many different books there are; a file repeats them with other times and addresses. */
const BOOKS = 64;
/** How much text is collected before it is written. */
const FLUSH_CHARS = 4 * 1024 * 1024;

const CELL_HEADER =
  'chain,address,t,tier,price_usd,source,exchange_type,type,market_address,pair,bin,support_usd,resistance_usd';

/** A text file, written a few megabytes at a time. */
export class TextFile {
  private readonly descriptor: number;
  private texts: string[] = [];
  private chars = 0;

  constructor(file: string) {
    this.descriptor = openSync(file, 'w');
  }

  write(text: string): void {
    this.texts.push(text);
    this.chars += text.length;
    if (this.chars >= FLUSH_CHARS) this.flush();
  }

  close(): void {
    this.flush();
    closeSync(this.descriptor);
  }

  private flush(): void {
    writeSync(this.descriptor, this.texts.join(''));
    this.texts = [];
    this.chars = 0;
  }
}

export function linesOfCells(file: string, pages: Pages, format: 'csv' | 'ndjson'): Written {
  const lineOf = format === 'csv' ? csvLine : jsonLine;
  const out = new TextFile(file);
  if (format === 'csv') out.write(`${CELL_HEADER}\n`);
  const cells = eachSnapshot(pages, ({ run, markets }, s) => {
    for (let i = run.cellOffsets[s]; i < run.cellOffsets[s + 1]; i++) {
      const market = markets[run.market[i]];
      const cents: Cents = [run.bin[i], run.supportCents[i], run.resistanceCents[i]];
      out.write(lineOf(run.address, run.t[s], run.priceUsd[s], market, cents));
    }
  });
  out.close();
  return { rows: cells, cells, tokens: pages.tokens, items: cells };
}

/** Bin, support and resistance. */
type Cents = readonly [number, number, number];

function csvLine(address: string, t: number, price: number, market: Market, cents: Cents): string {
  const { source, exchangeType, type, address: own, pair } = market;
  return `mainchain,${address},${t},raw,${price},${source},${exchangeType},${type},${own ?? ''},${pair},${cents[0]},${cents[1] / 100},${cents[2] / 100}\n`;
}

function jsonLine(address: string, t: number, price: number, market: Market, cents: Cents): string {
  const row = {
    chain: 'mainchain',
    address,
    t,
    tier: 'raw',
    price_usd: price,
    source: market.source,
    exchange_type: market.exchangeType,
    type: market.type,
    market_address: market.address,
    pair: market.pair,
    bin: cents[0],
    support_usd: cents[1] / 100,
    resistance_usd: cents[2] / 100,
  };
  return `${JSON.stringify(row)}\n`;
}

export function linesOfSnapshots(file: string, pages: Pages): Written {
  const out = new TextFile(file);
  const cells = eachSnapshot(pages, ({ run, markets }, s) => {
    const { chain, address } = run;
    const lists: number[][][] = markets.map(() => []);
    for (let i = run.cellOffsets[s]; i < run.cellOffsets[s + 1]; i++) {
      const amounts = [run.supportCents[i] / 100, run.resistanceCents[i] / 100];
      lists[run.market[i]].push([run.bin[i], ...amounts]);
    }
    const bodies = markets.map(({ exchangeType: exchange_type, ...market }, m) => ({
      ...market,
      exchange_type,
      cells: lists[m],
    }));
    const head = { chain, address, t: run.t[s], price_usd: run.priceUsd[s] };
    out.write(`${JSON.stringify({ ...head, markets: bodies })}\n`);
  });
  out.close();
  return { rows: pages.tokens * pages.snapshots, cells, tokens: pages.tokens, items: cells };
}

/** Calls `take` with every snapshot of every token. @returns their number of cells */
function eachSnapshot(
  { tokens, snapshots }: Pages,
  take: (history: TokenHistory, snapshot: number) => void,
): number {
  let cells = 0;
  for (let token = 0; token < tokens; token++) {
    const history = tokenHistory(PAGE_A, snapshots, token);
    for (let s = 0; s < snapshots; s++) take(history, s);
    cells += history.run.bin.length;
  }
  return cells;
}

/** Snapshots of one book each, `levels` levels in total; each token has as many snapshots as a page. */
export function linesOfBooks(file: string, levels: number): Written {
  const rows = bodyRows('book', BOOKS) as { address: string; t: number }[];
  const cellsOf = rows.map((row) => {
    return binSnapshotRows([row], { firstLine: 1, mode: 'replace' }).cells;
  });
  const count = Math.max(1, Math.round(levels / LEVELS_OF_BODY.book));
  const out = new TextFile(file);
  let cells = 0;
  for (let i = 0; i < count; i++) {
    const address = benchAddress(Math.floor(i / PAGE_A.snapshots));
    const t = START_S + (i % PAGE_A.snapshots) * EVERY_S;
    out.write(`${JSON.stringify({ ...rows[i % BOOKS], address, t })}\n`);
    cells += cellsOf[i % BOOKS];
  }
  out.close();
  return { rows: count, cells, tokens: Math.ceil(count / PAGE_A.snapshots), items: cells };
}
