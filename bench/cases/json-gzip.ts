/** Encodes and compresses a built page in one step. */
import { buildPage } from '../../compute/replay/page.js';
import { encodePage, gzipJson } from '../../compute/replay/render.js';
import { benchCase, type BenchCase } from '../case.js';
import type { PageShape, TokenHistory } from '../data/pages.js';
import { digestOf } from '../digest.js';
import { unpacked } from './encodings.js';
import { envelopeOf, pageInput } from './request.js';

/** With group=market. The hash is that of the decompressed body. */
export function jsonGzipCases(shape: PageShape, history: TokenHistory): BenchCase[] {
  const page = buildPage(pageInput(history, 'market'));
  const envelope = envelopeOf(shape.snapshots);
  const json = encodePage(page, envelope, 'json');
  const prefix = `page ${shape.name}`;
  return [
    benchCase({
      name: `${prefix}/json and gzip at once`,
      run: () => gzipJson(page, envelope).body,
      digest: (bytes: Uint8Array) => digestOf([unpacked(bytes, 'gzip')]),
      inputBytes: json.length,
      extra: ({ length }: Uint8Array) => ({ bytes: length, ratio: json.length / length }),
      counters: ({ length }: Uint8Array) => ({ bytesOut: length }),
      against: { timesGzipOfJson: `${prefix}/gzip of JSON` },
    }),
  ];
}
