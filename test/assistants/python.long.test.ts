/** `fathom mcp` with an independent client: the Python package `mcp`, over both transports and both handshakes. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { MAX_ANSWER_CHARS } from '../../server/assistants/answer.js';
import { newKey, serveHere } from '../support/cli.js';
import type { Json } from '../support/conformance.js';
import { demoMarket } from '../support/demo-market.js';
import { temporaryDirectory } from '../support/folders.js';
import { MAIN, run, Script } from '../support/processes.js';
import { NOW_S } from '../support/service.js';

const PACKAGE = 'mcp==2.3.0';
const SOL = 'mainchain:So11111111111111111111111111111111111111112';

/** The interpreter of a new environment with the package; a text: why there is none. */
function python(): { program: string } | string {
  const folder = temporaryDirectory();
  const made = spawnSync('python3', ['-m', 'venv', folder], { encoding: 'utf8' });
  if (made.status !== 0) return `no python3 with venv: ${made.error?.message ?? made.stderr}`;
  const program = path.join(folder, 'bin/python');
  const words = ['-m', 'pip', 'install', '--quiet', '--retries', '1', PACKAGE];
  const installed = spawnSync(program, words, { encoding: 'utf8' });
  return installed.status === 0
    ? { program }
    : `pip: ${installed.stderr.trim().split('\n').at(-1)}`;
}

interface Result {
  text: string;
  data: Json | null;
  error: 'tool' | 'protocol' | null;
}

interface Printed {
  tools: { name: string; input: object; output: object; read_only: boolean }[];
  stdio: Result[];
  http: [Result[], Result[]];
}

/** A call of every tool. */
const GOOD: [string, object][] = [
  ['find_tokens', { query: 'B' }],
  ['token_score', { token: SOL }],
  ['token_score', { token: 'BARN', at: '-2h' }],
  ['token_depth', { token: 'BARN' }],
  ['token_depth', { token: SOL, at: '-1d', pct: [0.5, 25], venue_pct: 5 }],
  ['slippage', { token: SOL, side: 'sell', usd: [100_000], at: NOW_S - 7200 }],
  ['depth_series', { token: SOL, from: '-6d', step: '1h', score: true }],
  ['compare_tokens', { tokens: [SOL, 'BARN'] }],
  ['board', { board: 'top_scores' }],
  ['board', { board: 'dca_buying' }],
  ['board', { board: 'dca_selling' }],
  ['board', { board: 'lp_fee_density' }],
  ['board', { board: 'hot_dlmm_pools' }],
  ['limit_orders', { token: SOL, within_pct: 99, limit: 100 }],
  ['dca_orders', { token: SOL, limit: 50 }],
];
const BAD: [string, object, RegExp][] = [
  ['token_score', { token: 'BARNN' }, /no token has the symbol 'BARNN'; nearest: .*BARN/],
  ['token_score', { token: 'sol' }, /nearest: .*SOL/],
  ['slippage', { token: SOL }, /^side: expected a value; it is missing\.$/],
  [
    'slippage',
    { token: SOL, side: 'sell', usd: ['many'] },
    /^usd\[0\]: expected a number; was 'many'\.$/,
  ],
  ['depth_series', { token: SOL, from: '2020-01-01', to: '2020-01-02' }, /365 days/],
];

const found = python();
if (typeof found === 'string') console.log(`Tests with Python's mcp are skipped: ${found}`);

it.skipIf(typeof found === 'string').each(['auto', 'legacy'])(
  "Python's client gets every answer (%s)",
  async (mode) => {
    const { program } = found as { program: string };
    const directory = await demoMarket();
    const key = await newKey(directory);
    const server = await serveHere(directory, ['--as-of', String(NOW_S)]);
    const env = { FATHOM_URL: server.url, FATHOM_KEY: key, PATH: process.env.PATH ?? '' };
    const listening = Script.fathom(['mcp', '--http', '0'], env);
    const [, http] = await listening.line(/serves assistants at (http:\S+)/);
    const calls = [...GOOD, ...BAD.map(([tool, given]) => [tool, given])];
    const stdio = { command: process.execPath, args: [MAIN, 'mcp'], env };
    const input = JSON.stringify({ stdio, http, mode, calls: [...calls, ['no_tool', {}]] });
    const { status, stdout, stderr } = await run(
      program,
      [path.resolve('test/assistants/assistant.py')],
      { input },
    );
    expect([status, stderr.includes('Traceback')], stderr).toEqual([0, false]);
    // What the process wrote to stdout was the protocol alone: the client warns of any other line.
    expect(stderr).not.toMatch(/parse|invalid json/i);
    const printed = JSON.parse(stdout) as Printed;
    const ajv = new Ajv2020({ strict: false });
    const schemas = new Map(printed.tools.map(({ name, output }) => [name, ajv.compile(output)]));
    expect(schemas.size).toBe(9);
    expect(printed.tools.every(({ read_only }) => read_only)).toBe(true);
    expect(new Set(GOOD.map(([tool]) => tool))).toEqual(new Set(schemas.keys()));
    for (const [i, [tool]] of GOOD.entries()) {
      const { text, data, error } = printed.stdio[i];
      expect([tool, error, text], text).toEqual([tool, null, expect.stringMatching(/./)]);
      const fits = schemas.get(tool);
      expect([fits?.(data), fits?.errors ?? null], tool).toEqual([true, null]);
      expect(text.length).toBeLessThanOrEqual(MAX_ANSWER_CHARS);
      expect(JSON.stringify(data).length).toBeLessThanOrEqual(MAX_ANSWER_CHARS);
      if (tool === 'limit_orders')
        expect(text).toMatch(/The first \d+ of \d+ orders are shown; for less/);
    }
    for (const [i, [tool, given, words]] of BAD.entries()) {
      const { text, error } = printed.stdio[GOOD.length + i];
      expect([tool, given, error, text]).toEqual([
        tool,
        given,
        'tool',
        expect.stringMatching(words),
      ]);
    }
    expect(printed.stdio.at(-1)?.error).not.toBeNull();
    // Two assistants at once over HTTP got the same, but for the age of a snapshot.
    const withoutAge = (results: Result[]) =>
      results.map(({ text, ...rest }) => ({ ...rest, text: text.replace(/\(\d+ \w+ ago\)/g, '') }));
    for (const results of printed.http)
      expect(withoutAge(results)).toEqual(withoutAge(printed.stdio));
    await listening.stop();
    await server.stop();
  },
);
