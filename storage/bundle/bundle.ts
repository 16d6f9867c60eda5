/** Bundles: frames in a file of the store's staging folder, written by one process, read by another. */
import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rm, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { FRAME_HEAD_BYTES, frameLength, packFrame, unpackBody } from './codec.js';
import type { Frame } from './frames.js';

const STAGING = 'staging';
const SUFFIX = '.bundle';
const NAME = /^[0-9a-f-]{36}\.bundle$/;
/** A staged file that nobody has touched for this long is what a killed command left behind. */
const ABANDONED_AFTER_MS = 24 * 3600 * 1000;

/** Where a frame lies in its bundle's file. */
export interface FramePlace {
  offset: number;
  bytes: number;
}

/** Writes a bundle; nothing of it stays unless finish() has been reached. */
export class BundleWriter {
  private frames = 0;
  private bytes = 0;

  private constructor(
    readonly name: string,
    private readonly file: string,
    private readonly handle: FileHandle,
  ) {}

  static async create(directory: string): Promise<BundleWriter> {
    const staging = path.join(directory, STAGING);
    await mkdir(staging, { recursive: true, mode: 0o700 });
    const name = `${randomUUID()}${SUFFIX}`;
    const file = path.join(staging, name);
    return new BundleWriter(name, file, await open(file, 'wx+', 0o600));
  }

  /** Appends a frame; a full disk rejects. */
  async write(frame: Frame): Promise<void> {
    await this.append(frame);
  }

  /** write(), for whoever reads the frame again. */
  async append(frame: Frame): Promise<FramePlace> {
    const bytes = packFrame(frame);
    const place = { offset: this.bytes, bytes: bytes.length };
    for (let done = 0; done < bytes.length;) {
      const at = this.bytes + done;
      done += (await this.handle.write(bytes, done, bytes.length - done, at)).bytesWritten;
    }
    this.bytes += bytes.length;
    this.frames++;
    return place;
  }

  /** A frame that was written, before finish() is called. */
  async read({ offset, bytes }: FramePlace): Promise<Frame> {
    const frame = await readExactly(this.handle, bytes, offset);
    return unpackBody(frame.subarray(FRAME_HEAD_BYTES)) as Frame;
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
  }
}

/**
 * The frames of a finished bundle, without its last.
 * @throws Error where the name is not one of ours, or the file was cut short
 */
export async function* readBundle(directory: string, name: string): AsyncGenerator<Frame> {
  if (!NAME.test(name)) throw new Error('not the name of a bundle');
  const handle = await open(path.join(directory, STAGING, name), 'r');
  try {
    let frames = 0;
    for (;;) {
      const head = await readExactly(handle, FRAME_HEAD_BYTES);
      const frame = unpackBody(await readExactly(handle, frameLength(head))) as Frame;
      if (frame.kind === 'end') {
        if (frame.frames !== frames) throw new Error('the bundle lost frames');
        return;
      }
      frames++;
      yield frame;
    }
  } finally {
    await handle.close();
  }
}

/** Deletes what killed commands left in the staging folder. */
export async function sweepStaging(directory: string, nowMs: number): Promise<void> {
  const staging = path.join(directory, STAGING);
  const names = await readdir(staging).catch(() => []);
  for (const name of names) {
    const file = path.join(staging, name);
    const handle = await open(file, 'r').catch(() => null);
    if (handle === null) continue;
    const { mtimeMs } = await handle.stat();
    await handle.close();
    if (nowMs - mtimeMs > ABANDONED_AFTER_MS) await rm(file, { force: true });
  }
}

/** @param offset where it begins; without it, where the last read of the handle ended */
async function readExactly(handle: FileHandle, bytes: number, offset?: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(bytes);
  for (let done = 0; done < bytes;) {
    const at = offset === undefined ? null : offset + done;
    const { bytesRead } = await handle.read(buffer, done, bytes - done, at);
    if (bytesRead === 0) throw new Error('the bundle was cut short');
    done += bytesRead;
  }
  return buffer;
}
