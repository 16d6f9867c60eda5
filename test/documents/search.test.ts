/** What the search finds, in which order, and what it shows of it. */
import { describe, expect, it } from 'vitest';
import { excerptOf, indexOf, MAX_RESULTS } from '../../documents/browser/index.js';
import type { SearchEntry } from '../../documents/pages.js';

const ENTRIES: SearchEntry[] = [
  ['definitions', 'slippage', ['Definitions', 'Slippage'], 'An order takes the ladder.'],
  ['api', 'get-slippageaddress', ['The API', 'GET /slippage/:address'], 'What an order costs.'],
  [
    'settings',
    'settings',
    ['Settings', 'Settings'],
    'The flag --stale-after has the greatest age.',
  ],
  [
    'api',
    'fields',
    ['The API', 'Fields'],
    'The field support_usd has the support; slippage_pct is a percent.',
  ],
];
const index = indexOf(ENTRIES);
const anchors = (query: string) => index.find(query).map(({ anchor }) => anchor);

describe('the search', () => {
  it('finds words, those in titles first', () => {
    expect(anchors('slippage')).toEqual(['slippage', 'get-slippageaddress', 'fields']);
  });

  it('finds the beginnings of words, and a word with an error', () => {
    expect(anchors('slip')[0]).toBe('slippage');
    expect(anchors('slipage')).toContain('slippage');
    expect(anchors('ladde')).toEqual(['slippage']);
  });

  it('finds flags, fields and paths as they are written, and by their parts', () => {
    for (const query of ['--stale-after', 'stale-after', 'stale'])
      expect([query, anchors(query)]).toEqual([query, ['settings']]);
    expect(anchors('support_usd')).toEqual(['fields']);
    expect(anchors('/slippage')[0]).toBe('slippage');
  });

  it('finds only what has every word', () => {
    expect(anchors('order costs')).toEqual(['get-slippageaddress']);
    expect(anchors('order elephant')).toEqual([]);
    expect(anchors('?!')).toEqual([]);
  });

  it(`has at most ${MAX_RESULTS} results`, () => {
    const many = Array.from({ length: 50 }, (_, i): SearchEntry => ['a', `${i}`, ['A'], 'word']);
    expect(indexOf(many).find('word')).toHaveLength(MAX_RESULTS);
  });
});

describe('an excerpt', () => {
  const shown = (text: string, words: string[]) =>
    excerptOf(text, words)
      .map(({ text: piece, isFound }) => (isFound ? `[${piece}]` : piece))
      .join('');

  it('marks the found words', () => {
    expect(shown('The Ladder has a ladder.', ['ladder'])).toBe('The [Ladder] has a [ladder].');
    expect(shown('a.b axb', ['a.b'])).toBe('[a.b] axb');
  });

  it('is around the first of them', () => {
    const text = `${'before '.repeat(50)}needle ${'after '.repeat(50)}`.trim();
    const excerpt = shown(text, ['needle']);
    expect(excerpt).toMatch(/^… before [^]*\[needle\][^]* after …$/);
    expect(excerpt.length).toBeLessThan(230);
  });

  it('is the beginning if the words are only in the title', () => {
    expect(shown('Some text.', ['needle'])).toBe('Some text.');
  });
});
