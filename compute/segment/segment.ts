/**
 * Segments: a run as one Arrow record batch, one row per snapshot, its cells a list. Decompressed, a segment is a whole
 * IPC stream that any Arrow reader opens.
 */
import { crc32 } from 'node:zlib';
import type { Data, DataType } from 'apache-arrow';
import { DamageError } from '../damage.js';
import { DEFAULT_BAND } from '../ladder.js';
import type { Chain, Tier } from '../market.js';
import { lz4Compress, lz4Decompress, type PlainMemory } from './lz4.js';
import {
  type CentsColumn,
  narrowCents,
  type RunColumns,
  type RunKey,
  type SnapshotRun,
} from './run.js';
import { arrow } from './arrow.js';
import { bitsOf, openIpcStream } from './ipc.js';

const {
  Field,
  Float64,
  Int16,
  List,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Uint16,
  Uint32,
  Uint64,
} = arrow;

/** A block as read from the store. */
export interface StoredBlock {
  segmentId: number;
  block: Uint8Array;
  /** Checksum of the block as it was written. */
  crc32: number;
}

/**
 * The block, after its checksum was verified.
 * @throws DamageError if it does not match
 */
export function checkedBlock({ segmentId, block, crc32: written }: StoredBlock): Uint8Array {
  if (crc32(block) !== written) {
    throw new DamageError(`segment ${segmentId} is damaged: its checksum does not match`);
  }
  return block;
}

/** Value of the schema's `format` metadata; another value is another layout. */
const SEGMENT_FORMAT = 'fathom.segment.1';

const TWO_32 = 4_294_967_296;

/** Encodes a run as an LZ4 block around an Arrow IPC stream. */
export function encodeSegment(run: SnapshotRun): Uint8Array {
  return lz4Compress(segmentToIpc(run));
}

/**
 * Decodes a block from encodeSegment().
 * @throws Error if the bytes are damaged or have another layout
 */
export function decodeSegment(block: Uint8Array): SnapshotRun {
  return ipcToRun(lz4Decompress(block));
}

