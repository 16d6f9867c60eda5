/** Commands on a store whose database is gone. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { fathom, withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';

const folder = temporaryDirectory();
const gone = path.join(folder, 'gone');
const rows = path.join(folder, 'rows.ndjson');
beforeAll(async () => {
  await withStoreOf(gone, () => Promise.resolve());
  rmSync(path.join(gone, 'fathom.duckdb'));
  writeFileSync(rows, '');
});

it.each([
  [['check']],
  [['keys', 'list']],
  [['keys', 'create', '--tier', 'premium']],
  [['backup', '--out', path.join(folder, 'copy')]],
  [['prune', '--before', '2020-01-01']],
  [['usage']],
  [['queue']],
  [['retention', '--allow', '2020-01-01']],
  [['ingest', 'snapshots', rows, '--dry-run']],
])('%j says so, and not that there is no store', async (words) => {
  const before = readdirSync(gone);
  const ended = await fathom([...words, '--data', gone]);
  expect([ended.status, ended.stdout]).toEqual([1, '']);
  expect(ended.stderr).toContain(
    `${gone} held a store whose database is gone: pepper is there, fathom.duckdb is not. `,
  );
  expect(readdirSync(gone)).toEqual(before);
});
