/** Makes fragments of a page's segments, and assembles the page from them. */
import { compressPage } from '../../compute/replay/compress.js';
import { makeFragments } from '../../compute/replay/fragment-maker.js';
import {
  assemblePage,
  bytesOfFragments,
  type FragmentPage,
  type SegmentFragments,
} from '../../compute/replay/fragments.js';
import { encodePage } from '../../compute/replay/page-format.js';
import { encodeSegment, splitRun } from '../../compute/segment/segment.js';
import { benchCase, type BenchCase } from '../case.js';
import type { PageShape, TokenHistory } from '../data/pages.js';
import { digestOf } from '../digest.js';
import { unpacked } from './encodings.js';
import { buildPage, envelopeOf, pageInput } from './request.js';

/**
 * All with group=market. The hashes of fragments are those of their checksums, those of pages of
 * their text.
 */
export function fragmentCases(shape: PageShape, history: TokenHistory): BenchCase[] {
  const input = pageInput(history, 'market');
  const page = buildPage(input);
  const envelope = envelopeOf(shape.snapshots);
  const json = encodePage(page, envelope, 'json');
  const segments = splitRun(history.run).map(encodeSegment);
  const marketCount = history.markets.length;
  const make = (): SegmentFragments[] =>
    segments.map((segment) => makeFragments({ segment, group: 'market', marketCount }));
  const whole = compressPage(json, 'gzip').length;
  const assembled: FragmentPage = {
    spans: make().map((fragments) => ({ fragments, first: 0, end: fragments.t.length })),
    markets: history.markets,
    query: input.query,
    envelope,
    nextFrom: page.nextFrom,
  };
  return [
    benchCase({
      name: `fragments ${shape.name}/buildPack gzip`,
      run: make,
      digest: (built) => digestOf(built.map(({ crcs }) => crcs)),
      work: { cells: page.rowCount },
      extra: (built) => ({ packBytesPerCell: bytesOf(built) / page.rowCount }),
      counters: (built) => ({
        packs: built.length,
        packBytes: bytesOf(built),
        linkedBytes: built.reduce((sum, { linked }) => sum + linked.bytes.length, 0),
      }),
    }),
    benchCase({
      name: `fragments ${shape.name}/assemblePage gzip`,
      run: () => assemblePage(assembled) as Uint8Array,
      digest: (body) => digestOf([unpacked(body, 'gzip')]),
      extra: ({ length }) => ({
        bytes: length,
        ratio: json.length / length,
        ratioOfWholePage: json.length / whole,
      }),
      counters: ({ length }) => ({ bytesOut: length }),
    }),
  ];
}

function bytesOf(made: readonly SegmentFragments[]): number {
  return made.reduce((sum, fragments) => sum + bytesOfFragments(fragments), 0);
}
