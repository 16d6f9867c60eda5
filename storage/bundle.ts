/** Bundles: files that hand one validated and binned file of a dataset from a command to the store. */
import { randomUUID } from 'node:crypto';
import { type FileHandle, lstat, open, rm } from 'node:fs/promises';
import path from 'node:path';
import type { OwnerNames } from '../compute/holders/owners.js';
import type { MarketOrigin } from '../compute/ingest/binned-chunk.js';
import type { Market, Tier } from '../compute/market.js';
import type { JoinMode } from '../compute/segment/merge.js';
import type { EncodedSegment } from '../compute/segment/segment.js';
import { DAY_MS } from '../compute/time.js';
import { pack, unpack, unpackOrNull } from '../compute/messagepack.js';
import { holdsStore, makeDirectory, removeMadeDirectories } from './data-directory.js';
import type { FlatDataset, TierKey, TokenName, TokenRow } from './contract.js';
import { namesInFolder, readFully, writeFully } from './disk.js';
import type { SqlValue } from './duckdb/statements.js';
import { BundleVersionError, MalformedError } from './errors.js';

/** Changes with the layout of the frames. */
export const BUNDLE_VERSION = 6;
/** The oldest version that can be read: during an upgrade, a log has bundles of the version before too. */
const OLDEST_BUNDLE_VERSION = 6;

/** First frame of a bundle. */
export interface HeaderFrame {
  kind: 'header';
  version: number;
  /** The file's name as it appears in faults. */
  file: string;
  mode: JoinMode;
  /** The commit must not leave a market's snapshots with less than half of their cells. */
  refusesLoss?: boolean;
}

/** Markets of a token, in order of first arrival; its next segments of any tier refer to them. */
export interface MarketsFrame extends TokenName {
  kind: 'markets';
  markets: Market[];
  /** Where the file first names each market, for faults. */
  origins?: MarketOrigin[];
}

/** One segment of one token and tier. */
export interface SegmentFrame extends TierKey {
  kind: 'segment';
  /** The markets that the segment's market column indexes. */
  markets: readonly Market[];
  segment: EncodedSegment;
}

/** Rows of dataset `tokens`, with the line of each. */
interface TokensFrame {
  kind: 'tokens';
  rows: { line: number; row: TokenRow }[];
}

/**
 * A row of a flat dataset: its table's columns in order, then whether to keep it. A row that is not kept
 * only deletes the stored row with its key.
 */
export type FlatRowValues = readonly SqlValue[];

/** Rows of a flat dataset in the file's order. */
interface RowsFrame {
  kind: 'rows';
  dataset: FlatDataset;
  rows: FlatRowValues[];
}

/** Holder snapshots of one token; a later frame's snapshot replaces an earlier one's of the same `t`. */
export interface HoldersFrame {
  kind: 'holders';
  tokenAddress: string;
  /** The block's owners by their number. */
  names: OwnerNames;
  /** Epoch seconds of the block's snapshots, ascending. */
  times: Uint32Array;
  /** A holder block, as compute encodes it. */
  block: Uint8Array;
}

/** Deletes a token's snapshots of `fromS <= t < toS`. */
export interface DeleteFrame extends TokenName {
  kind: 'delete';
  fromS: number;
  toS: number;
  /** null: all tiers. */
  tier: Tier | null;
  /** Deletes only the cells of these markets, named as for marketsNamed(); null deletes everything. */
  markets: string[] | null;
  /** Whether it is a fault if there is nothing to delete. */
  needsAny: boolean;
}

/** Brings archived segments of a token and tier back into the store. */
export interface RestoredFrame extends TierKey {
  kind: 'restored';
  /** Time of each segment's first snapshot, and its block. One that is archived no longer, or differs, is passed over. */
  segments: readonly { firstS: number; block: Uint8Array }[];
}

/** Deletes a token's holder snapshots of `fromS <= t < toS`. */
export interface DeleteHoldersFrame extends TokenName {
  kind: 'delete-holders';
  fromS: number;
  toS: number;
}

/** Last frame; a file without it is truncated. */
interface EndFrame {
  kind: 'end';
  frames: number;
}

export type Frame =
  | HeaderFrame
  | MarketsFrame
  | SegmentFrame
  | TokensFrame
  | RowsFrame
  | HoldersFrame
  | DeleteFrame
  | DeleteHoldersFrame
  | RestoredFrame
  | EndFrame;

