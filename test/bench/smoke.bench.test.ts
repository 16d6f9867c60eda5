import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { envelopeOf } from '../../bench/cases/request.js';
import { PAGE_A, PAGE_B, tokenHistory, type PageShape } from '../../bench/data/pages.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import type { SnapshotRun } from '../../compute/segment/run.js';
import { temporaryDirectory } from '../support/folders.js';
import { programOf, runProgram } from './program.js';
import { referencePage, type PlainRequest, type PlainStore } from '../reference/replay.js';

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
  counters: Record<string, { value: number; unit: string }>;
}

const env = { ...process.env, FATHOM_PORT: '1', FATHOM_THREADS: '1' };

function smoke(name: string, ...flags: string[]): { document: Document; table: string } {
  const words = ['--smoke', '--json', path.join(folder, 'new', `${name}.json`), ...flags];
  const { status, stdout, stderr } = runProgram('.', words, { cwd: folder, env });
  expect([status, stderr]).toEqual([0, expect.not.stringContaining('Error')]);
  return { document: JSON.parse(readFileSync(words[2], 'utf8')) as Document, table: stdout };
}

/** The generated page as the plain reference's store. */
function plainStore({ run, markets }: { run: SnapshotRun; markets: PlainStore['markets'] }) {
  const snapshots: PlainStore['snapshots'] = Array.from(run.t, (t, s) => ({
    t,
    tier: run.tier,
    price: run.priceUsd[s],
    cells: Array.from(run.bin.subarray(run.cellOffsets[s], run.cellOffsets[s + 1]), (bin, c) => {
      const i = run.cellOffsets[s] + c;
      const support = BigInt(run.supportCents[i]);
      return { market: run.market[i], bin, support, resistance: BigInt(run.resistanceCents[i]) };
    }),
  }));
  return { markets, snapshots };
}

/** The hash of the page that the plain reference makes of the bench's data. */
function referenceHash(
  shape: PageShape,
  group: PlainRequest['group'],
  types: PlainRequest['types'] = null,
): string {
  const { token, resolvedToken, chain, window } = envelopeOf(shape.snapshots);
  const none = { excludeTypes: null, venues: null, excludeVenues: null };
  const { reply } = referencePage(
    plainStore(tokenHistory(shape, shape.snapshots, 0)),
    { from: window.from, to: window.to, group, types, ...none, minPct: -50, maxPct: 100 },
    PAGE_LIMITS,
    { token, resolvedToken, chain, clamped: false },
  );
  return createHash('sha256').update(JSON.stringify(reply)).digest('hex').slice(0, 8);
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
      'fragments A',
      'fragments B',
      'lp',
      'flow',
      'steps A',
      'http A',
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

  it('serves, over every path, the page that the plain reference makes', () => {
    const market = referenceHash(PAGE_A, 'market');
    const paths =
      /^page A\/(?!.* of (msgpack|arrow))(json|JSON.stringify|gzip|br)|^fragments A\/assemble|^steps A\/.*render|^http A\/.*group=market/;
    const hashes = hashesOf(paths);
    expect(hashes).toHaveLength(6 + 1 + 3 + 6 + 3 + 2);
    expect(new Set(hashes)).toEqual(new Set([market]));
    for (const group of ['all', 'venue'] as const) {
      const grouped = hashesOf(new RegExp(`^http A/.*group=${group}`));
      expect(grouped).toHaveLength(2 + 1);
      expect(new Set(grouped)).toEqual(new Set([referenceHash(PAGE_A, group)]));
    }
    const filtered = hashesOf(/^http A\/.*types=onchain_pool/);
    expect(filtered).toHaveLength(2 + 1);
    const types = ['onchain_pool' as const];
    expect(new Set(filtered)).toEqual(new Set([referenceHash(PAGE_A, 'market', types)]));
    expect(
      new Set(hashesOf(/^page B\/(?!.* of (msgpack|arrow))(json|JSON.stringify|gzip|br)/)),
    ).toEqual(new Set([referenceHash(PAGE_B, 'market')]));
  });

  it('joins pieces of both kinds into the same run', () => {
    expect(new Set(hashesOf(/^segments A\/joinRuns/)).size).toBe(1);
    expect(new Set(hashesOf(/^segments B\/joinRuns/)).size).toBe(1);
  });

  it('counts the size of the store', () => {
    const { counters } = document;
    expect(counters['store A/cells'].value).toBe(2 * 2 * PAGE_A.snapshots * PAGE_A.cells);
    const blocks = counters['store A/blocks'].value;
    expect(blocks).toBeGreaterThan(1);
    expect(blocks).toBeLessThanOrEqual(3.5);
    expect(counters['store A/database file'].value).toBeGreaterThan(1);
  });

  it('describes the machine without its name', () => {
    expect(document.machine).toMatchObject({ node: process.version });
    expect(JSON.stringify(document)).not.toContain(os.hostname());
  });

  it('gives the same hashes in another run', () => {
    const again = smoke('again', '--only', 'segments A,page B').document.cases;
    expect(Object.keys(again).length).toBeGreaterThan(12);
    for (const [name, { hash }] of Object.entries(again)) {
      expect([name, hash]).toEqual([name, document.cases[name].hash]);
    }
  });

  it('refuses a results file that cannot be written, before it measures', () => {
    const file = path.join(folder, 'a file');
    writeFileSync(file, '');
    for (const json of [path.join(file, 'latest.json'), folder]) {
      const words = ['--smoke', '--only', 'lp', '--json', json];
      const { status, stdout, stderr } = runProgram('.', words, { cwd: folder, env });
      expect([status, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^bench: --json: .* cannot be written: E/);
      expect(stderr).not.toContain('lp...');
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
