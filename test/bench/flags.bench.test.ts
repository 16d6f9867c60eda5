import { describe, expect, it } from 'vitest';
import { readClusterOptions } from '../../bench/cluster/options.js';
import { readCompareOptions } from '../../bench/compare/options.js';
import { BenchUsageError } from '../../bench/errors.js';
import { readGrowthOptions } from '../../bench/growth/options.js';
import { INPUT_NAMES } from '../../bench/ingest/inputs.js';
import { readIngestOptions } from '../../bench/ingest/options.js';
import { readHttpOptions } from '../../bench/load/options.js';
import { GROUPS, readOptions } from '../../bench/options.js';
import { readPeersOptions } from '../../bench/peers/options.js';
import { readSoakOptions } from '../../bench/soak/options.js';
import { runProgram } from './program.js';

const CLICKHOUSE = '--clickhouse: expected the address of its HTTP';
type Program = [
  script: string,
  folder: string,
  read: (words: string[]) => unknown,
  wrong: [words: string[], says?: string][],
];
const PROGRAMS: Program[] = [
  ['bench', '.', readOptions, [[['--only', 'nothing']], [['--only', '']], [['page A']]]],
  ['bench:cluster', 'cluster', readClusterOptions, [[['--rounds', '0']]]],
  [
    ...(['bench:compare', 'compare', readCompareOptions] as const),
    [[[]], [['HEAD', 'again']], [['HEAD', '--turns', '3']], [['HEAD', '--only', 'nothing']]],
  ],
  [
    ...(['bench:growth', 'growth', readGrowthOptions] as const),
    [
      [['--segments', '0']],
      [['--only', 'nothing']],
      [['--cells', '0']],
      [['--tokens', 'all']],
      [['again']],
    ],
  ],
  [
    ...(['bench:http', 'load', readHttpOptions] as const),
    [
      [['--only', 'nothing']],
      [['--rate', '0']],
      [['--http-engine', 'x'], 'uws or node'],
      [['--bots-core', 'last'], '--bots-core: expected a'],
      [['again']],
    ],
  ],
  [
    ...(['bench:ingest', 'ingest', readIngestOptions] as const),
    [[['--only', 'cells']], [['--cells', '0']], [['--runs', 'x']], [['more']]],
  ],
  [
    ...(['bench:peers', 'peers', readPeersOptions] as const),
    [
      [['--only', 'nothing'], '--only: expected any of duckdb, postgres, clickhouse, parquet'],
      [['--tokens', '0'], '--tokens: expected a whole number from 1 to 64'],
      [['--pages', 'unreal'], '--pages: expected any of generated, books, pools'],
      [['--real', '/no/such/folder'], "--real: there is no folder '/no/such/folder'"],
      [['--clickhouse', '127.0.0.1:8123'], CLICKHOUSE],
      [['--clickhouse', 'https://127.0.0.1:8123'], CLICKHOUSE],
      [['--clickhouse', 'http://127.0.0.1:8123/x'], CLICKHOUSE],
    ],
  ],
  [
    ...(['soak', 'soak', readSoakOptions] as const),
    [[['--minutes', '0']], [['--minutes', 'x']], [['--memory-mib', '1']], [['more']]],
  ],
];

describe.each(PROGRAMS)('npm run %s', (script, folder, read, wrong) => {
  it.each(wrong)('refuses %j', (words, says: string | RegExp = /./) => {
    expect(() => read(words)).toThrow(BenchUsageError);
    expect(() => read(words)).toThrow(says);
  });

  it('prints its usage on request, and with status 2 for an unknown flag', () => {
    const { status, stdout, stderr } = runProgram(folder, ['--help']);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(new RegExp(`^npm run ${script} -- [^]*--json`));
    const refused = runProgram(folder, ['--fast']);
    expect([refused.status, refused.stdout]).toEqual([2, '']);
    expect(refused.stderr).toMatch(/^\S+: Unknown option '--fast'/);
    expect(refused.stderr).toContain(stdout);
  });
});

it('flags have defaults', () => {
  expect(readOptions([])).toMatchObject({ smoke: false, groups: GROUPS });
  const { smoke, groups } = readOptions(['--smoke', '--only', 'page A, http A']);
  expect([smoke, groups]).toEqual([true, ['page A', 'http A']]);
  expect(readSoakOptions([])).toMatchObject({ forMs: 600_000, memoryMib: 2048, smoke: false });
  expect(readIngestOptions(['--smoke'])).toMatchObject({ names: INPUT_NAMES, runs: 1 });
  expect(readClusterOptions(['--seconds', '2']).load.forMs).toBe(2000);
});
