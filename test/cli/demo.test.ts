/** Where `fathom demo` and `npm start` put nothing. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { refuseForeignFiles } from '../../storage/data-directory.js';
import { digestOf, fathom, fathomProcess, withStoreOf } from '../support/cli.js';
import { atEnd, temporaryDirectory } from '../support/folders.js';
import { run } from '../support/processes.js';

describe('the demo market', () => {
  it('is not put among other files, such as the sources of a clone', async () => {
    const directory = path.join(temporaryDirectory(), 'demo');
    cpSync('demo', directory, { recursive: true });
    const before = digestOf(directory);
    const message = `${directory} holds other files (book.ts, fill.ts, flat.ts, ...): the demo market needs a directory of its own; name a new or empty one with --data\n`;
    for (const command of [['demo'], ['demo', '--live'], ['start', '--port', '0']]) {
      const ended = await fathomProcess([...command, '--data', directory]);
      expect([ended.status, ended.stdout, ended.stderr]).toEqual([1, '', message]);
      expect(digestOf(directory)).toBe(before);
    }
  });

  it('names few files, and regards what Fathom and file systems make as none', async () => {
    const directory = temporaryDirectory();
    for (const name of ['lost+found', 'staging']) mkdirSync(path.join(directory, name));
    writeFileSync(path.join(directory, 'fathom.config.json'), '{}');
    writeFileSync(path.join(directory, '.git'), '');
    const refused = await fathom(['demo', '--data', directory]);
    expect(refused.stderr).toMatch(/ holds other files \(\.git\): /);
  });

  it('may be put into a store that stands beside other files, as its owner chose', async () => {
    const directory = temporaryDirectory();
    await withStoreOf(directory, () => Promise.resolve());
    writeFileSync(path.join(directory, 'notes.txt'), '');
    await expect(refuseForeignFiles(directory)).resolves.toBeUndefined();
  });
});

it('npm start tells of a port in use before it installs or builds, and what to do', async () => {
  const taken = createServer();
  atEnd(() => taken.close());
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as { port: number };
  // Without sources and packages, which the next step would miss.
  const clone = temporaryDirectory();
  cpSync('server/bootstrap', path.join(clone, 'server/bootstrap'), { recursive: true });
  const script = path.join(clone, 'server/bootstrap/start.mjs');
  const start = (words: readonly string[], env: Record<string, string> = {}) =>
    run(process.execPath, [script, ...words], { cwd: clone, env });
  const message = `fathom: port ${port} on 127.0.0.1 is in use: stop what listens there, or choose another port: npm start -- --port ${port < 65_535 ? port + 1 : port - 1}\n`;
  const refused = { status: 1, stdout: '', stderr: message };
  expect(await start(['--port', String(port)])).toEqual(refused);
  expect(await start([`--port=${port}`], { FATHOM_PORT: '0' })).toEqual(refused);
  expect(await start([], { FATHOM_PORT: String(port) })).toEqual(refused);
  writeFileSync(path.join(clone, 'fathom.config.json'), JSON.stringify({ port }));
  expect(await start([])).toEqual(refused);
  // A free one goes on, and so does what only `serve` can judge.
  for (const words of [
    ['--port', '0'],
    ['--port', 'x'],
    ['--port', String(port), '--help'],
  ]) {
    expect((await start(words)).stderr).toContain('package-lock.json');
  }
});
