/** A file is ingested whole even if a thread of the pool dies while it sorts or bins a part of it. */
import { once } from 'node:events';
import type { Piscina } from 'piscina';
import { expect, it, vi } from 'vitest';
import { startPool } from '../../compute/pool.js';
import type { Dataset } from '../../storage/ingest/datasets.js';
import { ingestFiles } from '../../storage/ingest/ingest.js';
import { ROWS } from '../fuzz/rows.js';
import { csv, lines, openStoreOf, StoreScratch } from '../support/ingest.js';

const scratch = new StoreScratch();

it.each<[Dataset, string, boolean, string]>([
  ['levels', '.csv', false, 'sortLevels'],
  ['levels', '.csv', false, 'binChunk'],
  ['levels', '.ndjson', true, 'headsOfChunk'],
  ['cells', '.csv', false, 'binChunk'],
  ['cells', '.ndjson', false, 'columnsOfLines'],
  ['snapshots', '.ndjson', true, 'binChunk'],
])('%s as %s, merged: %s; the thread of %s dies', async (dataset, ending, merge, task) => {
  const errors: string[] = [];
  const onError = ({ message }: Error) => void errors.push(message);
  const pool = await startPool({ threads: 1, onError });
  const { piscina } = pool as unknown as { piscina: Piscina };
  const run = piscina.run.bind(piscina);
  const ended: Promise<unknown>[] = [];
  vi.spyOn(piscina, 'run').mockImplementation((input, options) => {
    const answer = run(input, options) as Promise<unknown>;
    if (options?.name === task && ended.length === 0) {
      const [thread] = piscina.threads;
      ended.push(once(thread, 'exit'), thread.terminate());
    }
    return answer;
  });
  const rows = ROWS[dataset];
  const file = scratch.file(ending, ending === '.csv' ? csv(rows) : lines(rows));
  const useStore = openStoreOf(scratch.store);
  const request = { directory: scratch.data, dataset, files: [file], merge, pool, useStore };
  const reports: unknown[] = [];
  for await (const { rows: count, snapshots } of ingestFiles(request)) {
    reports.push([count, snapshots]);
  }
  await Promise.all(ended);
  await pool.close();
  expect(errors).toEqual([expect.stringContaining(`task ${task} lost its thread`)]);
  const times = new Set(rows.map((row) => `${row.address} ${row.tier ?? 'raw'} ${row.t}`));
  expect(reports).toEqual([[rows.length, times.size]]);
});
