/** The program of `npm run bench:live`, in its smallest size. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/folders.js';

const root = path.resolve(import.meta.dirname, '../..');
const folder = temporaryDirectory();
const RUN_DEADLINE_MS = 120_000;

function bench(...flags: string[]) {
  const file = path.join(folder, 'live.json');
  const main = path.join(root, 'dist/bench/live/main.js');
  const { status, stderr } = spawnSync(process.execPath, [main, '--json', file, ...flags], {
    cwd: folder,
    encoding: 'utf8',
  });
  const rows = (): string[][] => {
    const document = JSON.parse(readFileSync(file, 'utf8')) as { rows: string[][] };
    return document.rows;
  };
  return { status, stderr, rows };
}

const valuesOf = (rows: readonly string[][], name: string): string[] =>
  rows.filter(([first]) => first === name).map(([, value]) => value);

describe('npm run bench:live -- --smoke', () => {
  it.each([
    ['of ten tokens', []],
    ['of one token, in fifty files a second', ['--tokens', '1', '--files', '50']],
  ])(
    'delivers everything to subscribers %s',
    (_, flags) => {
      const { status, rows } = bench('--smoke', ...flags);
      expect(status).toBe(0);
      expect(valuesOf(rows(), 'received, of all')).toEqual(['100']);
      expect(valuesOf(rows(), 'all reconnected and caught up')).toHaveLength(1);
    },
    RUN_DEADLINE_MS,
  );

  it('refuses more connections than it may open files', () => {
    const main = JSON.stringify(path.join(root, 'dist/bench/live/main.js'));
    const limited = `ulimit -n 600 && exec "${process.execPath}" ${main} --subscribers 200 --json live.json`;
    const { status, stderr } = spawnSync('sh', ['-c', limited], { cwd: folder, encoding: 'utf8' });
    expect(status).toBe(2);
    expect(stderr).toContain('need 700 open files, and 600 are allowed: raise the limit');
  });
});
