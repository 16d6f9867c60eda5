/**
 * A file that is written in steps and can be resumed after an interruption at any time: `OUT.part` has
 * the data, `OUT.part.state` says how much of it is valid and what comes next. A lock (storage/file-lock.ts) prevents two
 * processes from writing it.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open, readFile, rm, stat } from 'node:fs/promises';
import { writeFully, writeWhole } from '../../storage/disk.js';
import { absent } from '../../storage/errors.js';
import { ReplayError } from './request.js';

/** Texts are buffered up to about this length. */
const WRITE_CHARS = 1024 * 1024;

export interface PartPaths {
  part: string;
  state: string;
  /** The next state, while it is written. */
  newState: string;
  lock: string;
  /** The converted file, before it is renamed to OUT. */
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

/** The valid bytes of a part file, and the state after them. */
interface Written<S> {
  bytes: number;
  state: S;
}

export class PartFile<S> {
  private constructor(
    private readonly paths: PartPaths,
    private readonly file: FileHandle,
    private written: Written<S>,
    /** End of the appended data, of which `written.bytes` are valid. */
    private position: number,
  ) {}

  /** The state of an interrupted download; null if there is none. @throws ReplayError */
  static async left<S>(paths: PartPaths): Promise<Written<S> | null> {
    const size = (await stat(paths.part).catch(absent))?.size ?? null;
    // An interruption at the very start or end leaves a state without a part.
    if (size === null) return null;
    const text = await readFile(paths.state, 'utf8').catch(absent);
    if (text === null) {
      throw new ReplayError(`${paths.part} exists without ${paths.state}; use --restart`);
    }
    const written = parseState<S>(text, paths.state);
    if (size >= written.bytes) return written;
    throw new ReplayError(
      `${paths.part} has ${size} bytes, but ${paths.state} counts ${written.bytes}; use --restart`,
    );
  }

  /** Opens the part file at the given state and truncates it to its bytes. */
  static async open<S>(paths: PartPaths, written: Written<S>): Promise<PartFile<S>> {
    // The state comes first, since a part file without one counts as foreign.
    await writeState(paths, written);
    const file = await open(paths.part, written.bytes === 0 ? 'w' : 'r+');
    try {
      await file.truncate(written.bytes);
    } catch (error) {
      await file.close();
      throw error;
    }
    return new PartFile(paths, file, written, written.bytes);
  }

  get state(): S {
    return this.written.state;
  }

  /** Appends texts, which become valid with commit(). */
  async append(texts: Iterable<string>): Promise<void> {
    let buffered = '';
    for (const text of texts) {
      buffered += text;
      if (buffered.length < WRITE_CHARS) continue;
      await this.write(Buffer.from(buffered));
      buffered = '';
    }
    await this.write(Buffer.from(buffered));
  }

  private async write(bytes: Buffer): Promise<void> {
    await writeFully(this.file, bytes, this.position);
    this.position += bytes.length;
  }

  /** Makes the appended data valid. @param state from which a download resumes after them */
  async commit(state: S): Promise<void> {
    await this.file.datasync();
    this.written = { bytes: this.position, state };
    await writeState(this.paths, this.written);
  }

  async sync(): Promise<void> {
    await this.file.sync();
  }

  async close(): Promise<void> {
    await this.file.close();
  }
}

function writeState<S>({ state: file }: PartPaths, written: Written<S>): Promise<void> {
  const text = JSON.stringify({ version: STATE_VERSION, digest: digestOf(written), ...written });
  return writeWhole(file, Buffer.from(text));
}

const STATE_VERSION = 2;

/** Detects a damaged state file. */
function digestOf(written: Written<unknown>): string {
  return createHash('sha256').update(JSON.stringify(written)).digest('hex');
}

function parseState<S>(text: string, file: string): Written<S> {
  try {
    const { version, digest, ...written } = JSON.parse(text) as Written<S> & {
      version: number;
      digest: string;
    };
    if (version === STATE_VERSION && digest === digestOf(written)) return written;
  } catch {
    // Reported below.
  }
  throw new ReplayError(
    `${file} is not a state file of this version of fathom replay; use --restart`,
  );
}

/** Removes every file beside OUT except the lock. */
export async function removeParts({ part, state, newState, converted }: PartPaths): Promise<void> {
  for (const file of [part, converted, newState, state]) await rm(file, { force: true });
}
