/** Parses the project's documents for the tests that compare them with the code. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

export interface Block {
  /** The block's language and whatever follows: the tests run `sh run`. */
  info: string;
  text: string;
}

export interface Document {
  /** Relative to the repository. */
  name: string;
  text: string;
  blocks: Block[];
  /** The text without its blocks. */
  prose: string;
}

/** The top folders that hold the product. */
export const ROOMS = ['compute', 'storage', 'server', 'client', 'explorer', 'demo', 'collect'];

/** A fenced block, which a list indents. */
const FENCED = /^( *)```([^\n]*)\n([\s\S]*?)^\1```$/gm;

export const blocksOf = (text: string): Block[] =>
  [...text.matchAll(FENCED)].map(([, indent, info, block]) => ({
    info,
    text: block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));

const markdownIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
    .map((name) => path.join(folder, name));

export const DOCUMENTS: readonly Document[] = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  'client/README.md',
  'python/README.md',
  ...markdownIn('examples'),
  ...markdownIn('docs'),
].map((name) => {
  const text = readFileSync(name, 'utf8');
  return { name, text, blocks: blocksOf(text), prose: text.replace(FENCED, '') };
});

/** The anchor of a heading, as GitHub makes it. */
export const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

/** One document by name. */
export function documentNamed(name: string): Document {
  const found = DOCUMENTS.find((document) => document.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}

/** Text in backticks in a document's prose. */
export function codeSpans({ prose }: Document): string[] {
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code);
}

/** The lines of shell blocks, with continued lines joined and comments removed. */
export function shellLines({ blocks }: Pick<Document, 'blocks'>): string[] {
  return blocks
    .filter(({ info }) => info.split(' ')[0] === 'sh')
    .flatMap(({ text }) => text.replaceAll('\\\n', ' ').split('\n'))
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter((line) => line !== '');
}

const CALL = /(?:^|[\s(])(?:\.\/)?fathom ([a-z][^)&|>]*)/;

/** The words after `fathom` in a command line; null if it calls something else. */
export function fathomWords(line: string): string[] | null {
  return CALL.exec(line)?.[1].trim().split(/\s+/) ?? null;
}

/** The cells of a table's row as plain text: links by their text, without backticks. */
export function tableCells(row: string): string[] {
  return row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) =>
      cell
        .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
        .replaceAll('`', '')
        .replaceAll('\\|', '|')
        .trim(),
    );
}

/** A list's items as rows of a table, such as ``- `--port` (`8080`): where it listens``: name, default, meaning. */
export function listedFlags(text: string): string[][] {
  const items = text.matchAll(/^- `((?:--|FATHOM_)[^`]+)`(?: \((.+?)\))?: (.+)$/gm);
  return [...items].map(([, name, shown = '', meaning]) =>
    tableCells(`|${[name, shown, meaning].map((cell) => cell.replaceAll('|', '\\|')).join('|')}|`),
  );
}
