/** The examples of docs/live.md, as a reader runs them: each prints that its subscription has begun. */
import { beforeAll, expect, it } from 'vitest';
import { EXAMPLE_MINTS } from '../../server/api/schemas.js';
import { newKey, serveHere } from '../support/cli.js';
import { demoMarket } from '../support/demo-market.js';
import { start } from '../support/processes.js';
import { hasProgram } from '../support/programs.js';
import { NOW_S } from '../support/service.js';
import { documentNamed } from './documents.js';

const examples = documentNamed('docs/live.md').blocks.filter(({ info }) =>
  ['sh run', 'python'].includes(info),
);
const PROGRAMS: Readonly<Record<string, { needs: string; command: [string, string] }>> = {
  'sh run': { needs: 'curl', command: ['sh', '-c'] },
  python: { needs: 'python3', command: ['python3', '-uc'] },
};
let env: Record<string, string>;
beforeAll(async () => {
  const directory = await demoMarket();
  const FATHOM_KEY = await newKey(directory);
  const { url } = await serveHere(directory, ['--as-of', String(NOW_S)]);
  env = { FATHOM_URL: url, FATHOM_KEY, TOKEN: EXAMPLE_MINTS[0] };
});

it('docs/live.md has an example in each', () => {
  expect(examples.map(({ info }) => info)).toEqual(['sh run', 'python']);
});

it.each(examples)("docs/live.md's example in $info follows a token", async ({ info, text }) => {
  const {
    needs,
    command: [program, flag],
  } = PROGRAMS[info];
  if (!hasProgram(needs)) return;
  // The shell is replaced, so that a signal reaches curl.
  const child = start(program, [flag, text.replace(/^curl/, 'exec curl')], { env });
  let printed = '';
  const ended = new Promise((resolve) => child.once('close', resolve));
  for await (const chunk of child.stdout ?? []) {
    printed += String(chunk);
    if (/subscribed[^]*snapshots/.test(printed)) break;
  }
  child.kill('SIGKILL');
  await ended;
  expect(printed).toMatch(/subscribed[^]*snapshots/);
});
