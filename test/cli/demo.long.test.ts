/** The demo market's command: it only uses a directory without other data. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { greeting } from '../../server/cli/commands/start.js';
import { writeMarker } from '../../demo/fill.js';
import { fathom, fathomProcess, newKey, withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { Script } from '../support/processes.js';
import { becomes } from '../support/waiting.js';

const SEED = 7;
const UNTIL = 1_794_600_000;
const directory = temporaryDirectory();

it('npm start prints the documentation, how to stop, what to paste, and last the address of the explorer', () => {
  const lines = greeting('http://127.0.0.1:8080', 'fathom_k', 'my data', true);
  expect(lines).toEqual([
    'Docs http://127.0.0.1:8080/docs',
    "Stop Ctrl-C. To start over with a new market, then: rm -r 'my data'",
    // While the market is still being filled, it shows less.
    expect.stringMatching(/^Note The history fills in over the next seconds/),
    '',
    '# For the commands of the documents, paste this into another terminal:',
    'export FATHOM_URL=http://127.0.0.1:8080',
    'export FATHOM_KEY=fathom_k',
    expect.stringMatching(/^export TOKEN=\w+$/),
    'curl -H "x-api-key: $FATHOM_KEY" "$FATHOM_URL/api/v1/slippage/$TOKEN?side=sell&usd=500000"',
    '',
    'Open http://127.0.0.1:8080/#key=fathom_k&remember',
  ]);
  const filled = greeting('http://127.0.0.1:8080', 'fathom_k', 'data', false);
  expect(filled[1]).toMatch(/ rm -r data$/);
  expect(filled.slice(2)).toEqual(lines.slice(3));
});

it('what npm start prints to paste asks the started server', async () => {
  const data = path.join(directory, 'pasted');
  const started = Script.fathom(['start', '--port', '0', '--data', data]);
  await started.line(/^Open /);
  const from = started.printed.findIndex((line) => line.startsWith('# For the commands'));
  const block = started.printed.slice(from, started.printed.indexOf('', from)).join('\n');
  // On a busy machine the market has no prices yet.
  await becomes(async () => {
    const { stdout } = await promisify(execFile)('sh', ['-c', block]);
    const { side, quotes } = JSON.parse(stdout) as { side: string; quotes: { usd: number }[] };
    return [side, ...quotes.map(({ usd }) => usd)];
  }, ['sell', 500_000]);
  await started.stop();
});

it('what npm start starts ends with it, even if it is killed', async () => {
  const data = path.join(directory, 'started');
  const started = Script.fathom(['start', '--port', '0', '--data', data]);
  await started.line(/^Open /);
  // Its output stays open for as long as the collector, which shares it, runs.
  await started.kill();
});

describe('fathom demo', () => {
  const own = path.join(directory, 'own');
  beforeAll(async () => {
    await newKey(own);
  });

  it('refuses a directory with data', async () => {
    const file = path.join(directory, 'token.csv');
    writeFileSync(file, 'chain,address\nmainchain,So11111111111111111111111111111111111111112\n');
    const data = path.join(directory, 'taken');
    expect(await fathom(['ingest', 'tokens', file, '--data', data])).toMatchObject({ status: 0 });
    for (const live of [[], ['--live']]) {
      const ended = await fathom(['demo', ...live, '--data', data, '--json']);
      const error = `${data} is not empty: the demo market needs an empty data directory`;
      expect([ended.status, ended.stderr]).toEqual([1, `${error}\n`]);
      expect(JSON.parse(ended.stdout)).toMatchObject({ error });
      expect(existsSync(path.join(data, 'demo.json'))).toBe(false);
    }
  });

  it('says what is wrong with its flags', async () => {
    const ended = await fathomProcess(['demo', '--until', 'soon', '--data', own]);
    expect([ended.status, ended.stdout]).toEqual([2, '']);
    expect(ended.stderr).toMatch(/^fathom: --until: /);
    await withStoreOf(own, async (store) => expect((await store.summary()).tokens).toBe(0));
  });

  it('reports a damaged marker', async () => {
    const data = path.join(directory, 'marked');
    await newKey(data);
    await writeMarker(data, { seed: SEED, untilS: UNTIL, filled: true });
    const marker = path.join(data, 'demo.json');
    writeFileSync(marker, readFileSync(marker, 'utf8').slice(0, 9));
    const ended = await fathom(['demo', '--live', '--data', data]);
    expect([ended.status, ended.stderr]).toEqual([1, `${marker}: expected the demo's marker\n`]);
  });
});
