/** Encodes a built page as JSON and compresses it in one step. */
import { encodePage } from '../../compute/replay/page-format.js';
import { gzipPage } from '../../compute/replay/page-gzip.js';
import { benchCase, type BenchCase } from '../case.js';
import type { PageShape, TokenHistory } from '../data/pages.js';
import { digestOf } from '../digest.js';
import { unpacked } from './encodings.js';
import { buildPage, envelopeOf, pageInput } from './request.js';

/** With group=market. The hash is that of the decompressed body. */
export function pageGzipCases(shape: PageShape, history: TokenHistory): BenchCase[] {
  const page = buildPage(pageInput(history, 'market'));
  const envelope = envelopeOf(shape.snapshots);
  const prefix = `page ${shape.name}`;
  const plain = encodePage(page, envelope, 'json');
  return [
    benchCase({
      name: `${prefix}/json and gzip at once`,
      run: () => gzipPage(page, envelope).body,
      digest: (bytes: Uint8Array) => digestOf([unpacked(bytes, 'gzip')]),
      inputBytes: plain.length,
      extra: ({ length }: Uint8Array) => ({ bytes: length, ratio: plain.length / length }),
      counters: ({ length }: Uint8Array) => ({ bytesOut: length }),
      against: { timesGzipAlone: `${prefix}/gzip of JSON` },
    }),
  ];
}
