/** Files of fragments: what FileCache must know of them. */
import { type FragmentsKey, unpackFragments } from '../compute/replay/fragment-file.js';
import {
  FRAGMENT_GROUPS,
  type FragmentGroup,
  type SegmentFragments,
} from '../compute/replay/fragments.js';
import type { FileCache, FileKind, NamedFile } from './file-cache.js';

const NAME = new RegExp(
  `^([1-9][0-9]{0,15})-(${FRAGMENT_GROUPS.join('|')})-([1-9][0-9]{0,9})\\.gzip$`,
);

export type FragmentFiles = FileCache<FragmentsKey, SegmentFragments>;

export const FRAGMENT_FILES: FileKind<FragmentsKey, SegmentFragments> = {
  folder: 'fragments',

  nameOf({ segmentId, group, bytes }) {
    return `${segmentId}-${group}-${bytes}.gzip`;
  },

  fileOf(name): NamedFile<FragmentsKey> | null {
    const found = NAME.exec(name);
    if (found === null) return null;
    const [, segmentId, group, bytes] = found;
    return {
      segmentId: Number(segmentId),
      group: group as FragmentGroup,
      bytes: Number(bytes),
    };
  },

  textOf({ segmentId, group }) {
    return `${group}-${segmentId}`;
  },

  keysOf(segmentId) {
    return FRAGMENT_GROUPS.map((group) => ({ segmentId, group }));
  },

  unpack: unpackFragments,
};
