/** Servers and commands that cannot write their messages. */
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePorts } from '../../bench/programs.js';
import { temporaryDirectory } from '../support/folders.js';
import { MAIN } from '../support/processes.js';
import { MINT } from '../support/stores.js';
import { becomes } from '../support/waiting.js';

const directory = temporaryDirectory();
const data = path.join(directory, 'data');

describe.runIf(process.platform === 'linux')('When messages cannot be written', () => {
  it('a server serves and ends as usual, even if nobody reads them', async () => {
    const pipe = path.join(directory, 'unread');
    spawnSync('mkfifo', [pipe]);
    const full = openSync('/dev/full', 'w');
    const unread = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    // Not one more byte fits into the pipe.
    expect(() => {
      for (;;) writeSync(unread, 'x'.repeat(1024));
    }).toThrow('EAGAIN');
    for (const log of [full, unread]) {
      const [port] = await freePorts(1);
      const words = [MAIN, 'serve', '--data', data, '--port', String(port), '--threads', '1'];
      const child = spawn(process.execPath, words, { stdio: ['ignore', 'ignore', log] });
      const ended = new Promise((resolve) =>
        child.once('exit', (...how) => {
          resolve(how);
        }),
      );
      const status = () =>
        fetch(`http://127.0.0.1:${port}/api/v1/openapi.json`).then(
          (reply) => reply.status,
          () => null,
        );
      await becomes(status, 200);
      child.kill();
      expect(await ended).toEqual([0, null]);
      closeSync(log);
    }
  });

  it('a command succeeds once its work is done and its result is written', () => {
    const full = openSync('/dev/full', 'w');
    const keys = [MAIN, 'keys', 'create', '--tier', 'premium', '--data', data];
    const tokens = path.join(directory, 'tokens.csv');
    writeFileSync(tokens, `chain,address\nmainchain,${MINT}\n`);
    const ingest = [MAIN, 'ingest', 'tokens', tokens, '--data', data];
    for (const command of [keys, ingest]) {
      const { status } = spawnSync(process.execPath, command, { stdio: ['ignore', 'pipe', full] });
      expect([command[1], status]).toEqual([command[1], 0]);
    }
    const lost = spawnSync(process.execPath, keys, {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    expect([lost.status, lost.stderr]).toEqual([
      1,
      expect.stringContaining('the result could not be written to stdout: ENOSPC'),
    ]);
    closeSync(full);
  });
});
