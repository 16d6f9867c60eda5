/** Finds sections by words: those in titles count more, and the last word may be unfinished. */
import MiniSearch from 'minisearch';
import type { SearchEntry } from '../pages.js';

export interface Found {
  page: string;
  anchor: string;
  titles: string[];
  excerpt: Piece[];
}

/** A piece of an excerpt, marked where it is a found word. */
export interface Piece {
  text: string;
  isFound: boolean;
}

export const MAX_RESULTS = 20;
/** Characters of an excerpt before the first found word, and in all. */
const BEFORE = 60;
const EXCERPT = 200;

export interface SearchIndex {
  find(query: string): Found[];
}

export function indexOf(entries: readonly SearchEntry[]): SearchIndex {
  const index = new MiniSearch<{ id: number; title: string; above: string; text: string }>({
    fields: ['title', 'above', 'text'],
    // `--as-of`, `support_usd` and `/dca-orders` are found as a whole and by their parts.
    tokenize: (text) => {
      const words = text.match(/[\p{L}\p{N}][\p{L}\p{N}_.-]*/gu) ?? [];
      return words.flatMap((word) => {
        const parts = word.split(/[_.-]+/).filter((part) => part !== '');
        return parts.length > 1 ? [word.replace(/[.-]+$/, ''), ...parts] : parts;
      });
    },
    searchOptions: {
      boost: { title: 6, above: 2 },
      prefix: true,
      fuzzy: fuzziness,
      combineWith: 'AND',
    },
  });
  index.addAll(
    entries.map(([, , path, text], id) => ({
      id,
      title: path.at(-1) ?? '',
      above: path.slice(0, -1).join(' '),
      text,
    })),
  );
  return {
    find: (query) =>
      index
        .search(query)
        .slice(0, MAX_RESULTS)
        .map(({ id, terms }) => {
          const [page, anchor, titles, text] = entries[id as number];
          return { page, anchor, titles, excerpt: excerptOf(text, terms) };
        }),
  };
}

/** Short words have no typing errors. */
const fuzziness = (word: string) => (word.length > 4 ? 0.2 : 0);

/** The part of a text around its first found word. */
export function excerptOf(text: string, words: readonly string[]): Piece[] {
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (escaped.length === 0) return [{ text: text.slice(0, EXCERPT), isFound: false }];
  const any = new RegExp(`(${escaped.toSorted((a, b) => b.length - a.length).join('|')})`, 'gi');
  const first = text.search(any);
  let from = Math.max(0, first - BEFORE);
  if (from > 0) from = text.indexOf(' ', from) + 1 || from;
  let to = Math.min(text.length, from + EXCERPT);
  if (to < text.length) to = Math.max(text.lastIndexOf(' ', to), from + EXCERPT / 2);
  const pieces = text
    .slice(from, to)
    .split(any)
    .map((piece, i) => ({ text: piece, isFound: i % 2 === 1 }));
  const cut = { text: '… ', isFound: false };
  return [
    ...(from > 0 ? [cut] : []),
    ...pieces,
    ...(to < text.length ? [{ ...cut, text: ' …' }] : []),
  ];
}
