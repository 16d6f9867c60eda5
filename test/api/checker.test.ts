/** Checks values against schemas, compared with Ajv and with schemas of known faults. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkerOf, fieldOf } from '../../server/api/checker.js';
import { document, nullable, word } from '../../server/api/schemas.js';
import Type from '../../server/api/type.js';
import { getReplay } from '../../server/replay/replay.js';

const SCHEMA = document('Sample', {
  id: Type.Integer({ minimum: 1 }),
  price: nullable(Type.Number()),
  kind: word(['DEX', 'CEX']),
  always: Type.Literal('yes'),
  isOn: Type.Optional(Type.Boolean()),
  names: Type.Array(Type.String(), { maxItems: 3 }),
  within: Type.Optional(
    Type.Array(document('Inner', { n: Type.Array(Type.Number({ maximum: 1000 })) })),
  ),
});
const ajv = new Ajv2020({ strict: false });

/** Values close to the schema: each part is right, or one of some wrong values. */
const off = fc.constantFrom<unknown>(null, 'DEX', '', 0, 1.5, -1, true, [], {}, [1], [''], [null]);
const near = <T>(right: fc.Arbitrary<T>) =>
  fc.oneof<fc.MaybeWeightedArbitrary<unknown>[]>({ weight: 9, arbitrary: right }, off);
const samples = near(
  fc.record(
    {
      id: near(fc.integer({ min: 0, max: 3 })),
      price: near(fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }))),
      kind: near(fc.constantFrom('DEX', 'CEX')),
      always: near(fc.constant('yes')),
      isOn: near(fc.boolean()),
      names: near(fc.array(near(fc.string()), { maxLength: 4 })),
      within: near(fc.array(near(fc.record({ n: near(fc.array(near(fc.integer()))) })))),
      other: off,
    },
    { requiredKeys: [] },
  ),
);
const wholeSamples = samples.map((sample) =>
  typeof sample === 'object' && sample !== null && !Array.isArray(sample)
    ? { id: 1, price: 1, kind: 'CEX', always: 'yes', names: [], ...sample }
    : sample,
);

describe('a checker', () => {
  it('finds a fault exactly when Ajv does', () => {
    const find = checkerOf(SCHEMA);
    const isValid = ajv.compile(SCHEMA);
    fc.assert(
      fc.property(fc.oneof(samples, wholeSamples), (value) => {
        const fault = find(value);
        expect(fault === null).toBe(isValid(value));
      }),
      { numRuns: 2000 },
    );
  });

  it.each<[string, string | null, object]>([
    ['id', null, { id: undefined }],
    ['id', 'expected a whole number of at least 1; was 0', { id: 0 }],
    ['id', 'expected a whole number of at least 1; was 1.5', { id: 1.5 }],
    ['price', "expected a number; was '1'", { price: '1' }],
    ['kind', "expected any of DEX, CEX; was 'dex'", { kind: 'dex' }],
    ['names', "expected a list; was 'a'", { names: 'a' }],
    ['names', 'expected at most 3 items, 4 were sent', { names: ['', '', '', ''] }],
    ['names[1]', 'expected a text; was null', { names: ['', null] }],
    ['isOn', 'expected true or false; was an object', { isOn: {} }],
    [
      'within[1].n[2]',
      'expected a number of at most 1000; was true',
      { within: [{ n: [] }, { n: [1, 2, true] }] },
    ],
    ['within[0].n[0]', 'expected a number of at most 1000; was 1001', { within: [{ n: [1001] }] }],
    ['within[0].n', null, { within: [{}] }],
  ])('names %s: %s', (field, expected, change) => {
    const right = { id: 1, price: null, kind: 'CEX', always: 'yes', names: [] };
    const sample: unknown = JSON.parse(JSON.stringify({ ...right, ...change }));
    const fault = checkerOf(SCHEMA)(sample);
    expect([fault && fieldOf(fault.path), fault?.expected]).toEqual([field, expected]);
  });

  it('names the whole value as the body', () => {
    expect(fieldOf(checkerOf(SCHEMA)([])!.path)).toBe('body');
  });

  it('refuses a schema that it cannot check', () => {
    expect(() => checkerOf({ type: 'date' })).toThrow('no checker');
    expect(() => checkerOf(getReplay.response)).not.toThrow();
  });
});
