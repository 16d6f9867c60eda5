import { expect, it } from 'vitest';
import { SegmentGoneError } from '../../storage/contract.js';
import { Archive } from '../../storage/archive/archive.js';
import { EMPTY_DIRECTORY } from '../../storage/depth/directory.js';
import { marketSpans } from '../../storage/depth/history.js';
import type { Database } from '../../storage/duckdb/database.js';
import { bytesOf } from '../../storage/typed-arrays.js';
import { segmentRef } from '../support/runs.js';

/** A database whose table has one market in rows 0 to 1 of these segments. */
function databaseWith(...ids: number[]): Database {
  const rows = bytesOf(Uint16Array.of(0, 0, 1));
  const readers = [(row: number) => BigInt(ids[row]), () => rows];
  const chunk = { rowCount: ids.length, reader: (column: number) => readers[column] };
  return { streamChunks: () => [chunk] } as unknown as Database;
}

function directoryWith(...ids: number[]) {
  const raw = ids.map((id) => segmentRef(id, [10 * id, 10 * id + 1]));
  return { ...EMPTY_DIRECTORY, raw };
}

it('describes the segments of the directory, not those that a commit has added since', async () => {
  const spans = await marketSpans(
    databaseWith(1, 2, 3),
    new Archive(),
    7,
    directoryWith(1, 2),
    100,
  );
  expect([...spans]).toEqual([[0, { firstT: 10, lastT: 21 }]]);
});

it('is read again if a commit has replaced a segment of the directory', async () => {
  const read = marketSpans(databaseWith(1, 3), new Archive(), 7, directoryWith(1, 2), 100);
  await expect(read).rejects.toThrow(SegmentGoneError);
});

it('does not miss a segment whose snapshots are all in the future', async () => {
  const spans = await marketSpans(databaseWith(1), new Archive(), 7, directoryWith(1, 2), 11);
  expect([...spans]).toEqual([[0, { firstT: 10, lastT: 11 }]]);
});