const FRAME_KINDS: Readonly<Record<Frame['kind'], true>> = {
  header: true,
  markets: true,
  segment: true,
  tokens: true,
  rows: true,
  holders: true,
  delete: true,
  'delete-holders': true,
  restored: true,
  end: true,
};

export const STAGING = 'staging';
const SUFFIX = '.bundle';
const NAME = /^[0-9a-f-]{36}\.bundle$/;
/** What commands write into the staging folder. */
const STAGED = /^[0-9a-f-]{36}\.(bundle|input|levels)$/;
/** A staged file, or a bundle beside a log, that was not touched for this long was left by a killed process. */
export const ABANDONED_AFTER_MS = DAY_MS;

/** The data directory's staging folder, made if needed. */
export async function stagingFolder(directory: string): Promise<string> {
  const staging = path.join(directory, STAGING);
  await makeDirectory(staging);
  return staging;
}

/** Removes a directory in which no store was made. Call it after the staged file is gone. */
export async function leaveStagingFolder(directory: string): Promise<void> {
  if (await holdsStore(directory)) return;
  await removeMadeDirectories(path.join(directory, STAGING));
}

/** The position of a frame in its bundle's file. */
export interface FrameRange {
  offset: number;
  bytes: number;
}

/** Writes a bundle. It can be read only after finish(). */
export class BundleWriter {
  private frames = 0;
  private bytes = 0;

  private constructor(
    readonly name: string,
    private readonly file: string,
    private readonly handle: FileHandle,
    private readonly directory: string,
  ) {}

  static async create(directory: string): Promise<BundleWriter> {
    const staging = await stagingFolder(directory);
    const name = `${randomUUID()}${SUFFIX}`;
    const file = path.join(staging, name);
    return new BundleWriter(name, file, await open(file, 'wx+', 0o600), directory);
  }

  /** Appends a frame. @returns its position; rejects if the disk is full */
  async write(frame: Frame): Promise<FrameRange> {
    const offset = this.bytes;
    await this.writeAll([frame]);
    return { offset, bytes: this.bytes - offset };
  }

  /** Appends frames in one write. @returns when they are written; rejects if the disk is full */
  async writeAll(frames: readonly Frame[]): Promise<void> {
    const packed = frames.map(packFrame);
    const bytes = packed.length === 1 ? packed[0] : Buffer.concat(packed);
    await writeFully(this.handle, bytes, this.bytes);
    this.bytes += bytes.length;
    this.frames += frames.length;
  }

  /** Reads back a frame; only before finish(). */
  async read({ offset, bytes }: FrameRange): Promise<Frame> {
    const frame = await readExactly(this.handle, bytes, offset);
    return unpack(frame.subarray(FRAME_HEAD_BYTES)) as Frame;
  }

  /** Closes the bundle as a complete one. */
  async finish(): Promise<void> {
    await this.write({ kind: 'end', frames: this.frames });
    await this.handle.close();
  }

  /** Closes and deletes it, finished or not. */
  async discard(): Promise<void> {
    await this.handle.close().catch(() => undefined);
    await rm(this.file, { force: true });
    await leaveStagingFolder(this.directory);
  }
}

/**
 * The frames of a finished bundle, without the end frame.
 * @throws BundleVersionError before any frame of a version that this one cannot read
 * @throws MalformedError if the file was cut short, or is not a bundle
 * @throws Error if the name is not that of a bundle
 */
export function readBundle(directory: string, name: string): AsyncGenerator<Frame> {
  return readBundleFile(bundleFile(directory, name));
}

/** The frames of a bundle's file anywhere. @throws like readBundle() */
export async function* readBundleFile(file: string): AsyncGenerator<Frame> {
  const handle = await open(file, 'r');
  try {
    yield* framesFrom(readerOf(handle));
  } finally {
    await handle.close();
  }
}

/** The frames of a finished bundle in memory, without the end frame. @throws like readBundle() */
export function framesOf(bundle: Uint8Array): AsyncGenerator<Frame, void> {
  const all = Buffer.from(bundle.buffer, bundle.byteOffset, bundle.byteLength);
  let at = 0;
  return framesFrom((bytes) => {
    const part = all.subarray(at, (at += bytes));
    return part.length < bytes ? Promise.reject(cutShort()) : Promise.resolve(part);
  });
}

