import zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DeflateEncoder, GzipEncoder } from '../../compute/deflate/encoder.js';
import { canonicalCodes, codeLengths } from '../../compute/deflate/prefix-codes.js';
import { Matcher } from '../../compute/replay/matcher.js';
import { beginText } from '../../compute/replay/page-writer.js';
import { sequence } from './ladder-store.js';

const WINDOW_BYTES = 32_768;
const SEED = 4321;

/** A text and the matches from which it was made: where each begins, its length and its distance. */
interface MadeText {
  text: Uint8Array<ArrayBuffer>;
  matches: number[];
}

/** One step of making a text: literal bytes, or a copy of earlier text. */
type Step = { bytes: Uint8Array } | { length: number; distance: number };

const literals = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 40 }),
  fc.stringMatching(/^[0-9,.-]{1,40}$/).map((text) => Uint8Array.from(Buffer.from(text))),
  fc.constantFrom(0, 43, 44, 59, 60, 255).map((byte) => new Uint8Array(5).fill(byte)),
);
const lengths = fc.oneof(
  fc.integer({ min: 3, max: 300 }),
  fc.constantFrom(3, 257, 258, 259, 260, 261, 515, 516, 517, 518, 519, 5000),
);
const distances = fc.oneof(
  fc.integer({ min: 1, max: 40 }),
  fc.integer({ min: 1, max: WINDOW_BYTES }),
  fc.constantFrom(256, 257, 4096, 4097, WINDOW_BYTES),
);
const steps = fc.array(
  fc.oneof(
    literals.map((bytes): Step => ({ bytes })),
    fc.record({ length: lengths, distance: distances }),
  ),
  { maxLength: 60 },
);

function madeOf(list: Step[]): MadeText {
  const bytes: number[] = [];
  const matches: MadeText['matches'] = [];
  for (const step of list) {
    if ('bytes' in step) bytes.push(...step.bytes);
    else if (bytes.length > 0) {
      const distance = Math.min(step.distance, bytes.length);
      matches.push(bytes.length, step.length, distance);
      for (let i = 0; i < step.length; i++) bytes.push(bytes[bytes.length - distance]);
    }
  }
  return { text: Uint8Array.from(bytes), matches };
}

function encoded({ text, matches }: MadeText, encoder: GzipEncoder) {
  beginText(text, 1);
  encoder.begin();
  encoder.take(Uint32Array.from(matches));
  return encoder.finish(text.length);
}

/** Encodes a text with the matches found in it, part by part. */
function matchedBytes(text: Uint8Array, encoder: GzipEncoder, parts = 2) {
  beginText(text, 1);
  encoder.begin();
  matcher.begin();
  for (let part = 0; part < parts; part++) {
    const [from, to] = [part, part + 1].map((i) => Math.floor((i * text.length) / parts));
    encoder.take(matcher.ofText(from, to));
  }
  return encoder.finish(text.length);
}

const matcher = new Matcher(0);

describe('the gzip encoder', () => {
  const encoder = new GzipEncoder();

  it('writes what zlib reads, whatever the matches, in reused memory', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const made = madeOf(list);
        const gzip = encoded(made, encoder);
        expect(gzip.byteLength).toBe(gzip.buffer.byteLength);
        expect(Buffer.compare(zlib.gunzipSync(gzip), made.text)).toBe(0);
        expect(Buffer.compare(encoded(made, new GzipEncoder()), gzip)).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  it('continues in another block when one is full', () => {
    const next = sequence(SEED);
    const bytes = Uint8Array.from({ length: 200_000 }, () => next() * 256);
    const digits = Uint8Array.from({ length: 700_000 }, () => 44 + next() * 14);
    const mixed = madeOf(
      Array.from({ length: 60_000 }, (_, i) =>
        i % 3 === 0
          ? { length: 3 + (i % 7), distance: 1 + (i % WINDOW_BYTES) }
          : { bytes: digits.slice(i, i + 5) },
      ),
    );
    for (const made of [{ text: bytes, matches: [] }, { text: digits, matches: [] }, mixed]) {
      const gzip = encoded(made, encoder);
      expect(Buffer.compare(zlib.gunzipSync(gzip), made.text)).toBe(0);
    }
  });

  it('finds no match if only the bytes before a position are repeated', () => {
    // Two positions have the same hash, different bytes, and the same six bytes before them.
    const text = Uint8Array.from(Buffer.from('-220,-17,1-177220,-220,-88,63,'));
    for (const parts of [1, 2]) {
      const gzip = matchedBytes(text, encoder, parts);
      expect(zlib.gunzipSync(gzip).toString()).toBe(Buffer.from(text).toString());
    }
  });

  it('finds matches in ascending numbers, which are partly alike everywhere', () => {
    const next = sequence(SEED);
    for (let n = 0; n < 3000; n++) {
      const step = 1 + next() * 9;
      let value = Math.floor(next() * 300) - 300;
      let list = '';
      for (let i = 0; i < 60; i++) {
        list += `${value},`;
        value += Math.ceil(next() * step);
        if (next() < 0.1) value -= Math.floor(next() * 200);
      }
      const gzip = matchedBytes(Buffer.from(list), encoder, 1);
      expect(zlib.gunzipSync(gzip).toString()).toBe(list);
    }
  });

  it('refuses invalid matches', () => {
    const text = new Uint8Array(40_000).fill(48);
    for (const [from, distance] of [
      [10, 0],
      [10, -1],
      [10, 11],
      [39_000, WINDOW_BYTES + 1],
    ]) {
      expect(() => encoded({ text, matches: [from, 9, distance] }, encoder)).toThrow('no match');
    }
    const overlapping = { text, matches: [10, 9, 1, 12, 9, 1] };
    expect(() => encoded(overlapping, encoder)).toThrow('no match');
  });

  it('omits skipped text from fragments, however much of it has been written', () => {
    const next = sequence(SEED);
    const text = Uint8Array.from({ length: 120_000 }, () => 48 + next() * 10);
    const matchBefore = (end: number) =>
      Uint32Array.from(end > 110_000 || end === 100_000 ? [end - 3, 3, 1] : []);
    const pieces = (skipped: number) => {
      const maker = new DeflateEncoder(0);
      beginText(text, 1);
      maker.begin();
      maker.take(matchBefore(skipped));
      maker.skip(100_000);
      maker.endFragment(110_000);
      maker.take(matchBefore(110_000 + skipped / 25));
      maker.skip(115_000);
      maker.endFragment(120_000);
      return Buffer.from(maker.written());
    };
    expect(Buffer.compare(pieces(100_000), pieces(0))).toBe(0);
    const end = Buffer.from([1, 0, 0, 255, 255]);
    const plain = zlib.inflateRawSync(Buffer.concat([pieces(100_000), end]));
    const kept = [text.subarray(100_000, 110_000), text.subarray(115_000)];
    expect(Buffer.compare(plain, Buffer.concat(kept))).toBe(0);
  });

  it('finds matches in arbitrary bytes', () => {
    const texts = fc.oneof(
      steps.map((list) => madeOf(list).text),
      fc
        .array(fc.constantFrom(65, 66), { maxLength: 3000, size: 'max' })
        .map((list) => Uint8Array.from(list)),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const gzip = matchedBytes(text, encoder);
        expect(Buffer.compare(zlib.gunzipSync(gzip), text)).toBe(0);
      }),
      { numRuns: 200 },
    );
    const repeated = Uint8Array.from({ length: 100_000 }, (_, i) => ((i * i) % 1000) % 251);
    expect(matchedBytes(repeated, encoder).length).toBeLessThan(3000);
  });
});

