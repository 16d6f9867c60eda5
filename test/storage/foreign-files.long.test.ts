/** What a data directory holds that is not Fathom's, and what its links lead to, stays. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { STAGING } from '../../storage/bundle.js';
import { FRAGMENT_FILES } from '../../storage/fragment-files.js';
import { digestOf, fathom, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { MINT } from '../support/stores.js';

/** Names as Fathom writes them. */
const FRAGMENTS = ['1-market-100.gzip', '1-market-100.gzip.7.new'];
const ID = '0aa1d9f0-75c5-4f0c-8d6b-9c3a9e1b2f30';
const LONG_AGO_S = 1_000_000;

describe('A start deletes nothing but its own files', () => {
  let data: string;
  let elsewhere: string;
  const put = (...place: string[]): string => {
    const file = path.join(...place);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, 'x');
    utimesSync(file, LONG_AGO_S, LONG_AGO_S);
    return file;
  };
  beforeEach(() => {
    data = temporaryDirectory();
    elsewhere = temporaryDirectory();
    for (const name of [...FRAGMENTS, `${ID}.bundle`, 'notes', 'below/notes']) put(elsewhere, name);
  });
  const startAndStop = async (gib: string): Promise<string> => {
    const service = await serveHere(data, ['--fragments-disk-gib', gib]);
    await service.stop();
    return service.logged();
  };

  it.each(['0', '1'])('where folders are links, with %s GiB of fragments', async (gib) => {
    for (const name of [FRAGMENT_FILES.folder, STAGING])
      symlinkSync(elsewhere, path.join(data, name));
    const before = digestOf(elsewhere);
    await startAndStop(gib);
    expect(digestOf(elsewhere)).toBe(before);
  });

  it.each(['0', '1'])('where folders have other files, with %s GiB of fragments', async (gib) => {
    const foreign = [
      put(data, FRAGMENT_FILES.folder, 'notes'),
      put(data, FRAGMENT_FILES.folder, '1-market-100.gzip.bak'),
      put(data, FRAGMENT_FILES.folder, 'below', FRAGMENTS[0]),
      put(data, FRAGMENT_FILES.folder, '2-market-100.gzip', 'notes'),
      put(data, STAGING, 'notes'),
      put(data, STAGING, 'notes.bundle'),
      put(data, STAGING, 'below', `${ID}.bundle`),
      put(data, 'fathom.duckdb.new-notes'),
    ];
    const own = [
      ...FRAGMENTS.map((name) => put(data, FRAGMENT_FILES.folder, name)),
      ...['bundle', 'input', 'levels'].map((kind) => put(data, STAGING, `${ID}.${kind}`)),
      put(data, `fathom.duckdb.new-${ID}`),
    ];
    for (const [folder, name] of [
      [FRAGMENT_FILES.folder, '3-market-100.gzip'],
      [STAGING, `1${ID.slice(1)}.bundle`],
    ]) {
      symlinkSync(path.join(elsewhere, 'notes'), path.join(data, folder, name));
    }
    const before = digestOf(elsewhere);
    await startAndStop(gib);
    expect(digestOf(elsewhere)).toBe(before);
    expect(foreign.filter((file) => !existsSync(file))).toEqual([]);
    expect(own.filter((file) => existsSync(file))).toEqual([]);
  });

  it('without other files, the folder of fragments goes if there are to be none', async () => {
    put(data, FRAGMENT_FILES.folder, FRAGMENTS[0]);
    await startAndStop('0');
    expect(readdirSync(data)).not.toContain(FRAGMENT_FILES.folder);
  });

  it.each(['notes', 'nothing'])(
    'and writes through no link to %s in place of the WAL',
    async (name) => {
      await startAndStop('0');
      const wal = path.join(data, 'fathom.duckdb.wal');
      symlinkSync(path.join(elsewhere, name), wal);
      const before = digestOf(elsewhere);
      await expect(startAndStop('0')).rejects.toThrow(`${wal} is a link: put the file`);
      expect(digestOf(elsewhere)).toBe(before);
      unlinkSync(wal);
      await startAndStop('0');
    },
  );

  it('and an import replaces a link, not what it leads to', async () => {
    const [file, out] = [path.join(data, 'in.csv'), path.join(data, 'out.ndjson')];
    const head = 'exchange,symbol,timestamp,local_timestamp,asks[0].price,asks[0].amount,';
    const books = [1, 2, 3].map(
      (s) => `binance,A,170000000${s}000000,170000000${s}000000,101,1,99,1`,
    );
    writeFileSync(file, `${head}bids[0].price,bids[0].amount\n${books.join('\n')}\n`);
    symlinkSync(path.join(elsewhere, 'notes'), `${out}.part`);
    const before = digestOf(elsewhere);
    const words = ['--token', `mainchain:${MINT}`, '--every', '1s', '--out', out];
    const { status, stderr } = await fathom(['import', 'tardis-book-snapshot', file, ...words]);
    expect([status, stderr]).toEqual([0, expect.any(String)]);
    expect(digestOf(elsewhere)).toBe(before);
  });
});
