/** Messages of the Arrow IPC format as they lie in bytes: to be cut apart, listed and closed off. */
import { open, type FileHandle } from 'node:fs/promises';
import {
  Message,
  MessageHeader,
  MetadataVersion,
  RecordBatchStreamWriter,
  type RecordBatch,
  type Schema,
} from 'apache-arrow';
import { FileBlock, Footer } from 'apache-arrow/ipc/metadata/file';

/** First bytes of an Arrow IPC file, padded so that messages lie at multiples of 8. */
export const FILE_START = Buffer.from('ARROW1\0\0');
const FILE_END = Buffer.from('ARROW1');
/** What a message begins with: the continuation marker and the length of its metadata. */
const PREFIX_BYTES = 8;
/** Metadata of a batch with a dozen columns has some hundred bytes. */
const MAX_METADATA_BYTES = 1024 * 1024;

interface Place {
  kind: MessageHeader;
  offset: number;
  /** Prefix and padding included. */
  metadataBytes: number;
  bodyBytes: number;
}

/** The messages that a record batch makes: schema, dictionaries and the batch itself. */
export function messagesOf(batch: RecordBatch): { kind: MessageHeader; bytes: Uint8Array }[] {
  const writer = new RecordBatchStreamWriter();
  writer.write(batch);
  writer.finish();
  const bytes = writer.toUint8Array(true);
  const messages = [];
  let place = placeAt(bytes, 0, 0);
  while (place !== null) {
    const { kind, offset } = place;
    const end = endOf(place);
    messages.push({ kind, bytes: bytes.subarray(offset, end) });
    place = placeAt(bytes, end, end);
  }
  return messages;
}

/** What closes a file: the end of the stream, and the footer that lists its batches. */
export async function fileEnd(
  part: string,
  schema: Schema,
  dictionaries: readonly Uint8Array[],
): Promise<Uint8Array> {
  const file = await open(part);
  try {
    const { size } = await file.stat();
    const batches = await recordBatchBlocks(file, size);
    const dictionaryBlocks: FileBlock[] = [];
    let offset = size;
    for (const bytes of dictionaries) {
      const place = placeAt(bytes, 0, offset);
      if (place === null) throw new RangeError('not a message');
      dictionaryBlocks.push(blockOf(place));
      offset += bytes.length;
    }
    const footer = Footer.encode(new Footer(schema, MetadataVersion.V5, batches, dictionaryBlocks));
    const tail = Buffer.alloc(PREFIX_BYTES);
    tail.writeInt32LE(-1);
    const footerBytes = Buffer.alloc(4);
    footerBytes.writeInt32LE(footer.length);
    return Buffer.concat([...dictionaries, tail, footer, footerBytes, FILE_END]);
  } finally {
    await file.close();
  }
}

/** Walks over the messages of a file, reading nothing of their bodies. */
async function recordBatchBlocks(file: FileHandle, size: number): Promise<FileBlock[]> {
  const blocks: FileBlock[] = [];
  let at = FILE_START.length;
  while (at < size) {
    const prefix = await readAt(file, at, PREFIX_BYTES);
    const metadata = await readAt(file, at + PREFIX_BYTES, metadataLength(prefix));
    const place = placeAt(Buffer.concat([prefix, metadata]), 0, at);
    if (place === null) throw new RangeError('an end of stream in the midst of a file');
    if (place.kind === MessageHeader.RecordBatch) blocks.push(blockOf(place));
    at = endOf(place);
  }
  return blocks;
}

async function readAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, at);
  if (bytesRead < length) throw new RangeError('a message is cut short');
  return bytes;
}

/**
 * The message that begins at `bytes[at]`; null at the end of a stream.
 * @param offset where that is in the whole
 */
function placeAt(bytes: Uint8Array, at: number, offset: number): Place | null {
  const length = metadataLength(bytes.subarray(at));
  if (length === 0) return null;
  const from = at + PREFIX_BYTES;
  const { headerType, bodyLength } = Message.decode(bytes.subarray(from, from + length));
  return {
    kind: headerType,
    offset,
    metadataBytes: PREFIX_BYTES + length,
    bodyBytes: bodyLength,
  };
}

function metadataLength(message: Uint8Array): number {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const length = view.getInt32(4, true);
  if (view.getInt32(0, true) !== -1 || length < 0 || length > MAX_METADATA_BYTES) {
    throw new RangeError('not the beginning of a message');
  }
  return length;
}

function endOf({ offset, metadataBytes, bodyBytes }: Place): number {
  return offset + metadataBytes + bodyBytes;
}

function blockOf({ offset, metadataBytes, bodyBytes }: Place): FileBlock {
  return new FileBlock(metadataBytes, bodyBytes, offset);
}
