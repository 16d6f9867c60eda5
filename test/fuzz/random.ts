/** Random input: what the tests with it share. `FUZZ_MINUTES=5 npm test -- test/fuzz` runs them for longer. */
import fc from 'fast-check';

/** Duration of each test; 0: a fixed number of runs, the same every time. */
const MINUTES = Number(process.env.FUZZ_MINUTES ?? 0);

/** No run takes longer: one that does hangs. */
const HANGS_AFTER_MS = 120_000;

/** For fc.assert(): `few` runs of one seed, or as many as the minutes allow with a seed that is printed on failure. */
export function runs(few: number): fc.Parameters<unknown> {
  if (MINUTES === 0) return { numRuns: few, seed: 14, timeout: HANGS_AFTER_MS };
  const interruptAfterTimeLimit = MINUTES * 60_000;
  return { numRuns: 1e9, interruptAfterTimeLimit, timeout: HANGS_AFTER_MS };
}

/** Time limit of a test with random input. */
export const LIMIT_MS = 420_000 + MINUTES * 60_000;

/** Unexpected values. */
export const strange: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...[null, true, false, 0, -0, -1, 1.5, 1e-320, 1e308, -1e308, 2 ** 31, 2 ** 32, 2 ** 53],
    ...[
      '',
      ' ',
      '0',
      '-1',
      '1e999',
      'NaN',
      'null',
      '\u0000',
      '\ud800',
      'a\udfff',
      '🐋',
      '__proto__',
      'x,y"\n',
    ],
    ...['a'.repeat(70_000), '9'.repeat(400), [], {}, [[]], [null], { length: 1e9 }],
    nested(500),
  ),
  fc.integer(),
  fc.double(),
  fc.string({ unit: 'binary' }),
  fc.jsonValue(),
);

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

const steps = fc.array(fc.nat({ max: 50 }), { minLength: 1, maxLength: 5 });

/** A document with some of its values replaced, removed or added, at any depth. */
export function mutatedJson<T>(document: T): fc.Arbitrary<T> {
  const change = fc.record({
    steps,
    kind: fc.constantFrom('replace', 'replace', 'remove', 'add', 'repeat'),
    value: strange,
  });
  return fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) => {
    const box = { document: structuredClone(document) };
    for (const { steps, kind, value } of changes) applyChange(box, steps, kind, value);
    return box.document;
  });
}

function applyChange(box: object, steps: readonly number[], kind: string, value: unknown): void {
  let container = box as Record<string, unknown>;
  let key = 'document';
  for (const step of steps) {
    const inner = container[key];
    if (typeof inner !== 'object' || inner === null) break;
    const keys = Object.keys(inner);
    if (keys.length === 0) break;
    container = inner as Record<string, unknown>;
    key = keys[step % keys.length];
  }
  if (Array.isArray(container) && kind === 'remove') container.splice(Number(key), 1);
  else if (Array.isArray(container) && kind === 'repeat') container.push(container[Number(key)]);
  else if (kind === 'remove' && container !== box) delete container[key];
  else if (kind === 'add') container[typeof value === 'string' ? value : 'more'] = value;
  else container[key] = value;
}

/** Texts with a meaning for some parser. */
const PIECES = [
  '"',
  "'",
  ',',
  ':',
  '{',
  '}',
  '[',
  ']',
  '\n',
  '\r\n',
  '\r',
  '\\',
  '\\u0000',
  ' ',
  '\t',
  '\0',
  'null',
  'NaN',
  '-0',
  '1e999',
  '-1',
  '99999999999999999999',
  '0x',
  '%',
  '%00',
  '%ff',
  '&',
  '=',
  'HTTP/1.1',
  ';',
  'chunked',
  '*',
  '/',
  '..',
  '\ufeff',
  'é',
  '\r\n\r\n',
  '#',
  '?',
  'GET ',
].map((text) => Buffer.from(text));

/** 32-bit numbers that are invalid as lengths, offsets and counts. */
const WORDS = [0, 1, -1, 0x7fff_ffff, -0x8000_0000, 0x0100_0000, 0x1000_0000, 0xffff, 8, 255];

/** Bytes with some flipped, replaced, removed, repeated or inserted. */
export function mutatedBytes(bytes: Uint8Array): fc.Arbitrary<Buffer> {
  const edit = fc.record({
    kind: fc.constantFrom('flip', 'set', 'word', 'cut', 'repeat', 'put', 'end'),
    at: fc.nat(),
    length: fc.oneof(fc.nat({ max: 16 }), fc.nat({ max: 4096 })),
    value: fc.nat({ max: 255 }),
  });
  return fc
    .array(edit, { minLength: 1, maxLength: 4 })
    .map((edits) => edits.reduce<Buffer>(edited, Buffer.from(bytes)));
}

interface Edit {
  kind: string;
  at: number;
  length: number;
  value: number;
}

function edited(bytes: Buffer, { kind, at: anywhere, length, value }: Edit): Buffer {
  const at = anywhere % (bytes.length + 1);
  const [before, behind] = [bytes.subarray(0, at), bytes.subarray(at)];
  switch (kind) {
    case 'flip':
      if (at < bytes.length) bytes[at] ^= 1 << (value & 7);
      return bytes;
    case 'set':
      if (at < bytes.length) bytes[at] = value;
      return bytes;
    case 'word':
      if (at + 4 <= bytes.length) bytes.writeInt32LE(WORDS[value % WORDS.length] | 0, at);
      return bytes;
    case 'cut':
      return Buffer.concat([before, behind.subarray(length)]);
    case 'repeat':
      return Buffer.concat([before, behind.subarray(0, length), behind]);
    case 'put':
      return Buffer.concat([before, PIECES[value % PIECES.length], behind]);
    default:
      return Buffer.from(before);
  }
}
