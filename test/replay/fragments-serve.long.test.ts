/** Fragments on disk with a whole server: restarts, settings, metrics, backups, deletions. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { FRAGMENT_FILES } from '../../storage/fragment-files.js';
import { fathom, newKey, serveHere, type Service, withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { rawReply } from '../support/raw-client.js';
import { settingsOf } from '../support/settings.js';
import { commitRows, MINT, snapshot } from '../support/stores.js';
import { becomes } from '../support/waiting.js';

const T = 1_794_600_000;
const directory = temporaryDirectory();
const data = path.join(directory, 'data');
const folder = path.join(data, 'fragments');
/** Of two segments. */
const page = `/replay/${MINT}?from=${T + 60 * 200}&to=${T + 60 * 320}`;
let key: string;

beforeAll(async () => {
  key = await newKey(data);
  await withStoreOf(data, (store) =>
    commitRows(
      store,
      Array.from({ length: 320 }, (_, i) => snapshot(T + 60 * i)),
    ),
  );
});

const start = (...words: string[]): Promise<Service> =>
  serveHere(data, ['--as-of', String(T + 90_000), ...words]);

async function metric(server: Service, name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')[1],
  );
}

it('serve the first page of a restarted server, byte for byte, and go with their data', async () => {
  const first = await start();
  await becomes(() => metric(first, 'fathom_fragments_disk_files'), 4);
  const names = readdirSync(folder);
  // In disk blocks.
  const bytes = names.reduce((sum, name) => {
    return sum + 4096 * Math.ceil((FRAGMENT_FILES.fileOf(name)?.bytes ?? NaN) / 4096);
  }, 0);
  const text = await (await first.get(page, key)).text();
  await first.stop();
  writeFileSync(path.join(folder, `${names[0]}.9.new`), 'x');

  const server = await start();
  const headers = { 'x-api-key': key, 'accept-encoding': 'gzip' };
  const { body } = await rawReply(`${server.url}/api/v1${page}`, headers);
  expect(zlib.gunzipSync(body).toString()).toBe(text);
  const served = async (source: string) => metric(server, `fathom_pages_total{source="${source}"}`);
  expect([
    await served('fragments'),
    await metric(server, 'fathom_fragments_disk_reads_total'),
  ]).toEqual([1, 2]);
  expect(await metric(server, 'fathom_fragments_disk_bytes')).toBe(bytes);
  expect(await metric(server, 'fathom_fragments_disk_failures_total')).toBe(0);
  await becomes(() => readdirSync(folder).sort(), names.sort());

  const copy = path.join(directory, 'copy');
  expect((await fathom(['backup', '--data', data, '--out', copy])).status).toBe(0);
  expect(readdirSync(copy)).not.toContain('fragments');
  expect((await fathom(['check', '--data', data])).status).toBe(0);
  expect(
    (await fathom(['prune', '--data', data, '--before', String(T + 86_400), '--yes'])).status,
  ).toBe(0);
  await becomes(() => readdirSync(folder), []);
  await server.stop();

  const without = await start('--fragments-disk-gib', '0');
  expect(existsSync(folder)).toBe(false);
  await without.stop();
});

it('are bounded on disk, in GiB', () => {
  const bytesOf = (gib: string) => settingsOf(['--fragments-disk-gib', gib]).fragmentsDiskBytes;
  expect([bytesOf('0.5'), bytesOf('0'), settingsOf([]).fragmentsDiskBytes]).toEqual([
    2 ** 29,
    0,
    2 ** 32,
  ]);
  for (const wrong of ['lots', '-1', '2000', '1e3']) {
    expect(() => bytesOf(wrong)).toThrow(
      `--fragments-disk-gib: expected a number of GiB from 0 to 1024, such as 4 or 0.5, not ${wrong}`,
    );
  }
});