describe('a Huffman code of limited length', () => {
  const counts = fc.oneof(
    fc.array(fc.nat(1000), { minLength: 2, maxLength: 286, size: 'max' }),
    // Fibonacci numbers give the longest codes.
    fc.integer({ min: 2, max: 40 }).map((count) => {
      const list = [1, 1];
      while (list.length < count) list.push(list[list.length - 1] + list[list.length - 2]);
      return list;
    }),
    fc.array(fc.constantFrom(0, 0, 0, 1, 5_000_000), { minLength: 2, maxLength: 286 }),
  );

  it('is complete, within its limit, and optimal if the limit does not apply', () => {
    fc.assert(
      fc.property(counts, fc.constantFrom(9, 11, 15), (list, limit) => {
        const lengths = new Uint8Array(list.length);
        codeLengths(Uint32Array.from(list), lengths, limit);
        let kraft = 0;
        for (const length of lengths) if (length > 0) kraft += 2 ** -length;
        expect(kraft).toBe(1);
        expect(Math.max(...lengths)).toBeLessThanOrEqual(limit);
        list.forEach((count, symbol) => {
          if (count > 0) expect(lengths[symbol]).toBeGreaterThan(0);
        });
        const used = list.filter((count) => count > 0);
        if (used.length < 2) return;
        const cost = list.reduce((sum, count, symbol) => sum + count * lengths[symbol], 0);
        const { bits, depth } = plainHuffman(used);
        expect(cost).toBeGreaterThanOrEqual(bits);
        if (depth <= limit) expect(cost).toBe(bits);
      }),
      { numRuns: 200 },
    );
  });

  it('has no code that is a prefix of another', () => {
    fc.assert(
      fc.property(counts, (list) => {
        const lengths = new Uint8Array(list.length);
        const codes = new Uint16Array(list.length);
        codeLengths(Uint32Array.from(list), lengths, 15);
        canonicalCodes(lengths, codes);
        const texts: string[] = [];
        lengths.forEach((length, symbol) => {
          if (length === 0) return;
          const bits = codes[symbol].toString(2).padStart(length, '0');
          texts.push([...bits].reverse().join(''));
        });
        texts.sort();
        for (let i = 1; i < texts.length; i++) {
          expect(texts[i].startsWith(texts[i - 1])).toBe(false);
        }
      }),
      { numRuns: 100 },
    );
  });
});

/** Bits of all symbols under Huffman's code, made by joining the two rarest, and its least depth. */
function plainHuffman(counts: number[]): { bits: number; depth: number } {
  const nodes = counts.map((count) => ({ count, depth: 0 }));
  let bits = 0;
  while (nodes.length > 1) {
    nodes.sort((a, b) => b.count - a.count || b.depth - a.depth);
    const a = nodes.pop() as { count: number; depth: number };
    const b = nodes.pop() as { count: number; depth: number };
    bits += a.count + b.count;
    nodes.push({ count: a.count + b.count, depth: 1 + Math.max(a.depth, b.depth) });
  }
  return { bits, depth: nodes[0].depth };
}
