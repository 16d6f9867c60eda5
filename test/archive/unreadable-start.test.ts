/** An archive that cannot be read, or is not where it is said to be: what a server says, and where the store reads later. */
import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { DAY_S } from '../../compute/time.js';
import { fathom, newKey, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { archiveIn, commitRows, MINT, openStore, orca, snapshot } from '../support/stores.js';
import { becomes, eventually } from '../support/waiting.js';
import { T0 } from './days.js';

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

const NOW = T0 + 9 * DAY_S;
const dayOf = (day: number) => snapshot(T0 + day * DAY_S, [orca([[3, 0, 9]])]);
const urlOf = (folder: string): string => pathToFileURL(folder).href;

/** A store with two archived days in a folder, and one that is due. */
async function archivedStore(): Promise<{ data: string; objects: string }> {
  const data = path.join(temporaryDirectory(), 'data');
  const objects = temporaryDirectory();
  const store = await openStore(data, { archive: archiveIn(objects, () => NOW) });
  await commitRows(store, [0, 1, 2].map(dayOf));
  while ((await store.archiveNext(false)) !== null);
  await commitRows(store, [dayOf(3)]);
  await store.close();
  return { data, objects };
}

async function placeOf(data: string): Promise<string | null> {
  const store = await openStore(data);
  const { place } = await store.archiveStatus();
  await store.close();
  return place;
}

it('A place is remembered once it shows the newest object, and used for nothing before', async () => {
  const { data, objects } = await archivedStore();
  const other = temporaryDirectory();
  const missing = path.join(other, 'typo');
  for (const folder of [other, missing]) {
    const place = { ...archiveIn(other, () => NOW).place, url: urlOf(folder) };
    const store = await openStore(data, { archive: { ...archiveIn(other, () => NOW), place } });
    const works = [
      () => store.archiveNext(true),
      () => store.collectObjects(null, true),
      () => store.sweepObjects(null),
    ];
    for (const work of works) {
      await expect(work()).rejects.toThrow(
        `copy the objects of ${urlOf(objects)} there, or give that place`,
      );
    }
    await store.close();
  }
  expect(readdirSync(other)).toEqual([]);
  expect(await placeOf(data)).toBe(objects);

  cpSync(objects, other, { recursive: true });
  const store = await openStore(data, { archive: archiveIn(other, () => NOW) });
  // A look is not remembered.
  expect(await store.archiveProblem()).toBeNull();
  await store.close();
  expect(await placeOf(data)).toBe(objects);
  const moved = await openStore(data, { archive: archiveIn(other, () => NOW) });
  expect(await moved.archiveNext(true)).toMatchObject({ dayS: T0 + 2 * DAY_S, failure: null });
  await moved.close();
  expect(await placeOf(data)).toBe(other);
});

it('A store that names no object takes any place', async () => {
  const data = path.join(temporaryDirectory(), 'data');
  for (const folder of [temporaryDirectory(), temporaryDirectory()]) {
    const store = await openStore(data, { archive: archiveIn(folder, () => NOW) });
    expect(await store.archiveNext(true)).toBeNull();
    await store.close();
    expect(await placeOf(data)).toBe(folder);
  }
});

it('A mistyped place ends `archive run`, and is a warning of a server that goes on', async () => {
  const { data, objects } = await archivedStore();
  const key = await newKey(data);
  const typo = path.join(temporaryDirectory(), 'typo');
  const flags = ['--archive-url', urlOf(typo), '--archive-after', '1h'];
  const ran = await fathom(['archive', 'run', '--data', data, ...flags]);
  expect([ran.status, ran.stderr]).toEqual([
    1,
    expect.stringContaining(`copy the objects of ${urlOf(objects)} there, or give that place`),
  ]);

  mkdirSync(typo);
  const words = ['--as-of', String(NOW)];
  const mistaken = await serveHere(data, [...words, ...flags]);
  await eventually('it is said', () => {
    const log = mistaken.logged();
    return log.includes('the archive cannot be read') && log.includes('or give that place');
  });
  const recent = `/replay/${MINT}?from=${T0 + 3 * DAY_S}&to=${NOW}`;
  expect((await mistaken.get(recent, key)).status).toBe(200);
  await mistaken.stop();
  expect(readdirSync(typo)).toEqual([]);

  const server = await serveHere(data, words);
  expect((await server.get(`/replay/${MINT}?from=${T0}&to=${NOW}`, key)).status).toBe(200);
  await server.stop();
});

it.each([
  [[], true],
  [['--archive-cache-gib', '0'], false],
])('A server reads a remembered archive with %j; it keeps files: %s', async (more, keeps) => {
  const { data } = await archivedStore();
  const key = await newKey(data);
  const words = ['--as-of', String(NOW), '--blocks-memory-mib', '0', ...more];
  const server = await serveHere(data, words);
  const keptAny = async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return Number(/^fathom_archive_disk_files (.*)$/m.exec(text)?.[1]) > 0;
  };
  const history = `/replay/${MINT}?from=${T0}&to=${NOW}&venues=orca`;
  expect((await server.get(history, key)).status).toBe(200);
  await becomes(keptAny, keeps);
  await server.stop();
});
