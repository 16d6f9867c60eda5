import zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BrotliEncoder } from '../../compute/deflate/brotli-encoder.js';
import { Matcher } from '../../compute/replay/matcher.js';
import { beginText } from '../../compute/replay/page-writer.js';
import { CODING_BLOCKS } from '../../compute/replay/fragments.js';

const WINDOW_BITS = 18;
const encoder = new BrotliEncoder(WINDOW_BITS);
const matcher = new Matcher(0);
/** None of the page writer's encoders reads the text. */
const USE = { encoders: 0, maxDistance: encoder.maxDistance };
const EDGE = Buffer.from('|');

/** What zlib reads from fragments within a stream. */
function read(fragments: Uint8Array): Buffer {
  const { begin, end } = CODING_BLOCKS.br;
  const stream = Buffer.concat([...begin(EDGE), fragments, end(EDGE)]);
  return zlib.brotliDecompressSync(stream).subarray(1, -1);
}

/** Part of a text: literal bytes, or a copy of earlier text. */
type Part = { bytes: Uint8Array } | { back: number; length: number };

/** The text of the parts, and its copies: where each begins, its length and its distance. */
function textOf(parts: readonly Part[]): { text: Uint8Array<ArrayBuffer>; copies: number[] } {
  const text: number[] = [];
  const copies: number[] = [];
  for (const part of parts) {
    if ('bytes' in part) for (const byte of part.bytes) text.push(byte);
    else if (text.length > 0) {
      const distance = 1 + (part.back % Math.min(text.length, encoder.maxDistance));
      copies.push(text.length, part.length, distance);
      for (let i = 0; i < part.length; i++) text.push(text[text.length - distance]);
    }
  }
  return { text: Uint8Array.from(text), copies };
}

function encoded({ text, copies }: ReturnType<typeof textOf>): Uint8Array {
  beginText(text, USE);
  encoder.begin();
  encoder.take(Uint32Array.from(copies));
  encoder.endFragment(text.length);
  return encoder.written().slice();
}

const digits = fc.uint8Array({ min: 44, max: 57, maxLength: 40 });
const bytes = fc.oneof(fc.uint8Array({ maxLength: 40 }), digits);
const copies = fc.record({
  // Often close ones: such distances have special symbols.
  back: fc.oneof(fc.integer({ min: 0, max: 12 }), fc.nat(100_000)),
  length: fc.oneof(fc.integer({ min: 3, max: 80 }), fc.integer({ min: 3, max: 5000 })),
});

/** Inserts and copies of every length. */
const everyLength = [
  ...Array(700).keys(),
  1089,
  1090,
  1093,
  1094,
  2117,
  2118,
  6209,
  6210,
  22_594,
].flatMap((length, i): Part[] => [
  { bytes: Uint8Array.from({ length }, (_, k) => 48 + ((k * k * 7 + i * 13) % 10)) },
  { back: 2 + (i % 40), length: Math.max(3, length) },
]);

describe('a fragment of a brotli stream', () => {
  it('is read by zlib as the original text', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            bytes.map((part): Part => ({ bytes: part })),
            copies,
          ),
          { maxLength: 60 },
        ),
        (parts) => {
          const made = textOf(parts);
          fc.pre(made.text.length > 0);
          expect(read(encoded(made)).equals(made.text)).toBe(true);
        },
      ),
      { numRuns: 400 },
    );
  });

  it.each([
    ['one byte', [{ bytes: Uint8Array.of(7) }]],
    ['one byte again and again', [{ bytes: Uint8Array.of(7) }, { back: 0, length: 3_000_000 }]],
    ['every byte as often', [{ bytes: Uint8Array.from({ length: 2560 }, (_, i) => i & 255) }]],
    [
      'more literals than any short code has',
      [{ bytes: Uint8Array.from({ length: 70_000 }, (_, i) => (i * i) >> 7) }],
    ],
    [
      'the greatest distance',
      [
        { bytes: Uint8Array.from({ length: 2 ** WINDOW_BITS }, (_, i) => (i * 31) >> 5) },
        { back: 2 ** WINDOW_BITS - 17, length: 300 },
        { back: 2 ** WINDOW_BITS - 17, length: 30 },
      ],
    ],
    ['inserts and copies of every length', everyLength],
  ] satisfies [string, Part[]][])('holds %s', (_, parts) => {
    const made = textOf(parts);
    expect(read(encoded(made)).equals(made.text)).toBe(true);
  });

  it('can follow any others, whatever their last distances were', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 8 }), { minLength: 2, maxLength: 8 }),
        (words) => {
          const texts = words.map((word) => Buffer.from(word.repeat(4)));
          const text = new Uint8Array(Buffer.concat(texts));
          beginText(text, USE);
          encoder.begin();
          matcher.begin();
          const pieces: Uint8Array[] = [];
          let from = 0;
          for (const { length } of texts) {
            const before = encoder.written().length;
            matcher.limit(from, from);
            encoder.take(matcher.ofText(from, from + length));
            encoder.endFragment((from += length));
            pieces.push(encoder.written().slice(before));
          }
          const backwards = read(Buffer.concat(pieces.reverse()));
          expect(backwards.equals(Buffer.concat(texts.reverse()))).toBe(true);
        },
      ),
    );
  });
});
