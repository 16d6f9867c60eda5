// Writes files of fragments in a data directory over and over until it is killed. Usage: DIRECTORY
import { packFragments } from '../../dist/compute/replay/fragment-file.js';
import { makeFragments } from '../../dist/compute/replay/fragment-maker.js';
import { FileCache } from '../../dist/storage/file-cache.js';
import { FRAGMENT_FILES } from '../../dist/storage/fragment-files.js';

const [directory, block] = process.argv.slice(2);
const form = { group: 'market', coding: 'gzip' };
const made = makeFragments({ segment: Buffer.from(block, 'base64'), ...form, marketCount: 5 });
const files = await FileCache.open(FRAGMENT_FILES, {
  directory,
  maxBytes: 2 ** 30,
  keptFreeBytes: 0,
  onTrouble: () => process.exit(1),
  stored: (ids) => Promise.resolve(new Set(ids)),
});
for (let round = 0; ; round++) {
  const segmentId = 1 + (round % 50);
  await files.write({ segmentId, ...form }, packFragments(segmentId, made));
  if (round === 60) process.stdout.write('writing\n');
}
