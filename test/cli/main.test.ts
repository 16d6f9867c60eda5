/** What all commands share. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { cleanUp, fathomProcess, temporaryDirectory } from '../support/cli.js';

afterAll(cleanUp);

describe('fathom', () => {
  it('without a command says what there is, with status 2', async () => {
    const ended = await fathomProcess([]);
    expect([ended.status, ended.stdout]).toEqual([2, '']);
    for (const name of ['serve', 'ingest', 'keys', 'import', 'demo']) {
      expect(ended.stderr).toContain(`fathom ${name} `);
    }
  });

  it('help and a command’s --help print the usage on stdout, with status 0', async () => {
    const [all, own] = await Promise.all([
      fathomProcess(['help']),
      fathomProcess(['keys', '--help']),
    ]);
    expect([all.status, all.stderr, own.status, own.stderr]).toEqual([0, '', 0, '']);
    expect(all.stdout).toContain(own.stdout.trim());
  });

  it.each([['nonsense'], ['__proto__']])('%s is no command', async (word) => {
    const ended = await fathomProcess([word]);
    const [said] = ended.stderr.split(';');
    expect([ended.status, ended.stdout, said]).toEqual([2, '', `fathom: unknown command ${word}`]);
  });

  it('works on where whoever reads its output has gone', async () => {
    const main = path.resolve('dist/server/cli/main.js');
    const data = path.join(temporaryDirectory(), 'data');
    const words = ['keys', 'create', '--tier', 'premium', '--json', '--data', data];
    const child = spawn(process.execPath, [main, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    const status = await new Promise((resolve) => child.once('close', resolve));
    expect([status, said]).toEqual([0, '']);
    const listed = await fathomProcess(['keys', 'list', '--json', '--data', data]);
    expect(JSON.parse(listed.stdout)).toHaveLength(1);
  });
});
