/** What a page rests on: selecting its cells, encoding and compressing them, and its fragments. */
import zlib from 'node:zlib';
import { compressPage } from '../../compute/replay/compress.js';
import { makeFragments } from '../../compute/replay/fragment-maker.js';
import { assemblePage, bytesOfFragments } from '../../compute/replay/fragments.js';
import { encodePage, PAGE_FORMATS } from '../../compute/replay/page-format.js';
import { gzipPage } from '../../compute/replay/page-gzip.js';
import { encodeSegment, splitRun } from '../../compute/segment/segment.js';
import { benchCase, type BenchCase } from '../case.js';
import { type PageShape, tokenHistory } from '../data/pages.js';
import { buildPage, envelopeOf, pageInput } from '../data/requests.js';
import { digestOf, digestOfPage } from '../digest.js';

/** The hashes of compressed bodies are those of the decompressed ones. */
export function pageCases(shape: PageShape): BenchCase[] {
  const history = tokenHistory(shape, shape.snapshots, 0);
  const envelope = envelopeOf(shape.snapshots);
  const page = buildPage(pageInput(history, 'market'));
  const prefix = `page ${shape.name}`;
  const built = (['market', 'all'] as const).map((group) => {
    const input = pageInput(history, group);
    return benchCase({
      name: `${prefix}/select, group=${group}`,
      run: () => buildPage(input),
      digest: digestOfPage,
      work: { cells: history.run.bin.length },
    });
  });
  const bodyCase = (name: string, coding: string, run: () => Uint8Array): BenchCase =>
    benchCase({
      name: `${prefix}/${name}`,
      run,
      digest: (bytes: Uint8Array) => digestOf([unpacked(bytes, coding)]),
      work: { cells: page.rowCount },
      extra: ({ length }: Uint8Array) => ({ bytes: length }),
    });
  const encoded = PAGE_FORMATS.flatMap((format) => {
    const isText = format === 'json';
    const plain = encodePage(page, envelope, format);
    return [
      bodyCase(format, 'identity', () => encodePage(page, envelope, format)),
      ...(['gzip', 'br'] as const).map((coding) =>
        bodyCase(`${coding} of ${format}`, coding, () => compressPage(plain, coding, isText)),
      ),
    ];
  });
  const atOnce = bodyCase('json and gzip at once', 'gzip', () => gzipPage(page, envelope).body);
  return [...built, ...encoded, atOnce, ...fragmentCases(shape)];
}

/** Makes the fragments of a page's segments, and assembles the page from them. */
function fragmentCases(shape: PageShape): BenchCase[] {
  const history = tokenHistory(shape, shape.snapshots, 0);
  const input = pageInput(history, 'market');
  const segments = splitRun(history.run).map(encodeSegment);
  const marketCount = history.markets.length;
  const make = () =>
    segments.map((segment) => makeFragments({ segment, group: 'market', marketCount }));
  const page = {
    spans: make().map((fragments) => ({ fragments, first: 0, end: fragments.t.length })),
    markets: history.markets,
    query: input.query,
    envelope: envelopeOf(shape.snapshots),
    nextFrom: buildPage(input).nextFrom,
  };
  const cells = history.run.bin.length;
  return [
    benchCase({
      name: `page ${shape.name}/make fragments`,
      run: make,
      digest: (made) => digestOf(made.map(({ crcs }) => crcs)),
      work: { cells },
      extra: (made) => ({
        bytesPerCell: made.reduce((sum, one) => sum + bytesOfFragments(one), 0) / cells,
      }),
    }),
    benchCase({
      name: `page ${shape.name}/assemble from fragments`,
      run: () => assemblePage(page) as Uint8Array,
      digest: (body) => digestOf([unpacked(body, 'gzip')]),
      extra: ({ length }) => ({ bytes: length }),
    }),
  ];
}

/** A body without its content coding, decompressed by zlib's own decoders. */
export function unpacked(bytes: Uint8Array, coding: string): Uint8Array {
  switch (coding) {
    case 'gzip':
      return zlib.gunzipSync(bytes);
    case 'br':
      return zlib.brotliDecompressSync(bytes);
    default:
      return bytes;
  }
}
