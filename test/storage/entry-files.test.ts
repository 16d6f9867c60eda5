import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { checksumOf } from '../../storage/log/entry-files.js';
import { temporaryDirectory } from '../support/folders.js';

it.each([0, 1, 2 ** 20, 2 ** 20 + 1, 5 * 2 ** 19])(
  'the checksum of an entry covers all of its %d bytes, however many reads they take',
  async (bytes) => {
    const content = Buffer.from(Uint8Array.from({ length: bytes }, (_, i) => i * 31 + (i >> 8)));
    const file = path.join(temporaryDirectory(), 'entry');
    writeFileSync(file, content);
    expect(await checksumOf(file)).toEqual({ bytes, crc32: crc32(content) });
  },
);
