/** Digests of a mint's owner names. Numbers are assigned in order: until a mint's owners are numbered anew, its names only grow. */
import { createHash } from 'node:crypto';
import type { OwnerNames } from '../../compute/holders/owners.js';

/**
 * Digests of the first names, by how many of them.
 * @param counts how many; those beyond the number of names are left out
 */
export function digestsOfFirst(
  { offsets, bytes }: OwnerNames,
  counts: Iterable<number>,
): Map<number, string> {
  const ends = createHash('sha256');
  const texts = createHash('sha256');
  const digests = new Map<number, string>();
  let from = 0;
  for (const count of [...new Set(counts)].sort((a, b) => a - b)) {
    if (count >= offsets.length) break;
    ends.update(offsets.subarray(from + 1, count + 1));
    texts.update(bytes.subarray(offsets[from], offsets[count]));
    digests.set(count, ends.copy().digest('hex') + texts.copy().digest('hex'));
    from = count;
  }
  return digests;
}
