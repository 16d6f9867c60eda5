/**
 * Segments: a run of one token's snapshots as one Arrow record batch, one row a snapshot, its cells
 * a list. The IPC stream is complete in itself: any Arrow reader opens it after LZ4.
 */
import {
  Field,
  Float64,
  Int16,
  List,
  RecordBatch,
  Schema,
  Struct,
  Table,
  Uint16,
  Uint32,
  Uint64,
  makeData,
  tableFromIPC,
  tableToIPC,
  type Data,
  type DataType,
} from 'apache-arrow';
import type { Chain, Tier } from '../market.js';
import { lz4DecompressInto } from './lz4-into.js';
import { lz4Compress, lz4Decompress, statedPlainBytes } from './lz4.js';
import type { PlainRoom } from './plain-room.js';
import { narrowCents, type CentsColumn, type RunKey, type SnapshotRun } from './run.js';

/** Value of the schema's `format` metadata; another value is another layout. */
export const SEGMENT_FORMAT = 'fathom.segment.1';

const TWO_32 = 4_294_967_296;

/** Encodes a run as an LZ4 block around an Arrow IPC stream. */
export function encodeSegment(run: SnapshotRun): Uint8Array {
  return lz4Compress(segmentToIpc(run));
}

/**
 * Decodes what encodeSegment made.
 * @throws Error where the bytes are damaged or of another layout
 */
export function decodeSegment(block: Uint8Array): SnapshotRun {
  return ipcToRun(lz4Decompress(block));
}

/** The same, the columns in a room: they last until it is cleared. */
export function decodeSegmentInto(room: PlainRoom, block: Uint8Array): SnapshotRun {
  const plain = room.take(statedPlainBytes(block));
  lz4DecompressInto(block, plain);
  return ipcToRun(plain);
}

function segmentToIpc(run: SnapshotRun): Uint8Array {
  const snapshots = run.t.length;
  const cells = run.cellOffsets[snapshots];
  const wide =
    run.supportCents instanceof Float64Array || run.resistanceCents instanceof Float64Array;
  const cents = wide ? new Uint64() : new Uint32();
  const cellFields = [
    new Field('market', new Uint16(), false),
    new Field('bin', new Int16(), false),
    new Field('support_cents', cents, false),
    new Field('resistance_cents', cents, false),
  ];
  const cellType = new Struct(cellFields);
  const cellField = new Field('cell', cellType, false);
  const listType = new List(cellField);
  const schema = new Schema(
    [
      new Field('t', new Uint32(), false),
      new Field('price_usd', new Float64(), false),
      new Field('cells', listType, false),
    ],
    new Map([
      ['format', SEGMENT_FORMAT],
      ['chain', run.chain],
      ['address', run.address],
      ['tier', run.tier],
    ]),
  );
  const column = (type: DataType, data: ArrayBufferView): Data =>
    makeData({ type, length: cells, nullCount: 0, data } as never);
  const cellData = makeData({
    type: cellType,
    length: cells,
    nullCount: 0,
    children: [
      column(new Uint16(), run.market.subarray(0, cells)),
      column(new Int16(), run.bin.subarray(0, cells)),
      column(cents, centsBuffer(run.supportCents, cells, wide)),
      column(cents, centsBuffer(run.resistanceCents, cells, wide)),
    ],
  });
  const rows = makeData({
    type: new Struct(schema.fields),
    length: snapshots,
    nullCount: 0,
    children: [
      makeData({ type: new Uint32(), length: snapshots, nullCount: 0, data: run.t }),
      makeData({ type: new Float64(), length: snapshots, nullCount: 0, data: run.priceUsd }),
      makeData({
        type: listType,
        length: snapshots,
        nullCount: 0,
        valueOffsets: run.cellOffsets,
        child: cellData,
      }),
    ],
  });
  return tableToIPC(new Table([new RecordBatch(schema, rows as never)]), 'stream');
}

function ipcToRun(ipc: Uint8Array): SnapshotRun {
  const table = tableFromIPC(ipc);
  const key = keyOfMetadata(table.schema.metadata);
  const batch = table.batches[0];
  if (table.batches.length !== 1) throw new Error('segment holds other than one record batch');
  const [t, priceUsd, list] = batch.data.children;
  const cellOffsets = (list.valueOffsets as Int32Array).subarray(0, batch.numRows + 1);
  const cells = cellOffsets[batch.numRows];
  const [market, bin, support, resistance] = list.children[0].children;
  // IPC buffers are padded to 8 bytes, and readers see the padding: cut it off.
  return {
    ...key,
    t: (t.values as Uint32Array).subarray(0, batch.numRows),
    priceUsd: (priceUsd.values as Float64Array).subarray(0, batch.numRows),
    cellOffsets,
    market: (market.values as Uint16Array).subarray(0, cells),
    bin: (bin.values as Int16Array).subarray(0, cells),
    supportCents: centsColumn((support.values as Uint32Array | BigUint64Array).subarray(0, cells)),
    resistanceCents: centsColumn(
      (resistance.values as Uint32Array | BigUint64Array).subarray(0, cells),
    ),
  };
}

function keyOfMetadata(metadata: Map<string, string>): RunKey {
  if (metadata.get('format') !== SEGMENT_FORMAT) {
    throw new Error(`segment of an unknown format: ${metadata.get('format') ?? 'none'}`);
  }
  return {
    chain: metadata.get('chain') as Chain,
    address: metadata.get('address') as string,
    tier: metadata.get('tier') as Tier,
  };
}

/** Cents as the bytes of uint32 or little-endian uint64, without a BigInt a cell. */
function centsBuffer(cents: CentsColumn, length: number, wide: boolean): ArrayBufferView {
  if (!wide) return cents.subarray(0, length);
  const halves = new Uint32Array(length * 2);
  for (let i = 0; i < length; i++) {
    const value = cents[i];
    const high = Math.floor(value / TWO_32);
    halves[2 * i] = value - high * TWO_32;
    halves[2 * i + 1] = high;
  }
  return new BigUint64Array(halves.buffer);
}

function centsColumn(values: Uint32Array | BigUint64Array): CentsColumn {
  if (values instanceof Uint32Array) return values;
  const halves = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  const cents = new Float64Array(values.length);
  for (let i = 0; i < cents.length; i++) cents[i] = halves[2 * i] + halves[2 * i + 1] * TWO_32;
  return narrowCents(cents, cents.length);
}
