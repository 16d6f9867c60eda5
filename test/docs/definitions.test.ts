import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { documentNamed } from './documents.js';

const definitions = documentNamed('docs/definitions.md');

describe('docs/definitions.md', () => {
  const lines = definitions.blocks
    .filter(({ info }) => info === 'js check')
    .flatMap(({ text }) => text.trim().split('\n'));

  it('has worked examples', () => expect(lines.length).toBeGreaterThan(40));

  it.each(lines)('%s', (line) => {
    const [, expression, value] = /^(.+);\s*\/\/ (.+)$/.exec(line) ?? [];
    expect(runInNewContext(expression)).toBe(runInNewContext(value));
  });
});
