/** Lines of captures: what was received, when, and from where. */
import { type Line, readLineBatches } from '../storage/lines.js';
import { parseJsonObject } from '../storage/import/fields.js';
import type { Fields } from '../compute/ingest/fields.js';
import { InputError } from '../storage/errors.js';
import { excerpt } from '../storage/import/refusals.js';

/** A received message, or a connection that began. */
export interface CaptureLine {
  /** `file:line`. */
  where: string;
  /** The text received; null where a connection began. */
  text: string | null;
  /** The address it came from, where the line has one: of a REST reply, or of the connection. */
  url: string | null;
  /** Local time in epoch microseconds; null if the line has none. */
  us: number | null;
}

/** `<url> <-> <s>`: connected. `<url> <- <s>: JSON`: sent. `<url> -> <s>: JSON`: the reply of REST. */
const WITH_URL = /^(\S+:\/\/\S+) (<->|<-|->) ([0-9.]+)(?:: (.*))?$/s;
/** `<s>: JSON`. */
const RECEIVED = /^([0-9]+(?:\.[0-9]+)?): ([[{].*)$/s;
/** `<local time> JSON`, in any unit. */
const STREAM = /^([0-9]+(?:\.[0-9]+)?) ([[{].*)$/s;
/** Epoch microseconds of a time in s, ms, us or ns, by its size: each unit covers 1973 to 2286. */
const UNITS: readonly (readonly [below: number, factor: number])[] = [
  [1e10, 1e6],
  [1e13, 1e3],
  [1e16, 1],
  [1e19, 1e-3],
];

/** @returns null for what a client sent, and for blank lines. @throws InputError */
function readCaptureLine(where: string, line: string): CaptureLine | null {
  const text = line.trim();
  if (text === '') return null;
  if (text.startsWith('{') || text.startsWith('[')) return { where, text, url: null, us: null };
  const linked = WITH_URL.exec(text);
  if (linked !== null) {
    const [, url, arrow, time, body] = linked;
    if (!URL.canParse(url)) throw new InputError(`${where}: '${excerpt(url)}': expected a URL`);
    if (arrow === '<-') return null;
    return { where, url, us: usOf(time), text: arrow === '<->' ? null : (body ?? '') };
  }
  const received = RECEIVED.exec(text) ?? STREAM.exec(text);
  if (received !== null) return { where, url: null, us: usOf(received[1]), text: received[2] };
  throw new InputError(
    `${where}: the line: expected '<time> JSON', '<time>: JSON', '<url> -> <time>: JSON' or JSON, found '${excerpt(text)}'`,
  );
}

function usOf(text: string): number | null {
  const time = Number(text);
  const unit = UNITS.find(([below]) => time < below);
  return time > 0 && unit !== undefined ? Math.round(time * unit[1]) : null;
}

/** A message as an object: a list, as some exchanges send, becomes the field `list`. @throws InputError */
export const parseMessage = (text: string, where: string): Fields =>
  parseJsonObject(text.trimStart().startsWith('[') ? `{"list":${text}}` : text, where);

/**
 * The lines of the files, those with local times in their order over all files: a capture may have its REST replies in
 * one file and its messages in another.
 */
export async function* readCaptures(
  files: readonly string[],
): AsyncGenerator<readonly CaptureLine[], void, undefined> {
  const open = files.map((path) => new CaptureFile(path));
  for (const file of open) await file.refill();
  for (;;) {
    const left = open.filter((file) => file.next !== null);
    if (left.length === 0) return;
    const batch: CaptureLine[] = [];
    // Until a file's batch is used up, no other one can have an earlier line.
    for (let file: CaptureFile | null = earliest(left); file !== null;) {
      batch.push(file.take());
      file = file.isEmpty ? null : earliest(left);
    }
    yield batch;
    for (const file of left) if (file.isEmpty) await file.refill();
  }
}

/** The file whose next line is the earliest; of equals, and of lines without a time, the first file. */
function earliest(files: readonly CaptureFile[]): CaptureFile {
  return files.reduce((first, file) => (file.time < first.time ? file : first));
}

/** The lines of one file that are read but not taken. */
class CaptureFile {
  private readonly batches: AsyncIterator<Line[]>;
  private lines: CaptureLine[] = [];
  private at = 0;

  constructor(private readonly path: string) {
    this.batches = readLineBatches(path)[Symbol.asyncIterator]();
  }

  get isEmpty(): boolean {
    return this.at === this.lines.length;
  }

  get next(): CaptureLine | null {
    return this.lines[this.at] ?? null;
  }

  /** A line without a time is taken before any later file is begun. */
  get time(): number {
    return this.next === null ? Infinity : (this.next.us ?? -Infinity);
  }

  take(): CaptureLine {
    return this.lines[this.at++];
  }

  async refill(): Promise<void> {
    [this.lines, this.at] = [[], 0];
    while (this.lines.length === 0) {
      const next = await this.batches.next();
      if (next.done === true) return;
      for (const { line, text } of next.value) {
        const read = readCaptureLine(`${this.path}:${line}`, text);
        if (read !== null) this.lines.push(read);
      }
    }
  }
}
