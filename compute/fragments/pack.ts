/**
 * A fragment pack: every snapshot of one segment as a page of one grouping in the default band has
 * it, already compressed, in one buffer. The buffer is what crosses threads and lies on disk.
 */
import zlib from 'node:zlib';

/** The groupings that packs are made for. */
export const PACK_GROUPS = ['market', 'all'] as const;
export type PackGroup = (typeof PACK_GROUPS)[number];
/** The content codings that packs are made for. */
export const PACK_CODINGS = ['gzip', 'br'] as const;
export type PackCoding = (typeof PACK_CODINGS)[number];

/** Which of a segment's packs. */
export interface PackForm {
  group: PackGroup;
  coding: PackCoding;
}

/** Pieces behind one another: number `i` is `offsets[i] <= at < offsets[i + 1]` of the bytes. */
export interface Pieces {
  offsets: Uint32Array;
  bytes: Uint8Array;
}

/**
 * What a pack holds. Every piece stands for its text with a comma before it; of those that stand
 * alone the comma is a block of its own, so that a page can leave out its first one.
 */
export interface PackContent extends PackForm {
  /** CRC-32 of the segment's stored block. */
  sourceCrc: number;
  /** Epoch seconds, one a snapshot. */
  t: Uint32Array;
  /** Cells of the snapshots before each, as served; one entry more than snapshots. */
  cellEnds: Uint32Array;
  /** Bytes of the texts before each snapshot, commas included, and their CRC-32; likewise. */
  textEnds: Uint32Array;
  crcs: Uint32Array;
  /** Each snapshot for itself: to be put after anything. */
  alone: Pieces;
  /**
   * Each snapshot as it can follow the one before it in the segment, in either form of that one;
   * empty where it has no such form.
   */
  linked: Pieces;
  /** Markets of each snapshot within the band, one entry more than snapshots; empty with all. */
  sumOffsets: Uint32Array;
  sumMarket: Uint16Array;
  /** Support + resistance of the market in the snapshot. */
  sumCents: Float64Array;
}

/** A pack and the buffer that it lies in. */
export interface Pack extends PackContent {
  buffer: Uint8Array<ArrayBuffer>;
}

/** Names how a pack is laid out and how its pieces are made: one page has one sequence of bytes. */
const LAYOUT = 'fathom.fragments.2';
const LAYOUT_CRC = zlib.crc32(LAYOUT);

/** Numbers in a pack's head, 32 bits each. */
const HEAD = {
  layout: 0,
  /** CRC-32 of all that follows it. */
  checksum: 1,
  sourceCrc: 2,
  group: 3,
  coding: 4,
  snapshots: 5,
  sums: 6,
  aloneBytes: 7,
  linkedBytes: 8,
} as const;
const HEAD_BYTES = 64;
const CHECKED_FROM = 8;

/** Damaged bytes, or bytes of another layout. */
export class BadPackError extends Error {
  override readonly name = 'BadPackError';
}

type Counts = Record<'snapshots' | 'sums' | 'aloneBytes' | 'linkedBytes', number>;

/** Lays a pack's content out in one buffer. */
export function writePack(content: PackContent): Pack {
  const counts: Counts = {
    snapshots: content.t.length,
    sums: content.sumMarket.length,
    aloneBytes: content.alone.bytes.length,
    linkedBytes: content.linked.bytes.length,
  };
  const buffer = new Uint8Array(bytesOf(counts));
  const head = new Uint32Array(buffer.buffer, 0, HEAD_BYTES / 4);
  head[HEAD.layout] = LAYOUT_CRC;
  head[HEAD.sourceCrc] = content.sourceCrc;
  head[HEAD.group] = PACK_GROUPS.indexOf(content.group);
  head[HEAD.coding] = PACK_CODINGS.indexOf(content.coding);
  for (const [name, value] of Object.entries(counts)) head[HEAD[name as keyof Counts]] = value;
  const pack = viewsOf(buffer, counts);
  pack.t.set(content.t);
  pack.cellEnds.set(content.cellEnds);
  pack.textEnds.set(content.textEnds);
  pack.crcs.set(content.crcs);
  for (const pieces of ['alone', 'linked'] as const) {
    pack[pieces].offsets.set(content[pieces].offsets);
    pack[pieces].bytes.set(content[pieces].bytes);
  }
  pack.sumOffsets.set(content.sumOffsets);
  pack.sumMarket.set(content.sumMarket);
  pack.sumCents.set(content.sumCents);
  head[HEAD.checksum] = zlib.crc32(buffer.subarray(CHECKED_FROM));
  return openPack(buffer);
}

