/** One run of the bench: its groups one after the other, the store and the server last. */
import type { CaseResult, Counter } from './case.js';
import {
  COLD,
  NO_FRAGMENTS,
  asOfS,
  columnHttpCases,
  fragmentHttpCases,
  httpCases,
  measureHttp,
  type HttpEffort,
} from './cases/http.js';
import { BENCH_SEED, PAGE_A } from './data/pages.js';
import { temporaryFolder } from './folder.js';
import { LOADED_GROUPS, loadGroup } from './groups.js';
import { startBenchServer } from './http/server.js';
import { machineFacts, revision } from './machine.js';
import { measureGroup, type Effort } from './measure.js';
import type { BenchOptions, Group } from './options.js';
import type { Report } from './report.js';
import { databaseBytes, makeStore, type StoreContents } from './store.js';

interface Pace extends Effort, HttpEffort {
  smoke: boolean;
  /** Tokens of the store. */
  tokens: number;
}

const FULL: Pace = {
  smoke: false,
  rounds: 5,
  turnMs: 110,
  warmups: 5,
  tokens: 32,
  clients: [1, 8],
  httpMs: 1300,
  warmReplies: 256,
  blockPages: 16,
};
const SMOKE: Pace = {
  smoke: true,
  rounds: 1,
  turnMs: 0,
  warmups: 1,
  tokens: 2,
  clients: [1, 2],
  httpMs: 5,
  warmReplies: 4,
  blockPages: 2,
};

/** The results so far. */
interface Findings {
  cases: CaseResult[];
  counters: Counter[];
}

/**
 * Measures the groups that were requested.
 * @param onGroup called with the name of each group as it begins
 * @throws Error if a case fails, or gives different results
 */
export async function runBench(
  { smoke, groups }: BenchOptions,
  onGroup: (group: Group) => void,
): Promise<Report> {
  const machine = machineFacts();
  const began = performance.now();
  const pace = smoke ? SMOKE : FULL;
  const findings: Findings = { cases: [], counters: [] };
  for (const group of LOADED_GROUPS) {
    if (!groups.includes(group)) continue;
    onGroup(group);
    const loaded = await loadGroup(group, pace.tokens);
    for (const { part, reason } of loaded.failures ?? []) {
      throw new Error(`${group}/${part}: ${reason}`);
    }
    findings.cases.push(...(await measureGroup(loaded.cases, pace)));
    await loaded.close();
  }
  if (groups.includes('http A')) {
    onGroup('http A');
    await runServer(pace, findings);
  }
  const elapsedS = (performance.now() - began) / 1000;
  return { machine, revision: revision(), seed: BENCH_SEED, smoke, elapsedS, ...findings };
}

/** Measures pages over HTTP, and the size of their store. */
async function runServer(pace: Pace, { cases, counters }: Findings): Promise<void> {
  const folder = temporaryFolder();
  try {
    const contents = await makeStore(folder.path, PAGE_A, pace.tokens);
    counters.push(...(await sizes(contents)));
    const { results, memory } = await measureServer(contents, pace);
    cases.push(...results);
    counters.push(...memory);
  } finally {
    await folder.remove();
  }
}

async function sizes({ directory, cells, blockBytes, tokens }: StoreContents): Promise<Counter[]> {
  const fileBytes = await databaseBytes(directory);
  return [
    { name: 'store A/cells', value: cells, unit: `cells of ${tokens} tokens` },
    { name: 'store A/blocks', value: blockBytes / cells, unit: 'bytes/cell' },
    { name: 'store A/database file', value: fileBytes / cells, unit: 'bytes/cell' },
  ];
}

async function measureServer(
  contents: StoreContents,
  effort: Pace,
): Promise<{ results: CaseResult[]; memory: Counter[] }> {
  const results: CaseResult[] = [];
  const memory: Counter[] = [];
  const servers = [
    { cases: httpCases(effort.clients), flags: COLD, name: 'http A/server memory at the end' },
    { cases: columnHttpCases(), flags: NO_FRAGMENTS, name: 'http A/server memory with columns' },
    {
      cases: fragmentHttpCases(effort.clients),
      flags: [],
      name: 'http A/server memory with fragments',
    },
  ];
  for (const { cases, flags, name } of servers) {
    const server = await startBenchServer(contents.directory, asOfS(contents.shape), {
      smoke: effort.smoke,
      flags,
    });
    try {
      for (const one of cases) results.push(await measureHttp(server, contents, one, effort));
      const value = server.residentMegabytes();
      if (value !== null) memory.push({ name, value, unit: 'MB resident' });
    } finally {
      await server.stop();
    }
  }
  return { results, memory };
}
