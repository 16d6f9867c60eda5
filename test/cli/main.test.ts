/** What all commands share. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMAND_NAMES, loadCommand } from '../../server/cli/commands.js';
import { fathom, fathomProcess } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';

describe('fathom', () => {
  it('lists the commands on one line each, as help or after wrong usage', async () => {
    const [help, none] = [await fathom(['--help']), await fathom([])];
    expect(help).toEqual({ status: 0, stdout: none.stderr, stderr: '' });
    expect([none.status, none.stdout]).toEqual([2, '']);
    const lines = help.stdout.split('\n');
    for (const name of COMMAND_NAMES) {
      expect(lines.filter((line) => line.startsWith(`  ${name}  `))).toHaveLength(1);
    }
    expect(lines.length).toBeLessThan(COMMAND_NAMES.length + 10);
  });

  it('prints its version', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    for (const word of ['--version', '-V']) {
      expect(await fathom([word])).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
    }
  });

  it.each(COMMAND_NAMES)('has help on %s with two examples, in 100 columns', async (name) => {
    const words = name.split(' ');
    const [help, flag] = [await fathom(['help', ...words]), await fathom([...words, 'x', '-h'])];
    expect(flag).toEqual(help);
    expect([help.status, help.stderr]).toEqual([0, '']);
    const lines = help.stdout.split('\n');
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
    const { flags, examples } = await loadCommand(name);
    expect(examples.length).toBeGreaterThan(1);
    for (const example of examples) {
      expect(help.stdout.replaceAll(/ \\\n +/g, ' ')).toContain(`\n  ${example}\n`);
    }
    for (const flagName of Object.keys(flags)) {
      expect(lines).toContainEqual(expect.stringMatching(`^  --${flagName}(?![a-z-])`));
    }
  });

  it.each([
    [['improt'], 'unknown command improt; did you mean import?', ''],
    [['help', 'key'], 'unknown command key; did you mean keys?', ''],
    [['nonsense'], 'unknown command nonsense', ''],
    [['--verion'], 'unknown flag --verion; did you mean --version?', ''],
    [['keys'], 'keys: expected create, list, update, rotate or revoke', ' keys'],
    [['__proto__'], 'unknown command __proto__', ''],
    [['queue', '--jsno'], 'unknown flag --jsno; did you mean --json?', ' queue'],
    [['keys', 'list', '-x'], 'unknown flag -x', ' keys list'],
    [['replay'], 'ADDRESS: expected one', ' replay'],
    [
      ['keys', 'crate'],
      'keys: expected create, list, update, rotate or revoke, not crate; did you mean create?',
      ' keys',
    ],
  ])('%j is reported in one line and a pointer, with status 2', async (words, message, pointer) => {
    const stderr = `fathom: ${message}\nSee fathom help${pointer}\n`;
    expect(await fathom(words)).toEqual({ status: 2, stdout: '', stderr });
  });

  it('continues when the reader of its output is gone', async () => {
    const main = path.resolve('dist/server/cli/main.js');
    const data = path.join(temporaryDirectory(), 'data');
    const words = ['keys', 'create', '--tier', 'premium', '--json', '--data', data];
    const child = spawn(process.execPath, [main, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    const status = await new Promise((resolve) => child.once('close', resolve));
    expect([status, output]).toEqual([0, expect.stringContaining('held no store')]);
    const listed = await fathomProcess(['keys', 'list', '--json', '--data', data]);
    expect(JSON.parse(listed.stdout)).toHaveLength(1);
  });
});
