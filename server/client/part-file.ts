/**
 * A file that is written in steps and can be resumed after an interruption at any moment: `OUT.part`
 * holds the data, `OUT.part.state` says how much of it counts and what comes next. A lock file keeps
 * two processes from writing it.
 */
import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { ReplayError } from './request.js';

/** Texts are gathered up to about this length before they are written. */
const WRITE_CHARS = 1024 * 1024;

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

  /** Appends; nothing of it counts before commit(). */
  async append(texts: Iterable<string>): Promise<void> {
    let gathered = '';
    for (const text of texts) {
      gathered += text;
      if (gathered.length < WRITE_CHARS) continue;
      await this.write(Buffer.from(gathered));
      gathered = '';
    }
    await this.write(Buffer.from(gathered));
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

/**
 * Takes the lock, also from a process that is no more.
 * @returns gives it back
 * @throws ReplayError while another process holds it
 */
export async function takeLock(lock: string): Promise<() => Promise<void>> {
  for (;;) {
    try {
      await writeFile(lock, String(process.pid), { flag: 'wx' });
      return () => rm(lock, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = Number(await readFile(lock, 'utf8').catch(absent));
    if (holder !== process.pid && isAlive(holder)) {
      throw new ReplayError(
        `process ${holder} is writing this file; if that is no fathom replay, delete ${lock}`,
      );
    }
    await rm(lock, { force: true });
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Not ours to signal, yet there.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
