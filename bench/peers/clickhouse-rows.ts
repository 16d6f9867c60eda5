/**
 * A set's rows in ClickHouse's format RowBinary: fixed widths, little-endian. Unlike its parsers of decimal texts in some
 * versions, these numbers are exact to the last bit.
 */
import type { PageSet } from './page-set.js';

const CELL_BYTES = 26;
const SNAPSHOT_BYTES = 14;

/** token UInt16, t UInt32, market UInt16, bin Int16, support and resistance Float64; yields one snapshot at a time. */
export function* cellRows({ histories }: PageSet): Generator<Buffer> {
  for (const [token, { run }] of histories.entries()) {
    for (let s = 0; s < run.t.length; s++) {
      const from = run.cellOffsets[s];
      const rows = Buffer.allocUnsafe(CELL_BYTES * (run.cellOffsets[s + 1] - from));
      for (let at = 0, i = from; at < rows.length; i++) {
        at = rows.writeUInt16LE(token, at);
        at = rows.writeUInt32LE(run.t[s], at);
        at = rows.writeUInt16LE(run.market[i], at);
        at = rows.writeInt16LE(run.bin[i], at);
        at = rows.writeDoubleLE(run.supportCents[i] / 100, at);
        at = rows.writeDoubleLE(run.resistanceCents[i] / 100, at);
      }
      yield rows;
    }
  }
}

/** token UInt16, t UInt32, price Float64; yields one token at a time. */
export function* snapshotRows({ histories }: PageSet): Generator<Buffer> {
  for (const [token, { run }] of histories.entries()) {
    const rows = Buffer.allocUnsafe(SNAPSHOT_BYTES * run.t.length);
    for (let at = 0, s = 0; at < rows.length; s++) {
      at = rows.writeUInt16LE(token, at);
      at = rows.writeUInt32LE(run.t[s], at);
      at = rows.writeDoubleLE(run.priceUsd[s], at);
    }
    yield rows;
  }
}
