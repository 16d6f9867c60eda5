/** Encodes and compresses a built page. */
import zlib from 'node:zlib';
import { TIERS } from '../../compute/market.js';
import { compressPage, type ContentEncoding } from '../../compute/replay/compress.js';
import { type Page, pageHead, type ReplayEnvelope } from '../../compute/replay/page.js';
import { encodePage, PAGE_FORMATS } from '../../compute/replay/page-format.js';
import { benchCase, type BenchCase } from '../case.js';
import type { PageShape, TokenHistory } from '../data/pages.js';
import { digestOf } from '../digest.js';
import { buildPage, envelopeOf, pageInput } from './request.js';

const COMPRESSIONS = ['gzip', 'br'] as const satisfies ContentEncoding[];

/** All with group=market. The hashes of compressed bodies are those of the decompressed ones. */
export function encodingCases(shape: PageShape, history: TokenHistory): BenchCase[] {
  const page = buildPage(pageInput(history, 'market'));
  const envelope = envelopeOf(shape.snapshots);
  const document = plainDocument(page, envelope);
  const prefix = `page ${shape.name}`;
  const bytesCase = (name: string, run: () => Uint8Array): BenchCase<Uint8Array> => ({
    name: `${prefix}/${name}`,
    run,
    digest: (bytes) => digestOf([bytes]),
    work: { cells: page.rowCount },
    extra: (bytes) => ({ bytes: bytes.length }),
    counters: ({ length }) => ({ bytesOut: length }),
  });
  const stringified = bytesCase('JSON.stringify of arrays', () => stringify(document));
  const converted = bytesCase('JSON.stringify of columns', () =>
    stringify(plainDocument(page, envelope)),
  );
  const against = { timesStringifyOfArrays: stringified.name, timesStringify: converted.name };
  const formats = PAGE_FORMATS.map((format) => ({
    ...bytesCase(format, () => encodePage(page, envelope, format)),
    ...(format === 'json' ? { against } : {}),
  }));
  const compressed = PAGE_FORMATS.flatMap((format) => {
    const plain = encodePage(page, envelope, format);
    return COMPRESSIONS.map((encoding) => ({
      name: `${prefix}/${encoding} of ${format === 'json' ? 'JSON' : format}`,
      run: () => compressPage(plain, encoding, format === 'json'),
      digest: (bytes: Uint8Array) => digestOf([unpacked(bytes, encoding)]),
      inputBytes: plain.length,
      extra: ({ length }: Uint8Array) => ({ bytes: length, ratio: plain.length / length }),
      counters: ({ length }: Uint8Array) => ({ bytesOut: length }),
    }));
  });
  return [stringified, converted, ...formats, ...compressed].map(benchCase);
}

function stringify(document: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(document));
}

/** The reply as plain arrays of numbers, as JSON.stringify needs it. */
function plainDocument(page: Page, envelope: ReplayEnvelope): unknown {
  const usd = (cents: Float64Array): number[] => Array.from(cents, (amount) => amount / 100);
  const snapshots = Array.from(page.t, (t, s) => {
    const from = page.cellOffsets[s];
    const to = page.cellOffsets[s + 1];
    return {
      t,
      tier: TIERS[page.tier[s]],
      price_usd: page.priceUsd[s],
      market_idx: Array.from((page.index as Uint16Array).subarray(from, to)),
      bin: Array.from(page.bin.subarray(from, to)),
      support_usd: usd(page.supportCents.subarray(from, to)),
      resistance_usd: usd(page.resistanceCents.subarray(from, to)),
    };
  });
  return { ...pageHead(page, envelope), snapshots };
}

/** A body without its content coding, decompressed by zlib's own decoders. */
export function unpacked(bytes: Uint8Array, encoding: string): Uint8Array {
  switch (encoding) {
    case 'gzip':
      return zlib.gunzipSync(bytes);
    case 'br':
      return zlib.brotliDecompressSync(bytes);
    default:
      return bytes;
  }
}
