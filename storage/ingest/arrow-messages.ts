/** The messages of an Arrow file as bytes: the library refuses a schema with a type that it lacks. */
import type { FileHandle } from 'node:fs/promises';
import { arrow } from '../../compute/segment/arrow.js';

/** Numbers of types that the library lacks, as the format has them. */
export const RUN_ENDS = 22;
export const LIST_VIEW = 25;
export const LARGE_LIST_VIEW = 26;

/** What the library reads in their place: the declarations of all are empty. */
const READ_AS: ReadonlyMap<number, number> = new Map([
  [RUN_ENDS, arrow.Type.Struct],
  [LIST_VIEW, arrow.Type.List],
  [LARGE_LIST_VIEW, arrow.Type.LargeList],
]);

const FILE_MAGIC = Buffer.from('ARROW1');
/** Bytes of the length and the magic at a file's end. */
const TAIL_BYTES = 10;
/** What stands before the length of a message since version 0.15. */
const CONTINUATION = 0xffff_ffff;
/** Levels of a type. */
const MAX_LEVELS = 64;

/** Positions of values in the format's tables. */
const MESSAGE = { headerType: 1, header: 2, bodyLength: 3 };
const SCHEMA_FIELDS = 1;
const FIELD = { typeId: 2, children: 5 };
const BATCH = { nodes: 1, buffers: 2, variadicCounts: 4 };
const FOOTER = { schema: 1, dictionaries: 2, batches: 3 };

/** Types of messages. */
const SCHEMA = 1;
const DICTIONARY = 2;
const RECORD_BATCH = 3;
/** Bytes of where a footer says that a message is. */
const BLOCK_BYTES = 24;
/** Bytes of a node or of the place of a buffer: two integers. */
const PAIR_BYTES = 16;

/** The numbers of a field's type and of its children's. */
export interface TypeTree {
  typeId: number;
  children: TypeTree[];
}

export interface ArrowLayout {
  /** The message of the schema, with types that the library reads. */
  schema: Uint8Array;
  fields: TypeTree[];
  /** The messages of dictionaries and record batches. */
  messages: () => AsyncGenerator<ArrowMessage>;
}

/** Reads a file's schema, and where its messages are; returns null if it has no schema. */
export async function layoutOf(handle: FileHandle): Promise<ArrowLayout | null> {
  const { size } = await handle.stat();
  const head = await bytesAt(handle, 0, FILE_MAGIC.length);
  if (head.equals(FILE_MAGIC)) return layoutOfFile(handle, size);
  const start = await messageAt(handle, 0, size);
  if (start === null) return null;
  const fields = replacedTypes(new Tables(start.bytes));
  return { schema: start.bytes, fields, messages: () => messagesFrom(handle, start.end, size) };
}

async function* messagesFrom(
  handle: FileHandle,
  start: number,
  size: number,
): AsyncGenerator<ArrowMessage> {
  for (let at = start; ;) {
    const message = await messageAt(handle, at, size);
    if (message === null) return;
    yield message;
    at = message.end + message.bodyLength;
  }
}

/** What a file's footer says: some writers frame only the messages that it names. */
async function layoutOfFile(handle: FileHandle, size: number): Promise<ArrowLayout | null> {
  if (size < FILE_MAGIC.length + TAIL_BYTES) return null;
  const tail = await bytesAt(handle, size - TAIL_BYTES, TAIL_BYTES);
  const length = tail.readInt32LE(0);
  if (!tail.subarray(4).equals(FILE_MAGIC) || length <= 0 || length > size - TAIL_BYTES)
    return null;
  const footer = await bytesAt(handle, size - TAIL_BYTES - length, length);
  const tables = new Tables(footer);
  const schemaAt = tables.slot(tables.root, FOOTER.schema);
  if (schemaAt === null) return null;
  const blocks = [FOOTER.dictionaries, FOOTER.batches].map((index) =>
    tables.entries(tables.slot(tables.root, index), BLOCK_BYTES).map((at) => tables.integer(at)),
  );
  const schema = schemaMessage(footer, tables.follow(schemaAt));
  const messages = () => messagesAt(handle, size, blocks);
  return { schema, fields: replacedTypes(new Tables(schema)), messages };
}

