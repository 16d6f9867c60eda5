/** Files of fragments: what FileCache must know of them. */
import { type FragmentsKey, unpackFragments } from '../compute/replay/fragment-file.js';
import {
  FRAGMENT_CODINGS,
  FRAGMENT_GROUPS,
  type FragmentCoding,
  type FragmentGroup,
  type SegmentFragments,
} from '../compute/replay/fragments.js';
import type { FileCache, FileKind, NamedFile } from './file-cache.js';

const NAME = new RegExp(
  `^([1-9][0-9]{0,15})-(${FRAGMENT_GROUPS.join('|')})-([1-9][0-9]{0,9})\\.(${FRAGMENT_CODINGS.join('|')})$`,
);

export type FragmentFiles = FileCache<FragmentsKey, SegmentFragments>;

export const FRAGMENT_FILES: FileKind<FragmentsKey, SegmentFragments> = {
  folder: 'fragments',

  nameOf({ segmentId, group, bytes, coding }) {
    return `${segmentId}-${group}-${bytes}.${coding}`;
  },

  fileOf(name): NamedFile<FragmentsKey> | null {
    const found = NAME.exec(name);
    if (found === null) return null;
    const [, segmentId, group, bytes, coding] = found;
    return {
      segmentId: Number(segmentId),
      group: group as FragmentGroup,
      coding: coding as FragmentCoding,
      bytes: Number(bytes),
    };
  },

  textOf({ segmentId, group, coding }) {
    return `${group}-${coding}-${segmentId}`;
  },

  keysOf(segmentId) {
    return FRAGMENT_GROUPS.flatMap((group) =>
      FRAGMENT_CODINGS.map((coding) => ({ segmentId, group, coding })),
    );
  },

  unpack: unpackFragments,
};