/** A pack in a buffer that writePack made in this process, or that readPack has checked. */
export function openPack(buffer: Uint8Array<ArrayBuffer>): Pack {
  const head = new Uint32Array(buffer.buffer, buffer.byteOffset, HEAD_BYTES / 4);
  return viewsOf(buffer, {
    snapshots: head[HEAD.snapshots],
    sums: head[HEAD.sums],
    aloneBytes: head[HEAD.aloneBytes],
    linkedBytes: head[HEAD.linkedBytes],
  });
}

/**
 * Opens a pack that comes from outside the process.
 *
 * @param buffer begins at a multiple of 8 of its ArrayBuffer
 * @throws BadPackError
 */
export function readPack(buffer: Uint8Array<ArrayBuffer>): Pack {
  if (buffer.length < HEAD_BYTES) throw new BadPackError('fragment pack: cut short');
  const head = new Uint32Array(buffer.buffer, buffer.byteOffset, HEAD_BYTES / 4);
  if (head[HEAD.layout] !== LAYOUT_CRC) throw new BadPackError('fragment pack: another layout');
  if (head[HEAD.checksum] !== zlib.crc32(buffer.subarray(CHECKED_FROM))) {
    throw new BadPackError('fragment pack: its checksum does not fit');
  }
  return openPack(buffer);
}

/** Views of the parts: those of wide numbers first, so that each begins where its width demands. */
function viewsOf(buffer: Uint8Array<ArrayBuffer>, counts: Counts): Pack {
  const head = new Uint32Array(buffer.buffer, buffer.byteOffset, HEAD_BYTES / 4);
  const { snapshots, sums, aloneBytes, linkedBytes } = counts;
  let at = buffer.byteOffset + HEAD_BYTES;
  const take = (bytes: number): number => (at += bytes) - bytes;
  const uint32s = (length: number) => new Uint32Array(buffer.buffer, take(4 * length), length);
  const uint8s = (length: number) => new Uint8Array(buffer.buffer, take(length), length);
  const sumCents = new Float64Array(buffer.buffer, take(8 * sums), sums);
  const t = uint32s(snapshots);
  const [cellEnds, textEnds, crcs, sumOffsets, aloneOffsets, linkedOffsets] = Array.from(
    { length: 6 },
    () => uint32s(snapshots + 1),
  );
  const sumMarket = new Uint16Array(buffer.buffer, take(2 * sums), sums);
  return {
    buffer,
    group: PACK_GROUPS[head[HEAD.group]],
    coding: PACK_CODINGS[head[HEAD.coding]],
    sourceCrc: head[HEAD.sourceCrc],
    t,
    cellEnds,
    textEnds,
    crcs,
    alone: { offsets: aloneOffsets, bytes: uint8s(aloneBytes) },
    linked: { offsets: linkedOffsets, bytes: uint8s(linkedBytes) },
    sumOffsets,
    sumMarket,
    sumCents,
  };
}

function bytesOf({ snapshots, sums, aloneBytes, linkedBytes }: Counts): number {
  const uint32s = snapshots + 6 * (snapshots + 1);
  return HEAD_BYTES + 10 * sums + 4 * uint32s + aloneBytes + linkedBytes;
}