/** Like decodeSegment(), for one of the blocks for which the memory has room; valid until it begins others. */
export function decodeSegmentInto(memory: PlainMemory, block: Uint8Array): SnapshotRun {
  return ipcToRun(memory.decompress(block));
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

/** Buffers of the record batch: one for each column without cells, and one for each column of cells, after its nulls. */
const BUFFERS = {
  t: 1,
  priceUsd: 3,
  cellOffsets: 5,
  market: 8,
  bin: 10,
  supportCents: 12,
  resistanceCents: 14,
  count: 15,
} as const;
/** Where the field of support is: field `cells`, its list's item, the item's third child. */
const CELLS_FIELD = 2;
const SUPPORT_PATH = [0, 2];

function ipcToRun(ipc: Uint8Array): SnapshotRun {
  const stream = openIpcStream(ipc);
  const key = keyOfMetadata(stream.metadata);
  const { rows, fields } = stream;
  if (stream.bufferCount !== BUFFERS.count) throw new Error('segment has unexpected columns');
  const cellOffsets = stream.column(BUFFERS.cellOffsets, Int32Array, rows + 1);
  const cells = cellOffsets[rows];
  const isWide = bitsOf(fields[CELLS_FIELD], SUPPORT_PATH) === 64;
  const cents = (index: number): CentsColumn =>
    isWide
      ? centsOfHalves(stream.column(index, Uint32Array, 2 * cells))
      : stream.column(index, Uint32Array, cells);
  return {
    ...key,
    t: stream.column(BUFFERS.t, Uint32Array, rows),
    priceUsd: stream.column(BUFFERS.priceUsd, Float64Array, rows),
    cellOffsets,
    market: stream.column(BUFFERS.market, Uint16Array, cells),
    bin: stream.column(BUFFERS.bin, Int16Array, cells),
    supportCents: cents(BUFFERS.supportCents),
    resistanceCents: cents(BUFFERS.resistanceCents),
  };
}

function keyOfMetadata(metadata: ReadonlyMap<string, string>): RunKey {
  if (metadata.get('format') !== SEGMENT_FORMAT) {
    throw new Error(`segment has an unknown format: ${metadata.get('format') ?? 'none'}`);
  }
  return {
    chain: metadata.get('chain') as Chain,
    address: metadata.get('address') as string,
    tier: metadata.get('tier') as Tier,
  };
}

/** Cents as the bytes of uint32 or little-endian uint64, without a BigInt per cell. */
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

/** Cents from the low and the high 32 bits of each. */
function centsOfHalves(halves: Uint32Array): CentsColumn {
  const cents = new Float64Array(halves.length / 2);
  for (let i = 0; i < cents.length; i++) cents[i] = halves[2 * i] + halves[2 * i + 1] * TWO_32;
  return narrowCents(cents, cents.length);
}

/** Most cells of a segment with several snapshots. */
export const MAX_SEGMENT_CELLS = 16_384;
/** Most snapshots of a segment: those of a full page. */
export const MAX_SEGMENT_SNAPSHOTS = 288;

/** A segment's block and its index entry. */
export interface EncodedSegment {
  /** LZ4 block around the Arrow stream. */
  block: Uint8Array;
  /** Epoch seconds of its snapshots, ascending. */
  times: Uint32Array;
  /** Cells of each snapshot in the default band, ungrouped. */
  bandCells: Uint32Array;
  /** A digest of each snapshot, by digestsOf(). */
  digests: Uint32Array;
  cells: number;
  /** Where each of its markets has cells, by marketRows(). */
  marketRows: Uint16Array;
}

/** Splits a run greedily into segments within the limits above, in order. */
export function splitRun(run: SnapshotRun): SnapshotRun[] {
  const runs: SnapshotRun[] = [];
  for (let first = 0; first < run.t.length;) {
    let last = first + 1;
    while (
      last < run.t.length &&
      last - first < MAX_SEGMENT_SNAPSHOTS &&
      run.cellOffsets[last + 1] - run.cellOffsets[first] <= MAX_SEGMENT_CELLS
    ) {
      last++;
    }
    runs.push(sliceRun(run, first, last));
    first = last;
  }
  return runs;
}

/** Snapshots `first <= s < last` of a run; the columns are views. */
export function sliceRun(run: SnapshotRun, first: number, last: number): SnapshotRun {
  const from = run.cellOffsets[first];
  const to = run.cellOffsets[last];
  return {
    ...run,
    t: run.t.slice(first, last),
    priceUsd: run.priceUsd.slice(first, last),
    cellOffsets: run.cellOffsets.slice(first, last + 1).map((offset) => offset - from),
    market: run.market.subarray(from, to),
    bin: run.bin.subarray(from, to),
    supportCents: run.supportCents.subarray(from, to),
    resistanceCents: run.resistanceCents.subarray(from, to),
  };
}

export function describeBand(run: SnapshotRun): Uint32Array {
  const bandCells = new Uint32Array(run.t.length);
  for (let s = 0; s < run.t.length; s++) {
    for (let c = run.cellOffsets[s]; c < run.cellOffsets[s + 1]; c++) {
      if (run.bin[c] >= DEFAULT_BAND.first && run.bin[c] <= DEFAULT_BAND.last) bandCells[s]++;
    }
  }
  return bandCells;
}

/** Encodes a run as one segment. */
export function describeSegment(run: SnapshotRun): EncodedSegment {
  return {
    block: encodeSegment(run),
    times: Uint32Array.from(run.t),
    bandCells: describeBand(run),
    digests: digestsOf(run),
    cells: run.cellOffsets[run.t.length],
    marketRows: marketRows(run),
  };
}

/**
 * A number for each snapshot that changes with its price and its cells, whatever segment it is in: MurmurHash3
 * (32 bits) of their values.
 */
export function digestsOf(run: RunColumns): Uint32Array {
  const { t, priceUsd, cellOffsets, market, bin, supportCents, resistanceCents } = run;
  const priceWords = new Uint32Array(Float64Array.from(priceUsd.subarray(0, t.length)).buffer);
  const digests = new Uint32Array(t.length);
  for (let s = 0; s < t.length; s++) {
    let hash = mixed(mixed(0, priceWords[2 * s]), priceWords[2 * s + 1]);
    for (let c = cellOffsets[s]; c < cellOffsets[s + 1]; c++) {
      const [support, resistance] = [supportCents[c], resistanceCents[c]];
      hash = mixed(hash, (market[c] << 16) | (bin[c] & 0xffff));
      hash = mixed(mixed(hash, support), resistance);
      if (support >= TWO_32 || resistance >= TWO_32) {
        hash = mixed(mixed(hash, support / TWO_32), resistance / TWO_32);
      }
    }
    hash ^= cellOffsets[s + 1] - cellOffsets[s];
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    digests[s] = hash ^ (hash >>> 16);
  }
  return digests;
}

/** A step of MurmurHash3 with the low 32 bits of a whole number. */
function mixed(hash: number, word: number): number {
  let k = Math.imul(word | 0, 0xcc9e2d51);
  k = Math.imul((k << 15) | (k >>> 17), 0x1b873593);
  const h = hash ^ k;
  return (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
}

/** Three numbers for each market of a run with cells: its index, and the first and the last row with its cells. */
export function marketRows({ t, cellOffsets, market }: RunColumns): Uint16Array {
  const first = new Map<number, number>();
  const last = new Map<number, number>();
  for (let s = 0; s < t.length; s++) {
    for (let c = cellOffsets[s]; c < cellOffsets[s + 1]; c++) {
      // Cells are sorted by market.
      if (c > cellOffsets[s] && market[c] === market[c - 1]) continue;
      if (!first.has(market[c])) first.set(market[c], s);
      last.set(market[c], s);
    }
  }
  return Uint16Array.from(
    [...first].flatMap(([index, row]) => [index, row, last.get(index) ?? row]),
  );
}
