/** Pages from fragments: packs made of a page's segments, and the page put together from them. */
import { assemblePage, type FragmentPage } from '../../compute/fragments/assemble.js';
import { buildPack } from '../../compute/fragments/build.js';
import { type Pack, PACK_CODINGS, type PackCoding } from '../../compute/fragments/pack.js';
import { compressPage } from '../../compute/replay/compress.js';
import { buildPage } from '../../compute/replay/page.js';
import { encodePage } from '../../compute/replay/render.js';
import { encodeSegment, splitRun } from '../../compute/segment/segment.js';
import { benchCase, type BenchCase } from '../case.js';
import type { PageShape, TokenHistory } from '../data/pages.js';
import { digestOf } from '../digest.js';
import { unpacked } from './encodings.js';
import { envelopeOf, pageInput } from './request.js';

/** All of group=market. The hashes of packs are those of their texts' sums, of pages those of their text. */
export function fragmentCases(shape: PageShape, history: TokenHistory): BenchCase[] {
  const input = pageInput(history, 'market');
  const page = buildPage(input);
  const envelope = envelopeOf(shape.snapshots);
  const json = encodePage(page, envelope, 'json');
  const segments = splitRun(history.run).map(encodeSegment);
  const cases: BenchCase[] = [];
  for (const coding of PACK_CODINGS) {
    const packs = buildPacks(segments, coding, history.markets.length);
    const whole = compressPage(json, coding).length;
    const assembled: FragmentPage = {
      stretches: packs.map((pack) => ({ pack, first: 0, end: pack.t.length })),
      markets: history.markets,
      query: input.query,
      envelope,
      nextFrom: page.nextFrom,
    };
    cases.push(
      benchCase({
        name: `fragments ${shape.name}/buildPack ${coding}`,
        run: () => buildPacks(segments, coding, history.markets.length),
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
        name: `fragments ${shape.name}/assemblePage ${coding}`,
        run: () => assemblePage(assembled) as Uint8Array,
        digest: (body) => digestOf([unpacked(body, coding)]),
        extra: ({ length }) => ({
          bytes: length,
          ratio: json.length / length,
          ratioOfWholePage: json.length / whole,
        }),
        counters: ({ length }) => ({ bytesOut: length }),
      }),
    );
  }
  return cases;
}

function buildPacks(
  segments: readonly Uint8Array[],
  coding: PackCoding,
  marketCount: number,
): Pack[] {
  return segments.map((segment) => buildPack({ segment, group: 'market', coding, marketCount }));
}

function bytesOf(packs: readonly Pack[]): number {
  return packs.reduce((sum, { buffer }) => sum + buffer.length, 0);
}
