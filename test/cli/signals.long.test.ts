/** A server or a command closes its store at every signal. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { fathom, serve, withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { MAIN, run } from '../support/processes.js';

const directory = temporaryDirectory();
/** Commits that are not in the database yet: none if it was closed. */
const logIn = (data: string) => existsSync(path.join(data, 'fathom.duckdb.wal'));

it('SIGHUP drains a server and closes its store, as SIGTERM does', async () => {
  const data = path.join(directory, 'served');
  const server = await serve(data, ['--port', '0', '--threads', '1']);
  await fathom(['keys', 'create', '--tier', 'premium', '--data', data]);
  expect(logIn(data)).toBe(true);
  expect(await server.stop('SIGHUP')).toEqual({ status: 0, signal: null });
  expect(server.logged()).toContain('"msg":"stopped"');
  expect(logIn(data)).toBe(false);
});

it('a signal ends a server with status 0 while it loads, before it reads its settings', async () => {
  // The signal comes as soon as something listens for it; wrong settings would end with status 2.
  const script = `
    const signal = () => process.kill(process.pid, 'SIGTERM');
    process.on('newListener', (name) => name === 'SIGTERM' && queueMicrotask(signal));
    process.argv.push(${JSON.stringify(MAIN)}, 'serve', '--port', 'none');
    await import(process.argv[1]);`;
  const ended = await run(process.execPath, ['--input-type=module', '-e', script]);
  expect(ended).toMatchObject({ status: 0, stdout: '' });
});

it.each(['SIGHUP', 'SIGINT', 'SIGTERM'] as const)(
  'a command that has a store open closes it at %s, which then ends it',
  async (signal) => {
    const data = path.join(directory, signal);
    const script = path.resolve('test/support/hold-command.mjs');
    const child = spawn(process.execPath, [script, data], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'close');
    expect(String((await once(child.stdout, 'data'))[0])).toBe('held\n');
    expect(logIn(data)).toBe(true);
    child.kill(signal);
    expect(await ended).toEqual([null, signal]);
    expect(logIn(data)).toBe(false);
    expect(await withStoreOf(data, (store) => store.listKeys())).toMatchObject([{ name: 'held' }]);
  },
);
