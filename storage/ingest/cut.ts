/** Cuts lines of flat cells into pieces at the border of two snapshots. */
import { countNewlines, type LineChunk } from '../lines.js';
import { refusal } from './refusal.js';
import { snapshotName } from './snapshot-name.js';

/** Lines of one snapshot, which are held together in memory. */
const MAX_SNAPSHOT_BYTES = 256 * 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * Chunks of lines in which the last snapshot's lines are held back until the next one begins.
 * @throws InputError where one snapshot has more lines than may be held
 */
export async function* cutLines(
  file: string,
  chunks: AsyncIterable<LineChunk>,
): AsyncGenerator<LineChunk> {
  let held = new HeldLines(1, []);
  for await (const { bytes, firstLine } of chunks) {
    const last = lastSnapshot(bytes);
    // Where it begins before this chunk, all of the chunk may belong to what is held.
    if (last.start === 0 && held.continuedBy(last.name)) {
      held.add(bytes);
      if (held.bytes > MAX_SNAPSHOT_BYTES) {
        const message = `the lines of one snapshot are longer than ${MAX_SNAPSHOT_BYTES / 1024 / 1024} MiB together`;
        throw refusal(file, [{ line: held.firstLine, field: 'bin', message }]);
      }
      continue;
    }
    held.add(bytes.subarray(0, last.start));
    if (held.bytes > 0) yield held.chunk();
    held = new HeldLines(firstLine + countNewlines(bytes.subarray(0, last.start)), [
      bytes.subarray(last.start),
    ]);
    held.name = last.name;
  }
  if (held.bytes > 0) yield held.chunk();
}

/** Whole lines that wait for the snapshot's next ones. */
class HeldLines {
  bytes = 0;
  /** The snapshot of the last line; null where no line names one. */
  name: string | null = null;

  constructor(
    readonly firstLine: number,
    private readonly parts: Uint8Array[],
  ) {
    for (const part of parts) this.bytes += part.length;
  }

  add(part: Uint8Array): void {
    if (part.length === 0) return;
    this.parts.push(part);
    this.bytes += part.length;
  }

  /** Whether lines of the snapshot `name` may go on with what is held. */
  continuedBy(name: string | null): boolean {
    return this.name === null || name === null || this.name === name;
  }

  chunk(): LineChunk {
    const bytes = this.parts.length === 1 ? this.parts[0] : Buffer.concat(this.parts);
    return { bytes, firstLine: this.firstLine };
  }
}

/**
 * Offset of the first line of the last snapshot in whole lines, and its name. Lines that name no
 * snapshot (blank ones, faulty ones) never begin another.
 */
function lastSnapshot(bytes: Uint8Array): { start: number; name: string | null } {
  let name: string | null = null;
  let start = bytes.length;
  for (let end = bytes.length; end > 0;) {
    const from = lineStart(bytes, end);
    const own = snapshotOfLine(bytes.subarray(from, end));
    if (own !== null && name !== null && own !== name) return { start, name };
    if (own !== null) {
      name = own;
      start = from;
    }
    end = from;
  }
  return { start: 0, name };
}

/** Start of the line that ends at `end` (its newline included). */
function lineStart(bytes: Uint8Array, end: number): number {
  return end <= 1 ? 0 : bytes.lastIndexOf(NEWLINE, end - 2) + 1;
}

function snapshotOfLine(line: Uint8Array): string | null {
  try {
    const text = Buffer.from(line.buffer, line.byteOffset, line.length).toString();
    return snapshotName(JSON.parse(text));
  } catch {
    return null;
  }
}
