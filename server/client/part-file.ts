/**
 * A file that is written in steps and can be gone on with after an interruption at any moment:
 * `OUT.part` holds what is there, `OUT.part.state` says how much of it counts and what comes next.
 */
import { open, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { ReplayError } from './errors.js';
import type { Chunk } from './writer.js';

/** Chunks are gathered up to about this before they are written. */
const WRITE_BYTES = 1024 * 1024;

export interface PartPaths {
  part: string;
  state: string;
  /** A state that is being written. */
  newState: string;
  lock: string;
  /** A file made from the part, before it takes OUT's place. */
  converted: string;
}

export function partPaths(out: string): PartPaths {
  const part = `${out}.part`;
  return {
    part,
    state: `${part}.state`,
    newState: `${part}.state.new`,
    lock: `${part}.lock`,
    converted: `${part}.done`,
  };
}

/** What of a part file counts. */
interface Written<S> {
  bytes: number;
  state: S;
}

export class PartFile<S> {
  private constructor(
    private readonly paths: PartPaths,
    private readonly file: FileHandle,
    private written: Written<S>,
    /** End of what was appended; up to `written.bytes` it counts. */
    private position: number,
  ) {}

  /** The state that an interrupted run left behind; null where there is none. @throws ReplayError */
  static async left<S>(paths: PartPaths): Promise<Written<S> | null> {
    const size = (await stat(paths.part).catch(absent))?.size ?? null;
    // A state alone is what an end at the very first or the very last moment leaves.
    if (size === null) return null;
    const text = await readFile(paths.state, 'utf8').catch(absent);
    if (text === null) {
      throw new ReplayError(`${paths.part} is there without ${paths.state}; use --restart`);
    }
    const written = parseState<S>(text, paths.state);
    if (size >= written.bytes) return written;
    throw new ReplayError(
      `${paths.part} has ${size} bytes where ${paths.state} counts ${written.bytes}; use --restart`,
    );
  }

  /** Begins at the given state; what lies after its bytes is cut off. */
  static async open<S>(paths: PartPaths, written: Written<S>): Promise<PartFile<S>> {
    // The state comes first: a part file without one is not ours.
    await writeState(paths, written);
    const file = await open(paths.part, written.bytes === 0 ? 'w' : 'r+');
    await file.truncate(written.bytes);
    return new PartFile(paths, file, written, written.bytes);
  }

  get state(): S {
    return this.written.state;
  }

  get bytes(): number {
    return this.position;
  }

  /** Appends; nothing of it counts before commit(). */
  async append(chunks: AsyncIterable<Chunk> | Iterable<Chunk>): Promise<void> {
    let gathered: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of chunks) {
      const buffer = typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk);
      gathered.push(buffer);
      bytes += buffer.length;
      if (bytes < WRITE_BYTES) continue;
      await this.write(Buffer.concat(gathered));
      [gathered, bytes] = [[], 0];
    }
    await this.write(Buffer.concat(gathered));
  }

  private async write(bytes: Buffer): Promise<void> {
    let from = 0;
    while (from < bytes.length) {
      const left = bytes.length - from;
      from += (await this.file.write(bytes, from, left, this.position + from)).bytesWritten;
    }
    this.position += bytes.length;
  }

  /** From now on what was appended counts, and `state` says what comes next. */
  async commit(state: S): Promise<void> {
    await this.file.datasync();
    this.written = { bytes: this.position, state };
    await writeState(this.paths, this.written);
  }

  /** Everything is on disk. */
  async sync(): Promise<void> {
    await this.file.sync();
  }

  async close(): Promise<void> {
    await this.file.close();
  }
}

async function writeState<S>({ newState, state }: PartPaths, written: Written<S>): Promise<void> {
  const file = await open(newState, 'w');
  try {
    await file.writeFile(JSON.stringify({ version: STATE_VERSION, ...written }));
    await file.datasync();
  } finally {
    await file.close();
  }
  await rename(newState, state);
}

const STATE_VERSION = 1;

function parseState<S>(text: string, file: string): Written<S> {
  try {
    const { version, bytes, state } = JSON.parse(text) as Written<S> & { version: number };
    if (version === STATE_VERSION && Number.isSafeInteger(bytes)) return { bytes, state };
  } catch {
    // Said below.
  }
  throw new ReplayError(`${file} is no state of this version of fathom replay; use --restart`);
}

/** Takes away everything that a run leaves beside OUT. */
export async function removeParts({ part, state, newState, converted }: PartPaths): Promise<void> {
  for (const file of [part, converted, newState, state]) await rm(file, { force: true });
}

/** What was written to a file is on disk. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** null where there is no such file. */
export function absent(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
}
