import { describe, expect, it } from 'vitest';
import { Directories, sizedDirectory } from '../../storage/depth/directories.js';
import { EMPTY_DIRECTORY, type Directory } from '../../storage/depth/directory.js';
import type { Database } from '../../storage/duckdb/database.js';
import type { SqlRow } from '../../storage/duckdb/statements.js';
import { segmentRef } from '../support/runs.js';

/** A directory of one segment, and the row that it is read from. */
function directoryWith(segmentId: number): { directory: Directory; row: SqlRow } {
  const times = Uint32Array.of(7);
  const ref = segmentRef(segmentId, times, { bandCells: times, digests: times });
  const bytes = new Uint8Array(times.buffer);
  return {
    directory: { ...EMPTY_DIRECTORY, raw: [ref] },
    row: [segmentId, 0, 1, bytes, bytes, bytes, false],
  };
}

/** Directories over a database whose reads end on command. */
function held() {
  const reads: ((rows: SqlRow[]) => void)[] = [];
  const rows = () => new Promise<SqlRow[]>((resolve) => reads.push(resolve));
  return { directories: new Directories({ rows } as unknown as Database), reads };
}

const old = directoryWith(1);
const fresh = directoryWith(2);

/** Lets everything that can proceed do so; says whether the promise has settled. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

describe('A directory that is loaded while its token is being committed', () => {
  it('is not shown before the markets that its segments name are published', async () => {
    const { directories, reads } = held();
    const loading = directories.get(4);
    const end = directories.beginCommit((id) => id === 4);
    reads[0]([fresh.row]);
    expect(await isSettled(loading)).toBe(false);
    await directories.publish(new Map([[4, sizedDirectory(fresh.directory)]]));
    end();
    expect(await loading).toEqual(fresh.directory);
    expect(await directories.get(4)).toBe(fresh.directory);
    expect(reads).toHaveLength(1);
  });

  it('is read again if the commit is rolled back', async () => {
    const { directories, reads } = held();
    const end = directories.beginCommit((id) => id === 4);
    const loading = directories.get(4);
    reads[0]([old.row]);
    expect(await isSettled(loading)).toBe(false);
    end();
    expect(await isSettled(loading)).toBe(false);
    reads[1]([old.row]);
    expect(await loading).toEqual(old.directory);
  });

  it('never replaces what was published meanwhile', async () => {
    const { directories, reads } = held();
    const loading = directories.get(4);
    const end = directories.beginCommit((id) => id === 4);
    await directories.publish(new Map([[4, sizedDirectory(fresh.directory)]]));
    end();
    reads[0]([old.row]);
    expect(await loading).toBe(fresh.directory);
    expect(await directories.get(4)).toBe(fresh.directory);
  });

  it('does not wait for other tokens’ commits, and is read once for all who ask', async () => {
    const { directories, reads } = held();
    directories.beginCommit((id) => id === 5);
    const both = [directories.get(4), directories.get(4)];
    expect(reads).toHaveLength(1);
    reads[0]([old.row]);
    expect(await Promise.all(both)).toEqual([old.directory, old.directory]);
  });
});