async function* messagesAt(
  handle: FileHandle,
  size: number,
  [dictionaries, batches]: number[][],
): AsyncGenerator<ArrowMessage> {
  for (const [i, at] of [...dictionaries, ...batches].entries()) {
    const message = await messageAt(handle, at, size);
    const isExpected = message?.type === (i < dictionaries.length ? DICTIONARY : RECORD_BATCH);
    if (!isExpected) throw new Error('it is damaged');
    yield message;
  }
}

/** The message of a schema in a footer: its table refers to what follows it. */
function schemaMessage(footer: Uint8Array, schemaAt: number): Uint8Array {
  const start = Buffer.alloc(32);
  // Where the table is; the layout of its 12 bytes, at 4; the table, at 16.
  [16, 0, 0, 0, 10, 0, 12, 0, 8, 0, 10, 0, 4, 0].forEach((byte, at) => start.writeUInt8(byte, at));
  start.writeInt32LE(16 - 4, 16);
  start.writeUInt32LE(start.length + schemaAt - 20, 20);
  start.writeInt16LE(arrow.MetadataVersion.V5, 24);
  start.writeUInt8(SCHEMA, 26);
  return Buffer.concat([start, footer]);
}

/** What a message says of itself. */
export interface ArrowMessage {
  bytes: Uint8Array;
  /** Where its body begins. */
  end: number;
  bodyLength: number;
  type: number;
}

/** Reads the message at a position; returns null after the last. */
async function messageAt(
  handle: FileHandle,
  at: number,
  fileEnd: number,
): Promise<ArrowMessage | null> {
  const lengths = await bytesAt(handle, at, 8);
  if (lengths.length < 8) return null;
  const isLong = lengths.readUInt32LE(0) === CONTINUATION;
  const length = lengths.readInt32LE(isLong ? 4 : 0);
  const from = at + (isLong ? 8 : 4);
  if (length <= 0 || length > fileEnd - from) return null;
  const bytes = await bytesAt(handle, from, length);
  const { view, root, slot, integer } = new Tables(bytes);
  const typeAt = slot(root, MESSAGE.headerType);
  const bodyAt = slot(root, MESSAGE.bodyLength);
  const bodyLength = bodyAt === null ? 0 : integer(bodyAt);
  if (bodyLength < 0) throw new Error('it is damaged');
  return {
    bytes,
    end: from + length,
    bodyLength,
    type: typeAt === null ? 0 : view.getUint8(typeAt),
  };
}

type Pair = [number, number];

/** How the columns of a record batch are stored. */
export interface BatchLayout {
  /** The rows and nulls of each level, depth first. */
  nodes: Pair[];
  /** The place and length of each buffer. */
  buffers: Pair[];
  /** How many buffers of bytes each column of text or binary views has. */
  variadicCounts: number[];
}

/** A message, if it is a record batch's, with another layout, which `change` makes of its own. */
export function relaid(
  { bytes: message, type }: ArrowMessage,
  change: (layout: BatchLayout) => void,
): Uint8Array {
  if (type !== RECORD_BATCH) return message;
  const tables = new Tables(message);
  const batch = tables.follow(tables.slot(tables.root, MESSAGE.header)!);
  const nodesAt = tables.slot(batch, BATCH.nodes);
  const buffersAt = tables.slot(batch, BATCH.buffers);
  if (nodesAt === null || buffersAt === null) return message;
  const layout = {
    nodes: tables.pairs(nodesAt),
    buffers: tables.pairs(buffersAt),
    variadicCounts: tables.entries(tables.slot(batch, BATCH.variadicCounts), 8).map(tables.integer),
  };
  change(layout);
  // The lists are appended, and the table refers to those.
  const lists = [layout.nodes, layout.buffers].map(listOf);
  const start = Math.ceil(message.length / 8) * 8;
  const all = Buffer.concat([message, Buffer.alloc(start - message.length), ...lists]);
  all.writeUInt32LE(start + 4 - nodesAt, nodesAt);
  all.writeUInt32LE(start + lists[0].length + 4 - buffersAt, buffersAt);
  return all;
}

