/** Writes a set's histories as files for every database to load: flat rows, ordered by token and time. */
import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { TokenHistory } from '../data/pages.js';
import type { PageSet } from './page-set.js';

/** CSV without a header; a token is its number, a market its number within the token. */
export interface TableFiles {
  /** token, t, market, bin, support_usd, resistance_usd; in this order. */
  cells: string;
  /** token, t, price_usd. */
  snapshots: string;
}

export async function writeTables(folder: string, { histories }: PageSet): Promise<TableFiles> {
  const files = { cells: path.join(folder, 'cells.csv'), snapshots: path.join(folder, 'snap.csv') };
  const write = (file: string, lines: Iterable<string>) =>
    pipeline(Readable.from(lines), createWriteStream(file));
  await write(files.cells, cellLines(histories));
  await write(files.snapshots, snapshotLines(histories));
  return files;
}

/** Yields the lines of one snapshot at a time. */
function* cellLines(histories: readonly TokenHistory[]): Generator<string> {
  for (const [token, { run }] of histories.entries()) {
    for (let s = 0; s < run.t.length; s++) {
      let lines = '';
      for (let i = run.cellOffsets[s]; i < run.cellOffsets[s + 1]; i++) {
        const support = Number(run.supportCents[i]) / 100;
        const resistance = Number(run.resistanceCents[i]) / 100;
        lines += `${token},${run.t[s]},${run.market[i]},${run.bin[i]},${support},${resistance}\n`;
      }
      yield lines;
    }
  }
}

function* snapshotLines(histories: readonly TokenHistory[]): Generator<string> {
  for (const [token, { run }] of histories.entries()) {
    for (let s = 0; s < run.t.length; s++) yield `${token},${run.t[s]},${run.priceUsd[s]}\n`;
  }
}
