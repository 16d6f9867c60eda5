/**
 * Arrow files with list views or run ends, which the library does not know. Its reader gets a stream in which they are
 * structs: the offsets and sizes of a view as one binary column, and the values. A struct has a buffer more than run
 * ends have, and a level more than views: both are added to what each batch says of itself. Of the loaded structs,
 * lists and dictionaries are made.
 */
import type { FileHandle } from 'node:fs/promises';
import type {
  Data,
  DataType,
  Dictionary,
  Field,
  Int32 as Int,
  List,
  RecordBatch,
  Schema,
  Union,
} from 'apache-arrow';
import { arrow } from '../../compute/segment/arrow.js';
import { InputError } from '../errors.js';
import {
  type ArrowLayout,
  type BatchLayout,
  LARGE_LIST_VIEW,
  layoutOf,
  LIST_VIEW,
  relaid,
  RUN_ENDS,
  type TypeTree,
  unknownType,
} from './arrow-messages.js';

const { DataType: Types, Int32, makeData, Type, Vector } = arrow;

/** Bytes of a batch read at once. */
const PIECE_BYTES = 1_048_576;
/** Validity, offsets and bytes; as many as list views have. */
const BINARY_BUFFERS = 3;
/** Entries that the lists of a batch may have if several of them have the same ones: 256 MiB of codes. */
const MAX_SHARED_ENTRIES = 67_108_864;

/** Lists whose entries may be anywhere among the values. */
class ViewedList extends arrow.List<Dictionary> {
  override toString(): string {
    return `ListView<${String(this.valueType.dictionary)}>`;
  }
}

/** Values of several rows each. */
class Runs extends arrow.Dictionary {
  override toString(): string {
    return `RunEndEncoded<${String(this.dictionary)}>`;
  }
}

/** A column, or a level of one. */
interface Level {
  /** As the library loads it. */
  loaded: Field;
  /** As rows have it. */
  field: Field;
  /** The type's number in the file. */
  typeId: number;
  /** Whether it is loaded as rows have it. */
  isPlain: boolean;
  children: Level[];
}

/** An opened file. */
export interface ArrowFile {
  schema: Schema;
  batches: AsyncGenerator<RecordBatch>;
}

/**
 * Opens a file that has list views or run ends; returns null for any other.
 * @throws InputError if they are in a dictionary
 */
export async function openViewed(file: string, handle: FileHandle): Promise<ArrowFile | null> {
  const layout = await layoutOf(handle);
  if (layout === null || layout.fields.every((tree) => unknownType(tree) === null)) return null;
  const declared = arrow.Message.decode(layout.schema).header() as unknown as Schema;
  const levels = declared.fields.map((field, i) => {
    const level = levelOf(field, layout.fields[i]);
    if (level !== null) return level;
    const type = unknownType(layout.fields[i]);
    const remedy = 'write it without the dictionary';
    throw new InputError(
      `${file}: the column ${field.name} has a dictionary of ${type}: ${remedy}`,
    );
  });
  const schema = schemaOf(
    declared,
    levels.map(({ field }) => field),
  );
  return { schema, batches: batchesOf(handle, layout, declared, schema, levels) };
}

const schemaOf = ({ metadata, metadataVersion }: Schema, fields: Field[]): Schema =>
  new arrow.Schema(fields, metadata, null, metadataVersion);

/** Plans how a field is loaded; returns null if it cannot be. */
function levelOf(field: Field, tree: TypeTree): Level | null {
  const { typeId } = tree;
  const isPlain = unknownType(tree) === null;
  if (Types.isDictionary(field.type)) {
    return isPlain ? { loaded: field, field, typeId, isPlain, children: [] } : null;
  }
  const children: Level[] = [];
  const fields = (field.type as DataType).children as Field[] | null;
  for (const [i, child] of (fields ?? []).entries()) {
    const level = levelOf(child, tree.children[i]);
    if (level === null) return null;
    children.push(level);
  }
  if (isPlain) return { loaded: field, field, typeId, isPlain, children };
  const loaded = children.map((child) => child.loaded);
  if (isViews(typeId)) {
    const views = typeId === LIST_VIEW ? new arrow.Binary() : new arrow.LargeBinary();
    loaded.unshift(new arrow.Field('views', views, true));
  }
  return {
    loaded: field.clone({
      type: isViews(typeId)
        ? new arrow.Struct(loaded)
        : withChildren(field.type as DataType, loaded),
    }),
    field: field.clone({ type: typeOf(field.type as DataType, typeId, children) }),
    typeId,
    isPlain,
    children,
  };
}

