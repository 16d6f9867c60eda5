import { describe, expect, it } from 'vitest';
import { runProgram } from './program.js';

type Program = [script: string, folder: string, wrong: [words: string[], says: string][]];
const PROGRAMS: Program[] = [
  [
    'bench',
    '.',
    [
      [['--only', 'nothing'], '--only: expected any of'],
      [['page A'], 'page A'],
    ],
  ],
  [
    'bench:compare',
    'compare',
    [
      [['HEAD', 'again'], 'expected one REV'],
      [['HEAD', '--turns', '0'], '--turns'],
    ],
  ],
  [
    'bench:growth',
    'growth',
    [
      [['--segments', '0'], '--segments'],
      [['--only', 'nothing'], '--only'],
      [['again'], 'again'],
    ],
  ],
  [
    ...(['bench:http', 'http'] as const),
    [
      [['--only', 'nothing'], "no row's name begins with 'nothing': pages/cold"],
      [['--rate', '0'], '--rate: expected a whole number from 1 to 100000'],
      [['--http-engine', 'x'], 'uws or node'],
      [['--bots-core', 'last'], '--bots-core: expected a'],
    ],
  ],
  [
    ...(['bench:ingest', 'ingest'] as const),
    [
      [['--only', 'cells'], '--only: expected any of cells.parquet'],
      [['--runs', 'x'], '--runs'],
      [['--serving', '--nats'], 'not both'],
    ],
  ],
  ['bench:live', 'live', [[['--tokens', '3'], '--tokens: expected any of 1, 10, 20, 50, 100']]],
  [
    ...(['bench:peers', 'peers'] as const),
    [
      [['--only', 'nothing'], '--only: expected any of duckdb, postgres, clickhouse, parquet'],
      [['--tokens', '0'], '--tokens: expected a whole number from 1 to 64'],
      [['--real', '/no/such/folder'], "--real: there is no folder '/no/such/folder'"],
    ],
  ],
];

describe.each(PROGRAMS)('npm run %s', (script, folder, wrong) => {
  it('prints its usage on request, and with status 2 for wrong flags', () => {
    const { status, stdout, stderr } = runProgram(folder, ['--help']);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(new RegExp(`^npm run ${script} -- [^]*--json`));
    for (const [words, says] of [...wrong, [['--fast'], "Unknown option '--fast'"]] as const) {
      const refused = runProgram(folder, words);
      expect([words, refused.status, refused.stdout]).toEqual([words, 2, '']);
      expect(refused.stderr).toContain(says);
      expect(refused.stderr).toContain(stdout);
    }
  });
});
