/** The nightly backup of docs/deploy. */
import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { newKey, withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { run } from '../support/processes.js';

const DEPLOY = path.resolve('docs/deploy');

describe('docs/deploy/fathom-backup.sh', () => {
  const directory = temporaryDirectory();
  const data = path.join(directory, 'data');
  const backups = path.join(directory, 'backups');
  const backUp = (of: string, keep: string) =>
    run(path.join(DEPLOY, 'fathom-backup.sh'), [of, backups, keep], {
      env: { FATHOM: path.resolve('fathom') },
    });
  const kept = () => readdirSync(backups).sort();

  it('keeps the configured number of checked backups, and all of them if it fails', async () => {
    await newKey(data);
    // As left by a killed run; and something that is not a backup.
    mkdirSync(path.join(backups, '.new', 'left'), { recursive: true });
    mkdirSync(path.join(backups, 'of-somebody-else'));
    expect(await backUp(data, '1')).toMatchObject({ status: 0 });
    const [first, other] = kept();
    expect([first, other]).toEqual([
      expect.stringMatching(/^\d{8}T\d{6}\.\d{3}Z$/),
      'of-somebody-else',
    ]);
    // The clock was ahead once: the new backup stays, whatever its name.
    const ahead = '20360101T000000.000Z';
    mkdirSync(path.join(backups, ahead));
    expect(await backUp(data, '2')).toMatchObject({ status: 0 });
    const [second, ...rest] = kept();
    expect(second).not.toBe(first);
    expect(rest).toEqual([ahead, 'of-somebody-else']);
    expect((await backUp(path.join(directory, 'nothing'), '1')).status).toBe(1);
    expect(kept()).toEqual([second, ...rest]);
    const keys = await withStoreOf(path.join(backups, second), (store) => store.listKeys());
    expect(keys).toHaveLength(1);
    expect(await backUp(data, 'all')).toMatchObject({ status: 2 });
  });
});
