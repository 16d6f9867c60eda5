/**
 * The file of `fathom follow --cursor-file`: where a subscription stands. It is written after what it covers has been
 * printed, so a run that is killed loses nothing: the next one prints at most one message again. Before a message with
 * new snapshots, it gets their times: if the run is killed then, nobody knows whether the message was printed, and the
 * server would not tell that one of them has been deleted since.
 */
import { fdatasync, fstatSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { FollowParameters, LiveDeleted, LiveMessage } from '../../client/index.js';
import { writeWhole } from '../../storage/disk.js';
import { absent, InputError } from '../../storage/errors.js';
import { takeLock } from '../../storage/file-lock.js';
import { difference, type DownloadRequest } from '../download/request.js';

const VERSION = 1;
const STDOUT = 1;
/** While nothing is printed, the cursor is written at most this often. */
const QUIET_SAVE_MS = 60_000;

type Followed = Omit<DownloadRequest, 'url'>;
/** The id of the only subscription of an event stream, which its messages have. */
const STREAM_ID = 'stream';
/** What everything printed before ends with. */
type Position = Pick<LiveMessage, 'cursor' | 'next_from'>;

interface Kept {
  cursor: string;
  /** The message that was being printed: its new times, ascending, and `next_from` before it. */
  printing?: Pick<LiveDeleted, 't' | 'next_from'>;
}

export class CursorFile {
  private savedMs = -Infinity;
  /** Of what was kept last. */
  private lastCursor: string | null;
  private nextFrom: number | null = null;

  private constructor(
    private readonly file: string,
    private readonly request: Followed,
    /** Where the run before ended; null: there was none. */
    private readonly kept: Kept | null,
    /** Lets other processes use the file. */
    readonly release: () => Promise<void>,
  ) {
    this.lastCursor = kept?.cursor ?? null;
  }

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
      const kept = text === null ? null : keptIn(text, file, request);
      return new CursorFile(file, request, kept, release);
    } catch (error) {
      await release();
      throw error;
    }
  }

  /** Where the run before ended; null: there was none. */
  get cursor(): string | null {
    return this.kept?.cursor ?? null;
  }

  /**
   * What to print first: the run before may have printed these times, which come again as they are now. null: it has
   * not been killed while it printed new snapshots.
   */
  get interrupted(): (LiveDeleted & { id: string }) | null {
    const { cursor = '', printing } = this.kept ?? {};
    if (printing === undefined) return null;
    return { type: 'deleted', id: STREAM_ID, ...printing, cursor };
  }

  /** Call before a message is printed. */
  async begin(message: LiveMessage): Promise<void> {
    const cursor = this.lastCursor;
    if (message.type !== 'snapshots' || cursor === null) return;
    const t = message.snapshots.map((snapshot) => snapshot.t);
    if (t.length === 0) return;
    await this.write({ cursor, printing: { t, next_from: this.nextFrom ?? t[0] } });
  }

  /** Keeps the position of what has been printed, once that is safe. */
  async save({ cursor, next_from: nextFrom }: Position): Promise<void> {
    await syncOutput();
    await this.write({ cursor });
    this.lastCursor = cursor;
    this.nextFrom = nextFrom;
    this.savedMs = performance.now();
  }

  private async write(kept: Kept): Promise<void> {
    const text = JSON.stringify({ version: VERSION, ...this.request, ...kept });
    await writeWhole(this.file, Buffer.from(`${text}\n`));
  }

  /** Keeps a position after which nothing new has been printed, if the last one was kept long ago. */
  async saveQuietly(position: Position): Promise<void> {
    if (performance.now() - this.savedMs >= QUIET_SAVE_MS) await this.save(position);
  }
}

/** What is kept in the text. @throws InputError */
function keptIn(text: string, file: string, request: Followed): Kept {
  const remedy = 'use another file, or delete this one to begin anew';
  const { version, address, parameters, cursor, printing } = parsed(text);
  const isOwn =
    version === VERSION &&
    typeof address === 'string' &&
    typeof parameters === 'object' &&
    parameters !== null &&
    typeof cursor === 'string' &&
    cursor !== '' &&
    (printing === undefined || isPrinting(printing));
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
  if (other === null) return { cursor, printing };
  throw new InputError(`--cursor-file: ${file} is of another request: ${other}; ${remedy}`);
}

function isPrinting(value: unknown): value is Kept['printing'] {
  const { t, next_from: nextFrom } = (value ?? {}) as Record<string, unknown>;
  return Array.isArray(t) && [nextFrom, ...(t as unknown[])].every(Number.isInteger);
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
