/** Whatever opens a file, a DuckDB connection or a port closes it, on every path: the collector closes nothing. */
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/folders.js';
import { run } from '../support/processes.js';

interface LeftOpen {
  leaves: Record<string, string[]>;
  collected: string[];
  warnings: string[];
}

describe.runIf(process.platform === 'linux')('What was opened, used, failed and closed', () => {
  const folder = temporaryDirectory();
  let report: LeftOpen;
  beforeAll(async () => {
    const script = path.resolve('test/support/left-open.mjs');
    const ended = await run(process.execPath, ['--expose-gc', script, folder]);
    expect([ended.stderr, ended.status]).toEqual(['', 0]);
    report = JSON.parse(ended.stdout) as LeftOpen;
  });

  it('leaves no file, socket, connection or statement open', () => {
    expect(Object.keys(report.leaves)).toHaveLength(11);
    expect(Object.entries(report.leaves).filter(([, left]) => left.length > 0)).toEqual([]);
  });

  it('leaves nothing for the collector to close', () => {
    expect([report.collected, report.warnings]).toEqual([[], []]);
  });
});
