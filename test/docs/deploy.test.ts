/** The samples of docs/deploy that hold together only by their numbers, and the nightly backup. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { DEFAULT_MEMORY_MIB } from '../../server/memory.js';
import { cleanUp, newKey, temporaryDirectory, withStoreOf } from '../support/cli.js';
import { run } from '../support/processes.js';

const DEPLOY = path.resolve('docs/deploy');
const sample = (name: string) => readFileSync(path.join(DEPLOY, name), 'utf8');
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
afterAll(cleanUp);

describe('docs/deploy', () => {
  it('warns of memory above what Fathom takes, and below what its unit allows', () => {
    const [, alert] =
      /process_resident_memory_bytes\S* > ([\d.]+) \* 1024 \* 1024 \* 1024/.exec(
        sample('fathom.rules.yml'),
      ) ?? [];
    const [, high] = /^MemoryHigh=(\d+)G$/m.exec(sample('fathom.service')) ?? [];
    const [, most] = /^MemoryMax=(\d+)G$/m.exec(sample('fathom.service')) ?? [];
    const gib = [DEFAULT_MEMORY_MIB / 1024, Number(alert), Number(high), Number(most)];
    expect(gib).toEqual([...gib].sort((a, b) => a - b));
    expect(new Set(gib).size).toBe(4);
    expect(sample('Dockerfile')).toContain(`--memory ${most}g`);
  });

  it.runIf(hasSystemd)('has units that systemd takes', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'fathom-units-'));
    const names = readdirSync(DEPLOY).filter((name) => /\.(service|timer)$/.test(name));
    for (const name of names) {
      writeFileSync(
        path.join(folder, name),
        sample(name).replaceAll('/opt/fathom/', `${process.cwd()}/`),
      );
    }
    const files = names.map((name) => path.join(folder, name));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...files], {
      encoding: 'utf8',
    });
    rmSync(folder, { recursive: true });
    expect(names).toHaveLength(3);
    // Of other units of this machine it may say anything.
    expect(stderr.split('\n').filter((line) => line.includes('fathom'))).toEqual([]);
    expect(status).toBe(0);
  });
});

describe('docs/deploy/fathom-backup.sh', () => {
  const directory = temporaryDirectory();
  const data = path.join(directory, 'data');
  const backups = path.join(directory, 'backups');
  const backUp = (of: string, keep: string) =>
    run('env', [
      `FATHOM=${path.resolve('fathom')}`,
      path.join(DEPLOY, 'fathom-backup.sh'),
      of,
      backups,
      keep,
    ]);
  const kept = () => readdirSync(backups).sort();

  it('keeps as many checked backups as it is told, and all of them where it fails', async () => {
    await newKey(data);
    // As a run leaves it that was killed; and what is no backup.
    mkdirSync(path.join(backups, '.new', 'left'), { recursive: true });
    mkdirSync(path.join(backups, 'of-somebody-else'));
    expect(await backUp(data, '1')).toMatchObject({ status: 0 });
    const [first, other] = kept();
    expect([first, other]).toEqual([
      expect.stringMatching(/^\d{8}T\d{6}\.\d{3}Z$/),
      'of-somebody-else',
    ]);
    // The clock was ahead once: the new one stays, whatever its name.
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
