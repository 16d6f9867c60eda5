/** What a command warns of before it works: variables that none reads, and a data directory that only the server uses. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { loadAll } from '../../server/cli/commands.js';
import { unknownVariables } from '../../server/cli/variables.js';
import { fathom, fathomProcess, withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';

afterEach(() => {
  vi.unstubAllEnvs();
});

it('of no command is one unknown', async () => {
  const commands = (await loadAll()).map(({ command }) => command);
  const declared = commands.flatMap(({ flags, environment = {} }) => [
    ...Object.values(flags).flatMap(({ variable }) => variable ?? []),
    ...Object.keys(environment),
  ]);
  expect(declared).toEqual(expect.arrayContaining(['FATHOM_PORT', 'FATHOM_URL', 'FATHOM_CONFIG']));
  const before = await unknownVariables({});
  for (const name of ['FATHOM_DEBUG', ...declared]) vi.stubEnv(name, 'x');
  for (const { flags } of commands) expect(await unknownVariables(flags)).toEqual(before);
});

it('get a warning with the closest known name, and change nothing else', async () => {
  const data = temporaryDirectory();
  await withStoreOf(data, () => Promise.resolve());
  const run = (env: Record<string, string>) => fathom(['queue', '--json', '--data', data], env);
  const plain = await run({ FATHOM_PORT: '1', FATHOM_EMPTY: '', FATHOMLESS: '1' });
  expect(plain).toEqual({ status: 0, stdout: '[]\n', stderr: '' });
  const env = { FATHOM_MEMROY_MIB: '512', fathom_url: 'x', FATHOM_BACKUP_HOST: 'x' };
  expect(await run(env)).toEqual({
    ...plain,
    stderr: `warning: FATHOM_MEMROY_MIB: no command reads this variable; did you mean FATHOM_MEMORY_MIB?
warning: fathom_url: no command reads this variable; did you mean FATHOM_URL?
warning: FATHOM_BACKUP_HOST: no command reads this variable
`,
  });
});

it('a data directory of the config file gets a warning where it is not used', async () => {
  // Not here, where `npm start` makes a store.
  const cwd = temporaryDirectory();
  const file = path.join(cwd, 'config.json');
  const queue = (words: string[], env: Record<string, string>) =>
    fathomProcess(['queue', ...words], { cwd, env });
  const warning = async (data: unknown, words: string[] = [], env = {}): Promise<string> => {
    writeFileSync(file, JSON.stringify({ data, prot: 1 }));
    const { status, stderr } = await queue(words, { FATHOM_CONFIG: file, ...env });
    expect(status).toBe(1);
    const [first, ...more] = stderr.trimEnd().split('\n');
    expect(more.at(-1) ?? first).toContain('holds no store; is --data right?');
    return more.length === 0 ? '' : first;
  };
  const home = path.join(cwd, 'data');
  expect(await warning('a store')).toBe(
    `warning: this command uses ${home}, but serve uses a store (${file}: data): add --data 'a store' to use that`,
  );
  expect(await warning('data')).toBe('');
  expect(await warning(true)).toBe('');
  expect(await warning('store', ['--data', 'nowhere'])).toBe('');
  expect(await warning('store', [], { FATHOM_DATA: 'nowhere' })).toBe('');
  expect(await queue([], { FATHOM_CONFIG: 'nowhere' })).toMatchObject({ status: 1 });
});