/** @param readNext resolves with the next bytes, exactly as many as requested */
async function* framesFrom(
  readNext: (bytes: number) => Promise<Buffer>,
): AsyncGenerator<Frame, void> {
  for (let frames = 0; ; frames++) {
    const head = await readNext(FRAME_HEAD_BYTES);
    const frame = frameOf(await readNext(frameLength(head)), frames === 0);
    if (frame.kind === 'end') {
      if (frame.frames !== frames) throw new MalformedError('the bundle lost frames');
      return;
    }
    yield frame;
  }
}

const cutShort = (): MalformedError => new MalformedError('the bundle was cut short');

/** @throws MalformedError | BundleVersionError if the frame cannot be read */
function frameOf(body: Uint8Array, isFirst: boolean): Frame {
  const frame = unpackOrNull<Frame | undefined>(body);
  if (typeof frame?.kind !== 'string') {
    throw new MalformedError('the bundle has a frame that cannot be decoded');
  }
  if (isFirst) checkVersion(frame);
  if (Object.hasOwn(FRAME_KINDS, frame.kind)) return frame;
  throw new BundleVersionError(
    `a bundle with a frame ${JSON.stringify(frame.kind)}, which this version does not know`,
  );
}

function checkVersion(first: Frame): void {
  const version = first.kind === 'header' ? first.version : null;
  if (version !== null && version >= OLDEST_BUNDLE_VERSION && version <= BUNDLE_VERSION) return;
  throw new BundleVersionError(
    `a bundle of version ${version ?? 'unknown'}, this version knows ${BUNDLE_VERSION}`,
    version === null || version > BUNDLE_VERSION,
  );
}

export function isBundleName(name: string): boolean {
  return NAME.test(name);
}

/** The path of a bundle. */
export function bundleFile(directory: string, name: string): string {
  if (!isBundleName(name)) throw new Error('not the name of a bundle');
  return path.join(directory, STAGING, name);
}

/** Deletes what killed commands left in the staging folder, and nothing through links. */
export async function sweepStaging(directory: string, nowMs: number): Promise<void> {
  const staging = path.join(directory, STAGING);
  for (const name of await namesInFolder(staging)) {
    if (!STAGED.test(name)) continue;
    const file = path.join(staging, name);
    const found = await lstat(file).catch(() => null);
    if (found?.isFile() !== true) continue;
    if (nowMs - found.mtimeMs > ABANDONED_AFTER_MS) await rm(file, { force: true });
  }
}

async function readExactly(handle: FileHandle, bytes: number, offset: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(bytes);
  if ((await readFully(handle, buffer, offset)) < bytes) throw cutShort();
  return buffer;
}

/** Bytes that are read ahead: frames of single snapshots are much smaller. */
const READ_AHEAD_BYTES = 256 * 1024;

/**
 * Reads a file from its start, ahead of what is taken.
 * @returns resolves with the next bytes, exactly as many as requested, in a separate ArrayBuffer
 */
function readerOf(handle: FileHandle): (bytes: number) => Promise<Buffer> {
  const ahead = Buffer.allocUnsafeSlow(READ_AHEAD_BYTES);
  let unread = ahead.subarray(0, 0);
  return async (bytes) => {
    const taken = Buffer.allocUnsafeSlow(bytes);
    let done = 0;
    while (done < bytes) {
      if (unread.length === 0) {
        unread = ahead.subarray(0, (await handle.read(ahead, 0, ahead.length)).bytesRead);
        if (unread.length === 0) throw cutShort();
      }
      const part = unread.copy(taken, done);
      unread = unread.subarray(part);
      done += part;
    }
    return taken;
  };
}

/** Greatest length of a frame; a longer one is damage or an attack. */
const MAX_FRAME_BYTES = 256 * 1024 * 1024;
/** Bytes of a frame's length, big-endian. */
const FRAME_HEAD_BYTES = 4;

/** A value as one frame: u32 length, then MessagePack. */
export function packFrame(value: unknown): Buffer {
  const body = pack(value);
  if (body.length > MAX_FRAME_BYTES) throw new Error(`a frame of ${body.length} bytes`);
  const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + body.length);
  frame.writeUInt32BE(body.length, 0);
  body.copy(frame, FRAME_HEAD_BYTES);
  return frame;
}

/** Length of the frame with this head. @throws MalformedError if it exceeds MAX_FRAME_BYTES */
function frameLength(head: Buffer): number {
  const length = head.readUInt32BE(0);
  if (length > MAX_FRAME_BYTES) throw new MalformedError(`a frame states ${length} bytes`);
  return length;
}