const isViews = (typeId: number): boolean => typeId === LIST_VIEW || typeId === LARGE_LIST_VIEW;

/** The type of a level as rows have it. */
function typeOf(declared: DataType, typeId: number, children: readonly Level[]): DataType {
  const fields = children.map(({ field }) => field);
  if (typeId === RUN_ENDS) return new Runs(...codedType(fields[1]));
  if (!isViews(typeId)) return withChildren(declared, fields);
  const type = new arrow.Dictionary(...codedType(fields[0]));
  return new ViewedList(fields[0].clone({ type }));
}

/** A type like another, of other children. */
function withChildren<T extends DataType>(type: T, children: Field[]): T {
  return Object.assign(Object.create(Object.getPrototypeOf(type) as object) as T, type, {
    children,
  });
}

/** The types of a dictionary of values, which may be in one already. */
function codedType(field: Field): [DataType, Int] {
  const type = field.type as DataType;
  return [Types.isDictionary(type) ? (type.dictionary as DataType) : type, new Int32()];
}

async function* batchesOf(
  handle: FileHandle,
  layout: ArrowLayout,
  declared: Schema,
  schema: Schema,
  levels: readonly Level[],
): AsyncGenerator<RecordBatch> {
  const reader = await arrow.RecordBatchReader.from(streamOf(handle, layout, levels));
  await reader.open();
  const loaded = levels.map((level) => level.loaded);
  reader.reset(schemaOf(declared, loaded));
  for await (const { data } of reader) {
    const children = levels.map((level, i) => valuesOf(level, data.children[i]));
    const type = new arrow.Struct(schema.fields);
    yield new arrow.RecordBatch(schema, makeData({ type, length: data.length, children }));
  }
}

/** The file's messages as a stream that the library can read. */
async function* streamOf(
  handle: FileHandle,
  { schema, messages }: ArrowLayout,
  levels: readonly Level[],
): AsyncGenerator<Uint8Array> {
  yield framed(schema);
  for await (const message of messages()) {
    yield framed(relaid(message, (layout) => withStructs(layout, levels)));
    const end = message.end + message.bodyLength;
    for (let at = message.end; at < end; at += PIECE_BYTES) {
      const piece = Buffer.alloc(Math.min(PIECE_BYTES, end - at));
      const { bytesRead } = await handle.read(piece, 0, piece.length, at);
      if (bytesRead < piece.length) throw new Error('it is cut short');
      yield piece;
    }
  }
}

/** A message with its length, filled up to a multiple of 8 bytes. */
function framed(message: Uint8Array): Uint8Array {
  const padding = -message.length & 7;
  const lengths = Buffer.alloc(8, 0xff);
  lengths.writeInt32LE(message.length + padding, 4);
  return Buffer.concat([lengths, message, Buffer.alloc(padding)]);
}

/** Adds the levels and buffers to a batch that its structs have. */
function withStructs({ nodes, buffers, variadicCounts }: BatchLayout, levels: readonly Level[]) {
  let node = 0;
  let buffer = 0;
  let variadic = 0;
  const addBuffer = () => buffers.splice(buffer++, 0, [0, 0]);
  const visit = ({ loaded, typeId, children }: Level): void => {
    if (typeId === RUN_ENDS) addBuffer();
    else if (isViews(typeId)) {
      addBuffer();
      const [rows] = nodes[node];
      nodes.splice(node++, 0, [rows, 0]);
      buffer += BINARY_BUFFERS;
    } else {
      buffer += buffersOf(loaded.type as DataType);
      const isVariadic = Types.isUtf8View(loaded.type) || Types.isBinaryView(loaded.type);
      if (isVariadic) buffer += variadicCounts[variadic++];
    }
    node++;
    children.forEach(visit);
  };
  levels.forEach(visit);
}

