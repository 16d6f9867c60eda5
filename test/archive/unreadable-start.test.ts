/** What a server says at its start of an archive that it cannot read. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { fathom, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { becomes, eventually } from '../support/waiting.js';

it('is a warning that names the folder, and what /readyz has until it can be read', async () => {
  const data = path.join(temporaryDirectory(), 'data');
  const folder = path.join(temporaryDirectory(), 'not here');
  const server = await serveHere(data, ['--archive-url', pathToFileURL(folder).href]);
  const warned = () => server.logged().includes('the archive cannot be read');
  await eventually('it is said', warned);
  const line = server
    .logged()
    .split('\n')
    .find((text) => text.includes('cannot be read'));
  expect(JSON.parse(line ?? 'null')).toMatchObject({
    level: 'warn',
    msg: 'the archive cannot be read',
    cause: `the archive in ${folder} cannot read owner: the folder does not exist`,
  });
  const state = async () => {
    const reply = await fetch(`${server.url}/readyz`);
    return [reply.status, ((await reply.json()) as { archive?: string }).archive];
  };
  await becomes(state, [200, 'unreadable']);
  mkdirSync(folder);
  expect(await fathom(['archive', 'status', '--data', data])).toMatchObject({ status: 0 });
  expect(await state()).toEqual([200, 'ok']);
});
