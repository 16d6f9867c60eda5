/** One run of the bench: its groups one after the other, the store and the server last. */
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { startPool, type ComputePool } from '../compute/pool.js';
import type { Store } from '../storage/store.js';
import type { BenchCase, CaseResult, Counter } from './case.js';
import { binningCases } from './cases/binning.js';
import { encodingCases } from './cases/encodings.js';
import { asOfS, httpCases, measureHttp } from './cases/http.js';
import { pageCases } from './cases/pages.js';
import { segmentCases } from './cases/segments.js';
import { stepCases } from './cases/steps.js';
import { BENCH_SEED, PAGE_A, PAGE_B, tokenHistory, type PageShape } from './data/pages.js';
import { startBenchServer } from './http/server.js';
import { machineFacts, revision } from './machine.js';
import { measureGroup, type Effort } from './measure.js';
import type { BenchOptions, Group } from './options.js';
import type { Report } from './report.js';
import { databaseBytes, fillStore, openStore, type StoreContents } from './store.js';

interface Pace extends Effort {
  /** Milliseconds that clients ask for, each kind of request. */
  httpMs: number;
  /** Tokens of the store. */
  tokens: number;
}

const FULL: Pace = { rounds: 5, turnMs: 110, warmups: 5, httpMs: 1300, tokens: 32 };
const SMOKE: Pace = { rounds: 2, turnMs: 0, warmups: 1, httpMs: 60, tokens: 2 };

/** What a run has found so far. */
interface Findings {
  cases: CaseResult[];
  counters: Counter[];
}

/**
 * Measures the groups that were asked for.
 * @param tell gets the name of each group as it begins
 * @throws Error where a case fails, or gives two answers
 */
export async function runBench(
  { smoke, groups }: BenchOptions,
  tell: (group: Group) => void,
): Promise<Report> {
  const machine = machineFacts();
  const began = performance.now();
  const pace = smoke ? SMOKE : FULL;
  const findings: Findings = { cases: [], counters: [] };
  for (const [group, makeCases] of kernelGroups()) {
    if (!groups.includes(group)) continue;
    tell(group);
    findings.cases.push(...(await measureGroup(makeCases(), pace)));
  }
  if (groups.includes('steps A') || groups.includes('http A')) {
    await inTemporaryFolder((directory) => runOnStore(directory, groups, pace, findings, tell));
  }
  const elapsedS = (performance.now() - began) / 1000;
  return { machine, revision: revision(), seed: BENCH_SEED, smoke, elapsedS, ...findings };
}

/** The groups that need no store, and what makes their cases. */
function kernelGroups(): [Group, () => BenchCase[]][] {
  const page = (shape: PageShape) => tokenHistory(shape, shape.snapshots, 0);
  const pageGroup = (shape: PageShape): BenchCase[] => {
    const history = page(shape);
    return [...pageCases(shape, history), ...encodingCases(shape, history)];
  };
  return [
    ['binning', () => binningCases(page(PAGE_A))],
    ['segments A', () => segmentCases(PAGE_A, page(PAGE_A))],
    ['page A', () => pageGroup(PAGE_A)],
    ['segments B', () => segmentCases(PAGE_B, page(PAGE_B))],
    ['page B', () => pageGroup(PAGE_B)],
  ];
}

async function runOnStore(
  directory: string,
  groups: readonly Group[],
  pace: Pace,
  { cases, counters }: Findings,
  tell: (group: Group) => void,
): Promise<void> {
  const large = path.join(directory, 'large');
  const { contents, key } = await makeStore(large, pace.tokens);
  counters.push(...(await sizes(contents)));
  if (groups.includes('steps A')) {
    tell('steps A');
    const small = path.join(directory, 'small');
    await makeStore(small, 1);
    cases.push(...(await measureSteps(large, small, pace)));
  }
  if (groups.includes('http A')) {
    tell('http A');
    const { results, memory } = await measureServer(contents, key, pace.httpMs);
    cases.push(...results);
    counters.push(...memory);
  }
}

/** Fills a store and closes it, so that what is measured later reads what lies in its file. */
function makeStore(
  directory: string,
  tokens: number,
): Promise<{ contents: StoreContents; key: string }> {
  return withStore(directory, async (store) => {
    const contents = await fillStore(store, PAGE_A, tokens);
    const unlimited = { requestsPerMinute: Infinity, monthlyQuota: Infinity };
    const { key } = await store.createKey({ tier: 'enterprise', name: 'bench', ...unlimited });
    return { contents, key };
  });
}

async function sizes({ directory, cells, blockBytes, tokens }: StoreContents): Promise<Counter[]> {
  const fileBytes = await databaseBytes(directory);
  return [
    { name: 'store A/cells', value: cells, unit: `cells of ${tokens} tokens` },
    { name: 'store A/blocks', value: blockBytes / cells, unit: 'bytes/cell' },
    { name: 'store A/database file', value: fileBytes / cells, unit: 'bytes/cell' },
  ];
}

function measureSteps(large: string, small: string, effort: Effort): Promise<CaseResult[]> {
  return withStore(large, (store) =>
    withStore(small, (other) =>
      withPool(async (pool) => measureGroup(await stepCases(PAGE_A, store, other, pool), effort)),
    ),
  );
}

async function withStore<T>(directory: string, body: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(directory);
  try {
    return await body(store);
  } finally {
    await store.close();
  }
}

async function measureServer(
  contents: StoreContents,
  key: string,
  forMs: number,
): Promise<{ results: CaseResult[]; memory: Counter[] }> {
  const server = await startBenchServer(contents.directory, asOfS(contents.shape));
  try {
    const results: CaseResult[] = [];
    for (const one of httpCases()) {
      results.push(await measureHttp(server, contents, one, key, forMs));
    }
    const value = server.residentMegabytes();
    const name = 'http A/server memory at the end';
    return { results, memory: value === null ? [] : [{ name, value, unit: 'MB resident' }] };
  } finally {
    await server.stop();
  }
}

async function withPool<T>(body: (pool: ComputePool) => Promise<T>): Promise<T> {
  const faults: Error[] = [];
  const pool = await startPool({ onError: (error) => faults.push(error) });
  try {
    return await body(pool);
  } finally {
    await pool.close();
    if (faults.length > 0) throw faults[0];
  }
}

async function inTemporaryFolder<T>(body: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'fathom-bench-'));
  // Also where the bench is broken off.
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  try {
    return await body(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
