/** `fathom check --archive` reads objects from their place, whatever the store keeps of them: beside a server, and alone. */
import { readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { DAY_S } from '../../compute/time.js';
import { fathom, serveHere } from '../support/cli.js';
import { atEnd, temporaryDirectory } from '../support/folders.js';
import { S3_KEY, S3Server } from '../support/s3-server.js';
import { commitRows, MINT, openStore, orca, snapshot } from '../support/stores.js';
import { becomes } from '../support/waiting.js';
import { T0 } from './days.js';

const DAYS = 4;
const NOW = T0 + DAYS * DAY_S + 7200;
const DATES = ['2026-11-07', '2026-11-08', '2026-11-09', '2026-11-10'];

/** Where objects are, and what can happen to them there. */
interface Place {
  url: string;
  flags: readonly string[];
  /** The keys below the place, in order. */
  keys(): string[];
  bytes(key: string): Buffer;
  /** @param bytes null: the object goes */
  put(key: string, bytes: Buffer | null): void;
  /** The folder or bucket itself goes, or is back. */
  lose(isLost: boolean): void;
  /** What is said of a place that is gone. */
  lost: string;
}

function folder(): Promise<Place> {
  const root = temporaryDirectory();
  const file = (key: string) => path.join(root, key);
  return Promise.resolve({
    url: pathToFileURL(root).href,
    flags: [],
    keys: () =>
      readdirSync(root, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name !== 'owner')
        .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
        .sort(),
    bytes: (key) => readFileSync(file(key)),
    put(key, bytes) {
      if (bytes === null) unlinkSync(file(key));
      else writeFileSync(file(key), bytes);
    },
    lose: (isLost) =>
      isLost ? renameSync(root, `${root}.away`) : renameSync(`${root}.away`, root),
    lost: 'the folder does not exist',
  });
}

async function bucket(): Promise<Place> {
  const s3 = await S3Server.start();
  atEnd(() => s3.close());
  const credentials = path.join(temporaryDirectory(), 'credentials');
  const { accessKeyId, secretAccessKey } = S3_KEY;
  writeFileSync(
    credentials,
    `[default]\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secretAccessKey}\n`,
  );
  return {
    url: s3.url,
    flags: [
      ...['--archive-endpoint', s3.endpoint, '--archive-region', 'test'],
      ...['--archive-credentials', credentials],
    ],
    keys: () =>
      [...s3.objects.keys()]
        .filter((key) => key.includes('/segments/'))
        .map((key) => key.replace('fathom/', ''))
        .sort(),
    bytes: (key) => s3.objects.get(`fathom/${key}`)!.bytes,
    put(key, bytes) {
      if (bytes === null) s3.objects.delete(`fathom/${key}`);
      else s3.objects.set(`fathom/${key}`, { bytes, writtenMs: Date.now() });
    },
    lose(isLost) {
      s3.fault = () => (isLost ? { status: 404, code: 'NoSuchBucket' } : null);
    },
    lost: 'NoSuchBucket',
  };
}

it.each([
  ['a folder', folder],
  ['a bucket', bucket],
])('names each object of %s that is gone, cut or overwritten', async (_, make) => {
  const data = path.join(temporaryDirectory(), 'data');
  const place = await make();
  const store = await openStore(data);
  const times = Array.from({ length: 48 * DAYS + 2 }, (__, i) => T0 + i * 1800);
  await commitRows(
    store,
    times.map((t, i) => snapshot(t, [orca([[i % 9, i + 1, 2]])])),
  );
  await store.close();
  const archive = ['--archive-url', place.url, '--archive-after', '1h', ...place.flags];
  const check = (...words: string[]) => fathom(['check', '--archive', '--data', data, ...words]);
  expect(await check()).toMatchObject({
    status: 1,
    stderr: '--archive: the store has no archive\n',
  });

  const server = await serveHere(data, [...archive, '--as-of', String(NOW)]);
  const run = await fathom(['archive', 'run', '--data', data]);
  expect(run).toMatchObject({ status: 0 });
  // Every block is also a file beside the store.
  expect(readdirSync(path.join(data, 'archived')).length).toBeGreaterThanOrEqual(DAYS);
  expect(await check()).toMatchObject({ status: 0 });

  const keys = place.keys();
  expect(keys.map((key) => path.basename(key).slice(0, 10))).toEqual(DATES);
  const whole = keys.map((key) => place.bytes(key));
  const middle = whole[2].length >> 1;
  const flipped = Buffer.from(whole[2]);
  flipped[middle] ^= 1;
  const isNamed = async (): Promise<void> => {
    place.put(keys[0], null);
    place.put(keys[1], whole[1].subarray(0, -1));
    place.put(keys[2], flipped);
    const checked = await check('--json');
    const { ok, damaged } = JSON.parse(checked.stdout) as {
      ok: boolean;
      damaged: { dataset: string; token: string; from: number; what: string }[];
    };
    expect([checked.status, ok]).toEqual([1, false]);
    for (const [i, key] of keys.slice(0, 3).entries()) {
      const own = damaged.filter(({ what }) => what.includes(key));
      expect(own.length).toBeGreaterThan(0);
      for (const { dataset, token, from } of own) {
        expect([dataset, token]).toEqual(['archive', `mainchain:${MINT}`]);
        expect(Math.floor((from - T0) / DAY_S)).toBe(i);
      }
    }
    expect(damaged.filter(({ what }) => what.includes(keys[3]))).toEqual([]);
    for (const [i, key] of keys.entries()) place.put(key, whole[i]);
    place.lose(true);
    const gone = await check();
    place.lose(false);
    expect([gone.status, gone.stderr]).toEqual([1, expect.stringContaining(place.lost)]);
    // A place that has just failed is not asked again for a moment.
    await becomes(async () => (await check()).status, 0);
  };
  await isNamed();
  await server.stop();
  await isNamed();
});
