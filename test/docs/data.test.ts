/** The first file of docs/data.md and those that are refused: each command does what the document says. */
import { renameSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fathom } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { Scratch } from '../support/ingest.js';
import { type Block, blocksOf, documentNamed, fathomWords, shellLines } from './documents.js';

const scratch = new Scratch(temporaryDirectory());

const sectionOf = (title: string): string =>
  documentNamed('docs/data.md')
    .text.split('\n## ')
    .find((text) => text.startsWith(`${title}\n`))!;
/** The first file, with the token that others need; then the typical ones, without the warnings' section. */
const [, ...typical] = sectionOf('When a file is refused').split('\n### ');
const sections = [sectionOf('A first file'), ...typical.slice(0, -1)];
const names = new Set<string>();

async function writeFile(name: string, kind: string, text: string): Promise<void> {
  names.add(name);
  if (kind === 'sql') renameSync(await scratch.parquet(text), scratch.place(name));
  else writeFileSync(scratch.place(name), text);
}

/** Runs a command of the document on its files; in its output they have the document's names. */
async function run(block: Block) {
  const [line] = shellLines({ blocks: [block] });
  const words = fathomWords(line)!.map((word) =>
    names.has(word) ? scratch.place(word) : word.replace(/^'(.*)'$/, '$1'),
  );
  const ended = await fathom([...words, '--data', scratch.data]);
  return { ...ended, stderr: ended.stderr.replaceAll(`${scratch.directory}/`, '') };
}

it('has a first file and six typical ones', () => {
  expect(sections.length).toBe(7);
  expect(typical.at(-1)).toMatch(/^Warnings\n/);
});

describe.each(sections.map((text) => [text.split('\n')[0], blocksOf(text)] as const))(
  '%s',
  (_, blocks) => {
    it('does what the document says', async () => {
      let commands = 0;
      for (const [i, block] of blocks.entries()) {
        const [kind, more] = block.info.split(' ');
        if (kind === 'sh') {
          const { status, stderr } = await run(block);
          expect(status, `${block.text}\n${stderr}`).toBe(more === 'refused' ? 1 : 0);
          expect(stderr.includes('warning: '), stderr).toBe(more === 'warned');
          const next = blocks[i + 1];
          const messages = next?.info === 'text' ? next.text.trim().split('\n') : [];
          expect(messages.length > 0).toBe(more === 'refused');
          for (const text of messages) expect(stderr.split('\n')).toContain(text);
          commands++;
        } else if (more !== undefined) await writeFile(more, kind, block.text);
      }
      expect(commands).toBeGreaterThan(0);
    });
  },
);