/** A FlatBuffer's list of pairs, after 4 bytes that align them. */
function listOf(pairs: readonly Pair[]): Buffer {
  const list = Buffer.alloc(8 + PAIR_BYTES * pairs.length);
  list.writeUInt32LE(pairs.length, 4);
  pairs.flat().forEach((value, i) => list.writeBigInt64LE(BigInt(value), 8 + 8 * i));
  return list;
}

async function bytesAt(handle: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await handle.read(bytes, 0, length, at);
  return bytes.subarray(0, bytesRead);
}

/** The name of a type that the library lacks, if a field has one at any level. */
export function unknownType({ typeId, children }: TypeTree): string | null {
  if (typeId === RUN_ENDS) return 'RunEndEncoded';
  if (typeId === LIST_VIEW) return 'ListView';
  if (typeId === LARGE_LIST_VIEW) return 'LargeListView';
  for (const child of children) {
    const found = unknownType(child);
    if (found !== null) return found;
  }
  return null;
}

/** The types of a schema's fields; those that the library lacks are replaced in the bytes. */
function replacedTypes(message: Tables): TypeTree[] {
  const header = message.slot(message.root, MESSAGE.header);
  if (header === null) return [];
  const treesOf = (table: number, slot: number, levels: number): TypeTree[] => {
    if (levels > MAX_LEVELS) throw new Error(`its types have over ${MAX_LEVELS} levels`);
    return message.listed(table, slot).map((field) => {
      const at = message.slot(field, FIELD.typeId);
      const typeId = at === null ? 0 : message.view.getUint8(at);
      if (at !== null) message.view.setUint8(at, READ_AS.get(typeId) ?? typeId);
      return { typeId, children: treesOf(field, FIELD.children, levels + 1) };
    });
  };
  return treesOf(message.follow(header), SCHEMA_FIELDS, 1);
}

/** Tables of a FlatBuffer. */
class Tables {
  readonly view: DataView;
  readonly root: number;

  constructor({ buffer, byteOffset, byteLength }: Uint8Array) {
    this.view = new DataView(buffer, byteOffset, byteLength);
    this.root = this.follow(0);
  }

  /** Where the offset at a position leads. */
  follow(at: number): number {
    return at + this.view.getUint32(at, true);
  }

  /** Where a table has a value; null if it lacks it. */
  readonly slot = (table: number, index: number): number | null => {
    const layout = table - this.view.getInt32(table, true);
    const at = 4 + 2 * index;
    if (at >= this.view.getUint16(layout, true)) return null;
    const offset = this.view.getUint16(layout + at, true);
    return offset === 0 ? null : table + offset;
  };

  /** The tables in a table's list. */
  listed(table: number, index: number): number[] {
    return this.entries(this.slot(table, index), 4).map((at) => this.follow(at));
  }

  /** The 64-bit integer at a position. */
  readonly integer = (at: number): number => Number(this.view.getBigInt64(at, true));

  pairs(list: number): Pair[] {
    return this.entries(list, PAIR_BYTES).map((at) => [this.integer(at), this.integer(at + 8)]);
  }

  /** Where the entries of a list are. */
  entries(slot: number | null, bytes: number): number[] {
    if (slot === null) return [];
    const list = this.follow(slot);
    const length = this.view.getUint32(list, true);
    if (length * bytes > this.view.byteLength) throw new Error('it is damaged');
    return Array.from({ length }, (_, i) => list + 4 + bytes * i);
  }
}
