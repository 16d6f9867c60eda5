/** Which known word a mistyped word probably means. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closeMatch, editsBetween, nearest } from '../../compute/nearest.js';

const PARAMETERS = ['group', 'from', 'to', 'types', 'venues', 'min_pct', 'max_pct', 'onchain'];
const COMMANDS = ['serve', 'start', 'ingest', 'import', 'replay', 'keys', 'queue', 'demo'];

/** The same by definition, without a table. */
function slowEdits(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length;
  const [a1, b1] = [a.slice(1), b.slice(1)];
  const swap = a.length > 1 && b.length > 1 && a[0] === b[1] && a[1] === b[0];
  return Math.min(
    slowEdits(a1, b1) + (a[0] === b[0] ? 0 : 1),
    slowEdits(a1, b) + 1,
    slowEdits(a, b1) + 1,
    swap ? slowEdits(a.slice(2), b.slice(2)) + 1 : Infinity,
  );
}

it('the edits between two words are counted as defined', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6 });
  fc.assert(fc.property(word, word, (a, b) => editsBetween(a, b) === slowEdits(a, b)));
});

describe('the nearest word', () => {
  it.each([
    ['form', 'from'],
    ['venue', 'venues'],
    ['FROM', 'from'],
    ['min-pct', 'min_pct'],
    ['grouped_by', 'group'],
  ])('of %s is %s', (word, expected) => {
    expect(nearest(word, PARAMETERS)).toBe(expected);
  });

  it('is null if no words are known, and any of them if none is similar', () => {
    expect(nearest('from', [])).toBeNull();
    expect(PARAMETERS).toContain(nearest('x'.repeat(100_000), PARAMETERS));
  });
});

describe('the close match', () => {
  it.each([
    ['improt', 'import'],
    ['Serve', 'serve'],
    ['key', 'keys'],
    ['strat', 'start'],
    ['que', 'queue'],
  ])('of %s is %s', (word, expected) => {
    expect(closeMatch(word, COMMANDS)).toBe(expected);
  });

  it.each(['', 'x', 'backup', 'delete', '__proto__'])('of %j is null', (word) => {
    expect(closeMatch(word, COMMANDS)).toBeNull();
  });
});
