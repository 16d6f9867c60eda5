import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { anchorOf, documentNamed, ROOMS } from './documents.js';

const definitions = documentNamed('docs/definitions.md');

function anchorsOf(file: string): Set<string> {
  const headings = readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm);
  return new Set(Array.from(headings, ([, heading]) => anchorOf(heading)));
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.(tsx?|mjs)$/.test(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name));
}

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

describe('citations in the code', () => {
  const folders = [...ROOMS, 'bench', 'test'];
  const texts = folders.flatMap(sourceFiles).map((file) => ({
    file,
    text: readFileSync(file, 'utf8'),
  }));

  it('of documents name a heading', () => {
    const cited = texts.flatMap(({ file, text }) =>
      Array.from(text.matchAll(/\b(docs\/[\w-]+\.md)#([\w-]+)/g), ([, document, anchor]) => ({
        file,
        document,
        anchor,
      })),
    );
    expect(cited.length).toBeGreaterThan(30);
    expect(cited.filter(({ document, anchor }) => !anchorsOf(document).has(anchor))).toEqual([]);
  });

  it('name only existing documents', () => {
    const foreign = texts.flatMap(({ file, text }) =>
      Array.from(
        text.matchAll(/(?<![\w/.])(?:api|data|design|beyond)\.md(?: \d| section)|\bsection \d/g),
        ([words]) => `${file}: ${words}`,
      ),
    );
    expect(foreign).toEqual([]);
  });
});
