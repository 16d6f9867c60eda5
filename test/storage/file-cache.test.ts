/** A cache of files of any kind; test/replay/fragment-files.test.ts has that of fragments. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { beforeEach, expect, it } from 'vitest';
import { FileCache, type FileKind, removeFiles } from '../../storage/file-cache.js';
import { temporaryDirectory } from '../support/folders.js';

/** Texts of segments, each after its checksum. */
const KIND: FileKind<{ segmentId: number }, string> = {
  folder: 'texts',
  nameOf: ({ segmentId, bytes }) => `${segmentId}-${bytes}.text`,
  fileOf(name) {
    const found = /^([1-9][0-9]*)-([1-9][0-9]*)\.text$/.exec(name);
    return found && { segmentId: Number(found[1]), bytes: Number(found[2]) };
  },
  textOf: ({ segmentId }) => String(segmentId),
  keysOf: (segmentId) => [{ segmentId }],
  unpack(bytes) {
    const content = Buffer.from(bytes);
    return content.readUInt32LE(0) === crc32(content.subarray(4))
      ? content.toString('utf8', 4)
      : null;
  },
};

const key = (segmentId: number) => ({ segmentId });

function packed(text: string): Uint8Array {
  const bytes = Buffer.from(`0000${text}`);
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
  return bytes;
}

let directory: string;
let troubles: unknown[];
beforeEach(() => {
  directory = temporaryDirectory();
  troubles = [];
});

const folder = () => path.join(directory, KIND.folder);
const names = () => readdirSync(folder()).sort();
const open = (maxBytes = 2 ** 20) =>
  FileCache.open(KIND, {
    directory,
    maxBytes,
    keptFreeBytes: 0,
    stored: (ids) => Promise.resolve(new Set(ids)),
    onTrouble: (error) => void troubles.push(error),
  });

it('returns what was written, also after a restart, within its bound', async () => {
  const before = await open(3 * 4096);
  for (let id = 1; id <= 5; id++) await before.write(key(id), packed(`text ${id}`));
  expect([before.bytes, before.count]).toEqual([3 * 4096, 3]);
  const files = await open();
  const read = await Promise.all([1, 2, 3, 4, 5].map((id) => files.read(key(id))));
  expect(read.map((one) => one?.content)).toEqual([
    undefined,
    undefined,
    'text 3',
    'text 4',
    'text 5',
  ]);
});

it('takes a file as large as its bound, and none that is larger', async () => {
  const files = await open(4096);
  await files.write(key(1), packed('a'.repeat(4092)));
  await files.write(key(2), packed('a'.repeat(4093)));
  expect([names(), files.bytes]).toEqual([['1-4096.text'], 4096]);
});

it('drops a file that is damaged, shortened or gone, and takes it again', async () => {
  const files = await open();
  for (let id = 1; id <= 4; id++) await files.write(key(id), packed('text'));
  const damaged = readFileSync(path.join(folder(), '1-8.text'));
  damaged[6] ^= 1;
  writeFileSync(path.join(folder(), '1-8.text'), damaged);
  writeFileSync(path.join(folder(), '2-8.text'), 'short');
  await removeFiles(
    { ...KIND, fileOf: (name) => (name === '3-8.text' ? KIND.fileOf(name) : null) },
    directory,
  );
  const read = () => Promise.all([1, 2, 3, 4].map((id) => files.read(key(id))));
  expect((await read()).map((one) => one?.content)).toEqual([
    undefined,
    undefined,
    undefined,
    'text',
  ]);
  await files.settled();
  expect([names(), files.count]).toEqual([['4-8.text'], 1]);
  for (let id = 1; id <= 3; id++) await files.write(key(id), packed('text'));
  expect((await read()).map((one) => one?.content)).toEqual(['text', 'text', 'text', 'text']);
});

it('touches only files with names of its kind, and none through a link', async () => {
  mkdirSync(folder());
  for (const name of ['notes', '1-100.text.bak', '7-fragments-1.gzip', '2-100.text.1.new']) {
    writeFileSync(path.join(folder(), name), 'x');
  }
  const files = await open();
  await files.settled();
  expect(names()).toEqual(['1-100.text.bak', '7-fragments-1.gzip', 'notes']);
  await files.write(key(1), packed('text'));
  await removeFiles(KIND, directory);
  expect(names()).toEqual(['1-100.text.bak', '7-fragments-1.gzip', 'notes']);

  const elsewhere = temporaryDirectory();
  writeFileSync(path.join(elsewhere, '1-8.text'), packed('text'));
  directory = temporaryDirectory();
  symlinkSync(elsewhere, folder());
  const linked = await open();
  await linked.write(key(2), packed('text'));
  linked.remove([1]);
  await removeFiles(KIND, directory);
  expect([linked.count, readdirSync(elsewhere)]).toEqual([0, ['1-8.text']]);
  expect(String(troubles[0])).toContain('is a link');
});
