/**
 * Reads the Arrow IPC stream of a segment in place. The library's reader takes any stream, but creates so many objects
 * per stream that small pages spent a quarter of a worker's time in it.
 */

const CONTINUATION = 0xffff_ffff;
/** The continuation marker and the length of a message's metadata. */
const PREFIX_BYTES = 8;
/** Arrow's columns begin at multiples of 8 of the stream. */
const ALIGNMENT = 8;
/** Arrow's MessageHeader. */
const SCHEMA = 1;
export const RECORD_BATCH = 3;
const TWO_32 = 4_294_967_296;

/**
 * A table of FlatBuffers, the encoding of Arrow's metadata. Fields are numbered in the order of Arrow's Message.fbs and
 * Schema.fbs; a union takes two numbers.
 */
class FlatTable {
  constructor(
    private readonly view: DataView,
    private readonly at: number,
  ) {}

  /** The table to which the offset at this place points. */
  static at(view: DataView, at: number): FlatTable {
    return new FlatTable(view, at + view.getUint32(at, true));
  }

  byte(field: number): number {
    return this.view.getUint8(this.placeOf(field));
  }

  int32(field: number): number {
    return this.view.getInt32(this.placeOf(field), true);
  }

  /** FlatBuffers omits zeros. */
  int64(field: number): number {
    const offset = this.offsetOf(field);
    return offset === 0 ? 0 : int64At(this.view, this.at + offset);
  }

  table(field: number): FlatTable {
    return FlatTable.at(this.view, this.placeOf(field));
  }

  tables(field: number): FlatTable[] {
    const { start, length } = this.vector(field);
    return Array.from({ length }, (_, i) => FlatTable.at(this.view, start + 4 * i));
  }

  /** Structs of two 64-bit numbers. */
  pairs(field: number): { first: number; second: number }[] {
    const { start, length } = this.vector(field);
    return Array.from({ length }, (_, i) => ({
      first: int64At(this.view, start + 16 * i),
      second: int64At(this.view, start + 16 * i + 8),
    }));
  }

  text(field: number): string {
    const { start, length } = this.vector(field);
    const { buffer, byteOffset } = this.view;
    return Buffer.from(buffer, byteOffset + start, length).toString();
  }

  private vector(field: number): { start: number; length: number } {
    const place = this.placeOf(field);
    const at = place + this.view.getUint32(place, true);
    const length = this.view.getUint32(at, true);
    // Each item takes at least one byte.
    if (length > this.view.byteLength - at) throw damaged();
    return { start: at + 4, length };
  }

  private placeOf(field: number): number {
    const offset = this.offsetOf(field);
    if (offset === 0) throw damaged();
    return this.at + offset;
  }

  /** From the table's place; 0: the field is left out. */
  private offsetOf(field: number): number {
    const offsets = this.at - this.view.getInt32(this.at, true);
    const slot = 4 + 2 * field;
    return slot < this.view.getUint16(offsets, true)
      ? this.view.getUint16(offsets + slot, true)
      : 0;
  }
}

function int64At(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getInt32(at + 4, true) * TWO_32;
}

interface Message {
  /** Arrow's MessageHeader. */
  kind: number;
  header: FlatTable;
  bodyAt: number;
  end: number;
}

/** The message that begins at this place; null at the end of the stream. */
export function messageAt(view: DataView, at: number): Message | null {
  if (at === view.byteLength) return null;
  if (view.getUint32(at, true) !== CONTINUATION) throw damaged();
  const metadataBytes = view.getInt32(at + 4, true);
  if (metadataBytes === 0) return null;
  const message = FlatTable.at(view, at + PREFIX_BYTES);
  const bodyAt = at + PREFIX_BYTES + metadataBytes;
  const kind = message.byte(1);
  const end = bodyAt + (kind === SCHEMA ? 0 : message.int64(3));
  if (metadataBytes < 0 || end < bodyAt || end > view.byteLength) throw damaged();
  return { kind, header: message.table(2), bodyAt, end };
}

type ColumnType<T> = (new (buffer: ArrayBufferLike, at: number, length: number) => T) & {
  BYTES_PER_ELEMENT: number;
};

/** A stream of one record batch. */
interface IpcStream {
  /** Of the schema. */
  metadata: ReadonlyMap<string, string>;
  fields: FlatTable[];
  rows: number;
  bufferCount: number;
  /** The first values of the batch's buffer number `index`, in place. @throws Error if it has fewer */
  column<T>(index: number, type: ColumnType<T>, length: number): T;
}

/**
 * Opens a stream.
 * @throws Error if it is damaged, or does not have exactly one record batch
 */
export function openIpcStream(ipc: Uint8Array): IpcStream {
  const isAligned = ipc.byteOffset % ALIGNMENT === 0;
  const { buffer, byteOffset, byteLength } = isAligned ? ipc : ipc.slice();
  const view = new DataView(buffer, byteOffset, byteLength);
  const schema = messageAt(view, 0);
  const batch = schema && messageAt(view, schema.end);
  if (schema?.kind !== SCHEMA || batch?.kind !== RECORD_BATCH) throw damaged();
  if (messageAt(view, batch.end) !== null) {
    throw new Error('segment does not have exactly one record batch');
  }
  const buffers = batch.header.pairs(2);
  return {
    metadata: new Map(schema.header.tables(2).map((entry) => [entry.text(0), entry.text(1)])),
    fields: schema.header.tables(1),
    rows: batch.header.int64(0),
    bufferCount: buffers.length,
    column(index, type, length) {
      const { first: offset, second: bytes } = buffers[index];
      const start = batch.bodyAt + offset;
      const isWithin = offset >= 0 && start + bytes <= batch.end;
      if (!isWithin || !(length >= 0 && length * type.BYTES_PER_ELEMENT <= bytes)) throw damaged();
      return new type(buffer, byteOffset + start, length);
    },
  };
}

/** The bit width of an integer field, somewhere within a field. @param path indexes of children */
export function bitsOf(field: FlatTable, path: readonly number[]): number {
  const inner = path.reduce((outer, child) => outer.tables(5)[child], field);
  return inner.table(3).int32(0);
}

function damaged(): Error {
  return new Error('segment is not an Arrow stream, or is damaged');
}
