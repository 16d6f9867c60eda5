import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { PAGE_A, PAGE_B } from '../../bench/data/pages.js';
import { temporaryDirectory } from '../support/folders.js';
import { programOf, runProgram } from './program.js';
import { referenceHash } from './reference-page.js';

const folder = temporaryDirectory();

/** It takes five seconds on idle cores, but tests share theirs. */
const SMOKE_DEADLINE_MS = 300_000;

interface Case {
  opsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  samples: number;
  hash: string;
  extra: Record<string, number>;
}

interface Document {
  smoke: boolean;
  machine: Record<string, unknown>;
  revision: unknown;
  elapsedS: number;
  cases: Record<string, Case>;
}

const env = { ...process.env, FATHOM_PORT: '1', FATHOM_THREADS: '1' };

function smoke(name: string, ...flags: string[]): { document: Document; table: string } {
  const words = ['--smoke', '--json', path.join(folder, 'new', `${name}.json`), ...flags];
  const { status, stdout, stderr } = runProgram('.', words, { cwd: folder, env });
  expect([status, stderr]).toEqual([0, expect.not.stringContaining('Error')]);
  return { document: JSON.parse(readFileSync(words[2], 'utf8')) as Document, table: stdout };
}

describe('npm run bench -- --smoke', () => {
  let document: Document;
  let table: string;
  const hashesOf = (pattern: RegExp): string[] =>
    Object.entries(document.cases)
      .filter(([name]) => pattern.test(name))
      .map(([, { hash }]) => hash);

  beforeAll(() => {
    ({ document, table } = smoke('whole'));
  }, SMOKE_DEADLINE_MS);

  it('runs every case', () => {
    expect(document.smoke).toBe(true);
    const groups = new Set(Object.keys(document.cases).map((name) => name.split('/')[0]));
    expect([...groups]).toEqual([
      'binning',
      'segments A',
      'page A',
      'segments B',
      'page B',
      'boards',
      'steps A',
    ]);
    for (const [name, one] of Object.entries(document.cases)) {
      expect(one.hash, name).toMatch(/^[0-9a-f]{8}$/);
      expect(one.samples, name).toBeGreaterThan(0);
      expect(one.opsPerSecond, name).toBeGreaterThan(0);
      expect(one.p50Ms, name).toBeGreaterThan(0);
      expect(one.p99Ms, name).toBeGreaterThanOrEqual(one.p50Ms);
      expect(Object.values(one.extra).every(Number.isFinite), name).toBe(true);
      expect(table).toContain(name);
    }
  });

  it('makes, in every way, the page that the plain reference makes', () => {
    const ofA = hashesOf(/^page A\/(json|gzip of json|br of json|assemble)|^steps A\/.*render/);
    expect(ofA).toHaveLength(4 + 1 + 2);
    expect(new Set(ofA)).toEqual(new Set([referenceHash(PAGE_A)]));
    const ofB = hashesOf(/^page B\/(json|gzip of json|br of json|assemble)/);
    expect(ofB).toHaveLength(5);
    expect(new Set(ofB)).toEqual(new Set([referenceHash(PAGE_B)]));
  });

  it('describes the machine without its name', () => {
    expect(document.machine).toMatchObject({ node: process.version });
    expect(JSON.stringify(document)).not.toContain(os.hostname());
  });

  it('gives the same hashes in another run', () => {
    const again = smoke('again', '--only', 'segments A,page B').document.cases;
    expect(Object.keys(again).length).toBeGreaterThan(10);
    for (const [name, { hash }] of Object.entries(again)) {
      expect([name, hash]).toEqual([name, document.cases[name].hash]);
    }
  });

  it('refuses a results file that cannot be written, before it measures', () => {
    const file = path.join(folder, 'a file');
    writeFileSync(file, '');
    for (const json of [path.join(file, 'latest.json'), folder]) {
      const words = ['--smoke', '--only', 'boards', '--json', json];
      const { status, stdout, stderr } = runProgram('.', words, { cwd: folder, env });
      expect([status, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^bench: --json: .* cannot be written: E/);
      expect(stderr).not.toContain('boards...');
    }
  });

  // Kernels block the event loop; the store's folder must be removed nevertheless.
  it.each([
    ['page A', 'page A...', 'SIGINT'],
    ['steps A', 'steps A...', 'SIGTERM'],
  ] as const)('ends when it is interrupted in %s', async (group, sign, signal) => {
    const scratch = mkdtempSync(path.join(folder, 'scratch-'));
    const json = path.join(folder, 'interrupted.json');
    const words = [programOf('.'), '--only', group, '--json', json];
    const child = spawn(process.execPath, words, {
      cwd: folder,
      env: { ...process.env, TMPDIR: scratch },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const printed = text(child.stdout);
    const ended = new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
      child.once('exit', (...how) => resolve(how)),
    );
    let progress = '';
    for await (const part of child.stderr.setEncoding('utf8')) {
      progress += part as string;
      if (progress.includes(sign)) break;
    }
    if (group === 'steps A') while (readdirSync(scratch).length === 0) await sleep(10);
    child.kill(signal);
    const [status, by] = await ended;
    expect(by ?? status).toBe(group === 'page A' ? signal : 130);
    expect(await printed).toBe('');
    expect(readdirSync(scratch)).toEqual([]);
    expect(existsSync(json)).toBe(false);
  });
});
