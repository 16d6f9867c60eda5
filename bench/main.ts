/** `npm run bench`: measures what pages, ingests and boards rest on; see docs/performance.md. */
import path from 'node:path';
import type { CaseResult } from './case.js';
import { BENCH_SEED } from './data/pages.js';
import { namesFlag, readBenchFlags } from './flags.js';
import { type Group, GROUPS, loadGroup } from './groups.js';
import { machineFacts, revision } from './machine.js';
import { measureGroup } from './measure.js';
import { reportProgress, runProgram } from './program.js';
import { tableOf, writeReport } from './report.js';

const USAGE = `npm run bench -- [--smoke] [--only GROUP,GROUP] [--json FILE]
  --smoke     every case a few times: shows that it works, not how fast
  --only      groups: ${GROUPS.join(', ')}
  --json FILE where the results go; default bench/results/latest.json`;

const FULL = { rounds: 5, turnMs: 110, warmups: 5, tokens: 32 };
const SMOKE = { rounds: 1, turnMs: 0, warmups: 1, tokens: 2 };

async function main(words: readonly string[]): Promise<void> {
  const { smoke, only, json } = readBenchFlags(words, {
    options: {
      smoke: { type: 'boolean', default: false },
      only: { type: 'string' },
      json: { type: 'string', default: path.join('bench', 'results', 'latest.json') },
    },
  }).values;
  const wanted = namesFlag('--only', only, GROUPS);
  const machine = machineFacts();
  const began = performance.now();
  const cases: CaseResult[] = [];
  for (const group of GROUPS.filter((one) => wanted.includes(one))) {
    reportProgress(group);
    cases.push(...(await measured(group, smoke ? SMOKE : FULL)));
  }
  const elapsedS = (performance.now() - began) / 1000;
  const report = { machine, revision: revision(), seed: BENCH_SEED, smoke, elapsedS, cases };
  process.stdout.write(`${tableOf(report)}\n`);
  await writeReport(report, path.resolve(json));
}

async function measured(group: Group, effort: typeof FULL): Promise<CaseResult[]> {
  const { cases, close } = await loadGroup(group, effort.tokens);
  try {
    return await measureGroup(cases, effort);
  } finally {
    await close();
  }
}

await runProgram('bench', USAGE, main);
