import { fork, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { InputError } from '../../storage/errors.js';
import { takeLock as take } from '../../storage/file-lock.js';
import { temporaryDirectory } from '../support/folders.js';

const LOCKED = { what: 'this file', command: 'fathom replay', Refusal: InputError };
const takeLock = (file: string) => take(file, LOCKED);

let folder: string;
let lock: string;
beforeEach(() => {
  folder = temporaryDirectory();
  lock = path.join(folder, 'out.part.lock');
});

/** The id of a process that has ended. */
function endedPid(): number {
  return spawnSync(process.execPath, ['-e', '']).pid;
}

describe('The lock of a file', () => {
  it('is taken by one at a time, and is free again once released', async () => {
    const release = await takeLock(lock);
    expect(readFileSync(lock, 'utf8')).toMatch(new RegExp(`^${process.pid} [0-9a-f-]{36}$`));
    const refused = takeLock(lock);
    await expect(refused).rejects.toBeInstanceOf(InputError);
    await expect(refused).rejects.toThrow(`process ${process.pid} is writing this file`);
    expect(readdirSync(folder)).toEqual(['out.part.lock']);
    await release();
    expect(readdirSync(folder)).toEqual([]);
    await (
      await takeLock(lock)
    )();
  });

  it('that is stale is taken over by only one of many that find it at once', async () => {
    // Left by this version, by an earlier one, and by a process of the same id in another container.
    const stale = [`${endedPid()} x`, String(endedPid()), `${process.pid} x`];
    for (let round = 0; round < 30; round++) {
      writeFileSync(lock, stale[round % stale.length]);
      const takers = await Promise.allSettled(Array.from({ length: 8 }, () => takeLock(lock)));
      const taken = takers.filter((one) => one.status === 'fulfilled');
      expect(taken).toHaveLength(1);
      for (const one of takers) {
        if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(InputError);
      }
      await expect(takeLock(lock)).rejects.toThrow('is writing this file');
      for (const { value: release } of taken) await release();
      expect(readdirSync(folder)).toEqual([]);
    }
  });

  it('is taken from a process that was killed while taking over a stale one', async () => {
    const dead = `${endedPid()} x`;
    const digest = createHash('sha256').update(dead).digest('hex').slice(0, 16);
    // The name of a taker's lock says which lock it takes over; that one may have been a taker's, too.
    for (const name of [lock, `${lock}.${digest}`, `${lock}.${digest}.${digest}`]) {
      writeFileSync(name, dead);
    }
    const release = await takeLock(lock);
    expect(readdirSync(folder)).toEqual(['out.part.lock']);
    await release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('that names no process yet is left alone', async () => {
    writeFileSync(lock, '');
    await expect(takeLock(lock)).rejects.toThrow(`another process is taking ${lock}`);
    expect(readFileSync(lock, 'utf8')).toBe('');
  });

  it('is held once among processes', async () => {
    const script = path.join(folder, 'take.mjs');
    const module = path.resolve('dist/storage/file-lock.js');
    writeFileSync(
      script,
      `import { takeLock } from ${JSON.stringify(module)};
       process.on('message', () => takeLock(process.argv[2], { what: '', command: '', Refusal: Error }).then(() => process.send('taken'), () => process.send('refused')));
       process.send('ready');`,
    );
    const children = Array.from({ length: 3 }, () => fork(script, [lock]));
    const next = () =>
      Promise.all(
        children.map((child) => new Promise((resolve) => child.once('message', resolve))),
      );
    await next();
    writeFileSync(lock, `${endedPid()} x`);
    const outcomes = next();
    for (const child of children) child.send('go');
    expect((await outcomes).sort()).toEqual(['refused', 'refused', 'taken']);
    for (const child of children) {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await gone;
    }
    // The killed process left it.
    await (
      await takeLock(lock)
    )();
  });
});
