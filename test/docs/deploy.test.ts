/** The samples of docs/deploy that are related only by their numbers. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_MEMORY_MIB } from '../../server/memory.js';
import { temporaryDirectory } from '../support/folders.js';

const DEPLOY = path.resolve('docs/deploy');
const sample = (name: string) => readFileSync(path.join(DEPLOY, name), 'utf8');
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

describe('docs/deploy', () => {
  it('warns of memory above what Fathom uses, and below what its unit allows', () => {
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

  it.runIf(hasSystemd)('has units that systemd accepts', () => {
    const folder = temporaryDirectory();
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
    expect(names).toHaveLength(3);
    // It may say anything about other units of this machine.
    expect(stderr.split('\n').filter((line) => line.includes('fathom'))).toEqual([]);
    expect(status).toBe(0);
  });
});
