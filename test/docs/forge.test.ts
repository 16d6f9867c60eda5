/** The workflow of the public forge: it runs the project's own checks, safely, on each version of Node. */
import { parseYaml } from '@redocly/openapi-core';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { hasProgram } from '../support/programs.js';

const FILE = '.github/workflows/ci.yml';
const text = readFileSync(FILE, 'utf8');

interface Step {
  uses?: string;
  with?: Record<string, unknown>;
  run?: string;
}
interface Job {
  'timeout-minutes'?: number;
  permissions?: unknown;
  strategy?: { matrix: { node: string[] } };
  steps: Step[];
}
const workflow = parseYaml(text) as {
  on: Record<string, unknown>;
  permissions: unknown;
  jobs: Record<string, Job>;
};
const jobs = Object.values(workflow.jobs);
const steps = jobs.flatMap((job) => job.steps);

describe(FILE, () => {
  it('runs .ci/run on each version of Node that the program supports', () => {
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      engines: { node: string };
    };
    const supported = [...engines.node.matchAll(/\^(\d+)\./g)].map(([, major]) => major);
    expect(workflow.jobs.checks.strategy?.matrix.node).toEqual(supported);
    expect(workflow.jobs.checks.steps.map(({ run }) => run)).toContain('bash .ci/run');
  });

  it('may only read, holds no credentials, and ends', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    // This one would run a stranger's change with the repository's rights.
    expect(Object.keys(workflow.on)).not.toContain('pull_request_target');
    for (const job of jobs) {
      expect(job.permissions).toBeUndefined();
      expect(job['timeout-minutes']).toBeGreaterThan(0);
    }
    const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'));
    expect(checkouts).toHaveLength(jobs.length);
    for (const step of checkouts) expect(step.with).toMatchObject({ 'persist-credentials': false });
    expect(text).not.toContain('secrets.');
  });

  it('names each action by a commit, beside its version', () => {
    const lines = text.split('\n').filter((line) => line.includes('uses:'));
    expect(lines).toHaveLength(steps.filter(({ uses }) => uses).length);
    for (const line of lines) {
      expect(line).toMatch(/uses: actions\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    }
  });

  it.skipIf(!hasProgram('actionlint'))('satisfies actionlint', () => {
    const { status, stdout, stderr } = spawnSync('actionlint', [FILE], { encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  });
});
