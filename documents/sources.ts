/** Which of the project's documents are pages of the site, where, and in which part of its contents. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export interface Source {
  /** Relative to the repository: `docs/api.md`. */
  file: string;
  /** Below /docs: `api`; empty for the first page. */
  name: string;
  title: string;
  text: string;
}

/** The parts of the contents, each with its documents in order; others follow in the last part. */
const PARTS: readonly (readonly [string, readonly string[]])[] = [
  ['Start', ['README.md', 'docs/explorer.md', 'docs/cookbook.md']],
  [
    'API',
    ['docs/api.md', 'docs/live.md', 'docs/definitions.md', 'docs/clients.md', 'docs/assistants.md'],
  ],
  ['Data', ['docs/data.md', 'docs/collect.md', 'docs/export.md']],
  [
    'Operation',
    [
      'docs/operating.md',
      'docs/settings.md',
      'docs/recovering.md',
      'docs/cli.md',
      'docs/deploy/README.md',
      'docs/cluster.md',
    ],
  ],
  [
    'Inside',
    ['ARCHITECTURE.md', 'docs/storage.md', 'docs/performance.md', 'docs/decisions/README.md'],
  ],
];
const LAST_PART = 'Project';
/** What only the decisions' own index lists. */
const UNLISTED = /^docs\/decisions\/(?!README)/;

/** The documents below `root`. */
export function findSources(root: string): Source[] {
  const files = [
    ...readdirSync(root).filter((name) => name.endsWith('.md')),
    ...readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name.split(path.sep).join('/')}`),
  ];
  return files.sort().map((file) => {
    const text = readFileSync(path.join(root, file), 'utf8');
    const title = /^# (.+)$/m.exec(text)?.[1].replaceAll('`', '') ?? file;
    return { file, name: pageName(file), title, text };
  });
}

/** The name of a file's page: one segment without a dot, since a dot marks the files beside the pages. */
export function pageName(file: string): string {
  if (file === 'README.md') return '';
  return file
    .replace(/^docs\//, '')
    .replace(/(\/README)?\.md$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-');
}

export interface Part {
  title: string;
  sources: Source[];
}

/** The contents of the site. */
export function partsOf(sources: readonly Source[]): Part[] {
  const named = new Set(PARTS.flatMap(([, files]) => files));
  const others = sources.filter(({ file }) => !named.has(file) && !UNLISTED.test(file));
  const parts = PARTS.map(([title, files]) => ({
    title,
    sources: files.flatMap((file) => sources.filter((source) => source.file === file)),
  }));
  return [...parts, { title: LAST_PART, sources: others }].filter(
    (part) => part.sources.length > 0,
  );
}
