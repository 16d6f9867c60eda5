/**
 * The file `fathom.revoked`: the latest revocations, as lines of equal length. Its space is allocated in advance, so a
 * revocation survives a crash without the database, even on a full disk. The table `keys` follows; a line may be
 * overwritten once the table has its revocation.
 */
import { open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { REVOKED_FILE } from '../data-directory.js';
import { writeWhole } from '../disk.js';

export interface Revocation {
  id: string;
  revokedAtS: number;
}

/** Bytes of a line, including its end. */
const LINE_BYTES = 64;
/** Revocations that the table may lack: with this many lines the file is one block of a disk. */
const LINES = 64;
const BLANK = `${' '.repeat(LINE_BYTES - 1)}\n`;
const PATTERN = /^((\S+) (\d{1,15})) ([0-9a-f]{8}) *$/;

export class RevocationFile {
  /** The content of each line. */
  private readonly lines: (Revocation | null)[];

  private constructor(
    private readonly file: string,
    text: string,
  ) {
    this.lines = Array.from({ length: LINES }, (_, i) =>
      parsedLine(text.slice(i * LINE_BYTES, (i + 1) * LINE_BYTES - 1)),
    );
  }

  /** Reads a directory's file or creates it; if that fails, each add() tries again. */
  static async open(directory: string): Promise<RevocationFile> {
    const file = path.join(directory, REVOKED_FILE);
    const text = await readFile(file, 'latin1').catch(() => '');
    const opened = new RevocationFile(file, text);
    if (text.length < LINES * LINE_BYTES) await opened.make().catch(() => undefined);
    return opened;
  }

  get all(): Revocation[] {
    return this.lines.filter((line) => line !== null);
  }

  /**
   * Writes a revocation to the disk.
   * @param isNeeded whether the table lacks a revocation, so its line must stay
   * @throws Error if the system cannot write it, or every line is needed
   */
  async add(revocation: Revocation, isNeeded: (id: string) => boolean): Promise<void> {
    const free = this.lines.findIndex((line) => line === null || !isNeeded(line.id));
    if (free === -1) throw new Error(`${this.file} has no line left`);
    // Before anything is awaited, so that no other call takes the line.
    this.lines[free] = revocation;
    try {
      const handle = await open(this.file, 'r+').catch(async () => {
        await this.make();
        return open(this.file, 'r+');
      });
      try {
        await handle.write(lineOf(revocation), free * LINE_BYTES, 'latin1');
        await handle.datasync();
      } finally {
        await handle.close();
      }
    } catch (error) {
      this.lines[free] = null;
      throw error;
    }
  }

  private make(): Promise<void> {
    const text = this.lines.map((line) => (line === null ? BLANK : lineOf(line))).join('');
    return writeWhole(this.file, Buffer.from(text, 'latin1'));
  }
}

function lineOf({ id, revokedAtS }: Revocation): string {
  const text = `${id} ${revokedAtS}`;
  const sum = crc32(text).toString(16).padStart(8, '0');
  return `${`${text} ${sum}`.padEnd(LINE_BYTES - 1)}\n`;
}

/** Null for a blank line, and for a line half written in a crash: no command reported that revocation as done. */
function parsedLine(line: string): Revocation | null {
  const [, text, id, at, sum] = PATTERN.exec(line) ?? [];
  if (text === undefined || crc32(text) !== parseInt(sum, 16)) return null;
  return { id, revokedAtS: Number(at) };
}
