/** The samples of docs/deploy that are related only by their numbers. */
import { parseYaml } from '@redocly/openapi-core';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_MEMORY_MIB } from '../../server/memory.js';
import { documentNamed } from './documents.js';
import { temporaryDirectory } from '../support/folders.js';
import { hasProgram } from '../support/programs.js';

const DEPLOY = path.resolve('docs/deploy');
const sample = (name: string) => readFileSync(path.join(DEPLOY, name), 'utf8');
/** `npm run test:python` installs it. */
const IN_PYTHON = path.resolve('python/.venv/bin/hadolint');
const hadolint = existsSync(IN_PYTHON) ? IN_PYTHON : 'hadolint';
const compose = (
  parseYaml(sample('compose.yml')) as { services: Record<string, Record<string, unknown>> }
).services.fathom;
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
    expect(compose).toMatchObject({ mem_limit: `${most}g` });
  });

  it('has a compose file that runs the image as the command of its documents does', () => {
    const [docker] = documentNamed('docs/deploy/README.md')
      .blocks.map(({ text }) => /^docker run [\s\S]*?[^\\]$/m.exec(text)?.[0] ?? '')
      .filter((text) => text !== '');
    const words = docker.replaceAll('\\\n', ' ').split(/\s+/);
    const flag = (name: string): string => words[words.indexOf(name) + 1];
    expect(compose).toMatchObject({
      build: { context: '../..', dockerfile: 'docs/deploy/Dockerfile' },
      ports: [flag('-p')],
      mem_limit: flag('--memory'),
      cap_drop: [flag('--cap-drop')],
      security_opt: [`${flag('--security-opt')}:true`],
      tmpfs: [flag('--tmpfs')],
      read_only: words.includes('--read-only'),
      stop_grace_period: `${flag('--stop-timeout')}s`,
      ulimits: { nofile: Number(flag('--ulimit').split(':')[1]) },
    });
    expect(compose.volumes).toEqual(['data:/data']);
    expect(sample('Dockerfile')).toContain('\nVOLUME /data\n');
  });

  it.runIf(hasProgram(hadolint))('has a Dockerfile without faults that hadolint finds', () => {
    const { status, stdout } = spawnSync(hadolint, [path.join(DEPLOY, 'Dockerfile')], {
      encoding: 'utf8',
    });
    expect([status, stdout]).toEqual([0, '']);
  });

  it('leaves out of an image what a build makes, and what git ignores of a clone', () => {
    const ignored = sample('Dockerfile.dockerignore').split('\n');
    for (const name of ['.git', 'dist', '**/node_modules', '**/.venv', 'data']) {
      expect(ignored).toContain(name);
    }
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
