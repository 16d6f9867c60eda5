/** Checks the files of fragments: each against its checksum, its name and its segment's entry. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { FragmentsKey } from '../../compute/replay/fragment-file.js';
import { whereIdIn, type Statements } from '../duckdb/statements.js';
import type { NamedFile } from '../file-cache.js';
import { FRAGMENT_FILES } from '../fragment-files.js';

/** Files that one step reads. */
const FILES_PER_STEP = 64;

interface CheckedFragments {
  /** What is wrong with files, in words. */
  faults: string[];
  /** Files that belong to no stored segment; the server removes them when it starts. */
  strays: string[];
  /** Number of the next file; null if all are done. */
  next: number | null;
}

/** @param from the number of the first file, in the order of their names */
export async function checkFragments(
  database: Pick<Statements, 'rows'>,
  directory: string,
  from: number,
): Promise<CheckedFragments> {
  const folder = path.join(directory, FRAGMENT_FILES.folder);
  const names = (await readdir(folder).catch(() => [])).sort();
  const part = names.slice(from, from + FILES_PER_STEP);
  const files = part.map((name) => ({ name, file: FRAGMENT_FILES.fileOf(name) }));
  const digests = await digestsOf(
    database,
    files.flatMap(({ file }) => file?.segmentId ?? []),
  );
  const checked: CheckedFragments = {
    faults: [],
    strays: [],
    next: from + FILES_PER_STEP < names.length ? from + FILES_PER_STEP : null,
  };
  for (const { name, file } of files) {
    const shown = `${FRAGMENT_FILES.folder}/${name}`;
    const stored = file === null ? undefined : digests.get(file.segmentId);
    // A file that is gone was replaced during the check.
    const bytes = await readFile(path.join(folder, name)).catch((error: unknown) => error);
    if ((bytes as NodeJS.ErrnoException).code === 'ENOENT') continue;
    if (file === null || stored === undefined) checked.strays.push(shown);
    else {
      const fault = faultOf(bytes, file, stored);
      if (fault !== null) {
        checked.faults.push(`${shown} ${fault}; delete it: the server makes it again`);
      }
    }
  }
  return checked;
}

/** The stored digests of the segments' snapshots. */
async function digestsOf(
  database: Pick<Statements, 'rows'>,
  ids: readonly number[],
): Promise<Map<number, Uint8Array>> {
  if (ids.length === 0) return new Map();
  const rows = await database.rows(
    `SELECT segment_id, digests FROM segments WHERE ${whereIdIn('segment_id', ids)}`,
  );
  return new Map(rows as [number, Uint8Array][]);
}

function faultOf(
  read: unknown,
  { bytes, ...key }: NamedFile<FragmentsKey>,
  stored: Uint8Array,
): string | null {
  if (!(read instanceof Uint8Array)) return 'cannot be read';
  if (read.length !== bytes) return `has ${read.length} bytes, not ${bytes}`;
  const fragments = FRAGMENT_FILES.unpack(new Uint8Array(read), key);
  if (fragments === null) return 'is damaged, or of another segment or version';
  const { buffer, byteOffset, byteLength } = fragments.digests;
  const isOfSegment = Buffer.from(buffer, byteOffset, byteLength).equals(stored);
  return isOfSegment ? null : 'holds other snapshots than its segment';
}
