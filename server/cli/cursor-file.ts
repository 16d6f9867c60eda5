/**
 * The file of `fathom follow --cursor-file`: where a subscription stands. It is written after what it covers has been
 * printed, so a run that is killed loses nothing: the next one prints at most one message again.
 */
import { fdatasync, fstatSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { FollowParameters } from '../../client/index.js';
import { writeWhole } from '../../storage/disk.js';
import { absent, InputError } from '../../storage/errors.js';
import { takeLock } from '../../storage/file-lock.js';
import { difference, type DownloadRequest } from '../download/request.js';

const VERSION = 1;
const STDOUT = 1;
/** While nothing is printed, the cursor is written at most this often. */
const QUIET_SAVE_MS = 60_000;

type Followed = Omit<DownloadRequest, 'url'>;

export class CursorFile {
  private savedMs = -Infinity;

  private constructor(
    private readonly file: string,
    private readonly request: Followed,
    /** Where the run before ended; null: there was none. */
    readonly cursor: string | null,
    /** Lets other processes use the file. */
    readonly release: () => Promise<void>,
  ) {}

  /**
   * Opens the file for a request, which need not exist yet.
   * @throws InputError if it is of another request, or no such file, or if another process uses it
   */
  static async open(file: string, request: Followed): Promise<CursorFile> {
    const release = await takeLock(`${file}.lock`, {
      what: `--cursor-file ${file}`,
      command: 'fathom follow',
      Refusal: InputError,
    });
    try {
      const text = await readFile(file, 'utf8').catch(absent);
      const cursor = text === null ? null : cursorOf(text, file, request);
      return new CursorFile(file, request, cursor, release);
    } catch (error) {
      await release();
      throw error;
    }
  }

  /** Keeps the cursor of what has been printed, once that is safe. */
  async save(cursor: string): Promise<void> {
    await syncOutput();
    const text = JSON.stringify({ version: VERSION, ...this.request, cursor });
    await writeWhole(this.file, Buffer.from(`${text}\n`));
    this.savedMs = performance.now();
  }

  /** Keeps a cursor after which nothing new has been printed, if the last one was kept long ago. */
  async saveQuietly(cursor: string): Promise<void> {
    if (performance.now() - this.savedMs >= QUIET_SAVE_MS) await this.save(cursor);
  }
}

/** The cursor in the text. @throws InputError */
function cursorOf(text: string, file: string, request: Followed): string {
  const remedy = 'use another file, or delete this one to begin anew';
  const { version, address, parameters, cursor } = parsed(text);
  const isOwn =
    version === VERSION &&
    typeof address === 'string' &&
    typeof parameters === 'object' &&
    parameters !== null &&
    typeof cursor === 'string' &&
    cursor !== '';
  if (!isOwn) {
    throw new InputError(
      `--cursor-file: ${file} is damaged, or not written by fathom follow; ${remedy}`,
    );
  }
  const was = {
    url: '',
    address,
    parameters: parameters as FollowParameters as Followed['parameters'],
  };
  const other = difference(was, { url: '', ...request });
  if (other === null) return cursor;
  throw new InputError(`--cursor-file: ${file} is of another request: ${other}; ${remedy}`);
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const dataSync = promisify(fdatasync);

/** Flushes what was printed to the disk, if it goes to a file. */
async function syncOutput(): Promise<void> {
  if (fstatSync(STDOUT).isFile()) await dataSync(STDOUT);
}

/** Whether the output is a file that ends within a line, because a run was killed while it printed. */
export async function endsWithinLine(): Promise<boolean> {
  const found = fstatSync(STDOUT);
  if (!found.isFile() || found.size === 0) return false;
  // Opens the same file for reading.
  const handle = await open(`/dev/fd/${STDOUT}`, 'r').catch(() => null);
  if (handle === null) return false;
  try {
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, found.size - 1);
    return buffer.toString() !== '\n';
  } finally {
    await handle.close();
  }
}