/** How many buffers a type has, without those of its children. */
function buffersOf(type: DataType): number {
  switch (type.typeId) {
    case Type.Null:
      return 0;
    case Type.Struct:
    case Type.FixedSizeList:
      return 1;
    case Type.Union:
      return (type as Union).mode === arrow.UnionMode.Dense ? 2 : 1;
    case Type.Utf8:
    case Type.LargeUtf8:
    case Type.Binary:
    case Type.LargeBinary:
      return BINARY_BUFFERS;
    default:
      return 2;
  }
}

/** What rows have of a level that was loaded. */
function valuesOf(level: Level, loaded: Data): Data {
  if (level.isPlain) return loaded;
  const type = level.field.type as DataType;
  if (isViews(level.typeId)) {
    const [views, values] = loaded.children;
    return listsOf(type as List<Dictionary>, views, valuesOf(level.children[0], values));
  }
  const children = level.children.map((child, i) => valuesOf(child, loaded.children[i]));
  if (level.typeId === RUN_ENDS) {
    return coded(type as Dictionary, children[1], codesOfRuns(children[0], loaded.length));
  }
  return loaded.clone(type, undefined, undefined, undefined, undefined, children);
}

/** The run of each row. */
function codesOfRuns({ values, length: runs }: Data, rows: number): Int32Array {
  const codes = new Int32Array(rows);
  let row = 0;
  for (let run = 0; run < runs && row < rows; run++) {
    const end = Number((values as Int32Array | BigInt64Array)[run]);
    if (!(end > row)) throw new Error('it is damaged');
    codes.fill(run, row, end);
    row = end;
  }
  if (row < rows) throw new Error('it is damaged');
  return codes;
}

/** Lists of the entries that their views show. */
function listsOf(type: List<Dictionary>, views: Data, entries: Data): Data {
  const { length, nullBitmap, nullCount } = views;
  const starts = views.valueOffsets as Int32Array | BigInt64Array;
  // Copied, for the library does not align bytes.
  const { buffer } = new Uint8Array(views.values as Uint8Array);
  const Sizes = starts instanceof Int32Array ? Int32Array : BigInt64Array;
  const sizes = new Sizes(buffer, 0, length);
  const valueOffsets = new Int32Array(length + 1);
  let total = 0;
  for (let row = 0; row < length; row++) {
    const size = views.getValid(row) ? Number(sizes[row]) : 0;
    const start = size === 0 ? 0 : Number(starts[row]);
    const isInside = start >= 0 && size >= 0 && start + size <= entries.length;
    if (!isInside) throw new Error('it is damaged');
    total += size;
    if (total > Math.max(entries.length, MAX_SHARED_ENTRIES)) {
      throw new Error('its list views have the same entries too often: write them as List');
    }
    valueOffsets[row + 1] = total;
  }
  const codes = new Int32Array(total);
  for (let row = 0; row < length; row++) {
    const start = Number(starts[row]) - valueOffsets[row];
    for (let i = valueOffsets[row]; i < valueOffsets[row + 1]; i++) codes[i] = start + i;
  }
  const child = coded(type.valueType, entries, codes);
  return makeData({ type: type as List, length, nullCount, nullBitmap, valueOffsets, child });
}

/** Values by their codes, as a dictionary; of values in one already, by the codes that they have there. */
function coded(type: Dictionary, values: Data, codes: Int32Array): Data {
  const { length } = codes;
  if (codes.some((code) => code >= values.length)) throw new Error('it is damaged');
  if (!Types.isDictionary(values.type)) {
    return makeData({ type, length, nullCount: 0, data: codes, dictionary: new Vector([values]) });
  }
  const inner = values.values as Int32Array | BigInt64Array;
  const nullBitmap = new Uint8Array(Math.ceil(length / 8));
  codes.forEach((code, i) => {
    if (values.getValid(code)) nullBitmap[i >> 3] |= 1 << (i & 7);
  });
  const data = codes.map((code) => Number(inner[code]));
  return makeData({
    type,
    length,
    nullCount: -1,
    nullBitmap,
    data,
    dictionary: values.dictionary!,
  });
}
