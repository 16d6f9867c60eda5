import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMAND_NAMES, loadCommand } from '../../server/cli/commands.js';
import { flagRow } from '../../server/cli/help.js';
import { settingsOf } from '../support/settings.js';
import { STOP_DEADLINE_MS } from '../../server/service.js';
import {
  DEFAULT_MEMORY_MIB,
  divideMemory,
  leastMemoryMib,
  PROCESS_MIB,
  type ShareName,
  SHARES,
  THREAD_MIB,
} from '../../server/memory.js';
import { FLAT_DATASETS } from '../../storage/contract.js';
import type { Dataset } from '../../storage/ingest/datasets.js';
import { fathom } from '../support/cli.js';
import { ingest } from '../support/ingest.js';
import type { Ended } from '../support/processes.js';
import {
  anchorOf,
  codeSpans,
  type Document,
  documentNamed,
  DOCUMENTS,
  fathomWords,
  listedFlags,
  ROOMS,
  shellLines,
  tableCells,
} from './documents.js';
import { temporaryDirectory } from '../support/folders.js';

/** npm's own commands in the documents. */
const OWN_COMMANDS = new Set(['ci', 'install', 'pack', 'prune']);

/** Files and folders below the current folder that a command line writes. */
const WRITTEN =
  /(?:--data|--out|--cursor-file|curl.* -o|npx.* -o|[^>]>>?)[ =]([A-Za-z][\w./-]*)(?= |$)/g;

/** Every call of `fathom` in documents and in the help, one per command and set of flags. */
async function callsInDocuments(): Promise<string[][]> {
  const calls = new Map<string, string[]>();
  const commands = await Promise.all(COMMAND_NAMES.map(loadCommand));
  const lines = commands.flatMap(({ examples }) => examples);
  for (const document of DOCUMENTS) {
    const spans = codeSpans(document).filter((code) => code.includes(' --'));
    lines.push(...shellLines(document), ...spans);
  }
  for (const line of lines) {
    const words = fathomWords(line);
    if (words === null || words.includes('--help')) continue;
    const shape = words.filter((word, i) => i === 0 || word.startsWith('--')).sort();
    calls.set(`${words[0]} ${shape.join(' ')}`, words);
  }
  return [...calls.values()];
}

describe('command lines', () => {
  it('name commands and flags that exist, each with its value', async () => {
    const calls = await callsInDocuments();
    expect(calls.length).toBeGreaterThan(15);
    // Flags are read before anything is done, and the first unknown one is named.
    const results: Ended[] = [];
    for (const words of calls) results.push(await fathom([...words, '--no-such-flag']));
    const wrong = results.flatMap(({ status, stderr }, i) =>
      status === 2 && stderr.includes('unknown flag --no-such-flag')
        ? []
        : `fathom ${calls[i].join(' ')}: ${stderr.split('\n')[0]}`,
    );
    expect(wrong).toEqual([]);
  });

  it('write only what git ignores into a clone', async () => {
    const git = (...words: string[]) => spawnSync('git', words, { encoding: 'utf8' });
    // A release has no repository.
    if (git('rev-parse', '--git-dir').status !== 0) return;
    const commands = await Promise.all(COMMAND_NAMES.map(loadCommand));
    const lines = [
      // In its line, > ends a placeholder.
      ...DOCUMENTS.flatMap(shellLines).filter((line) => !line.startsWith('git clone')),
      ...commands.flatMap(({ examples }) => examples),
    ];
    const written = new Set(
      lines.flatMap((line) => [...line.matchAll(WRITTEN)].map(([, name]) => name)),
    );
    // The names that npm gives.
    for (const name of ['fathom-0.1.0.tgz', 'fathom-client-0.1.0.tgz']) written.add(name);
    expect(written).toContain('backups/monday');
    expect(written.size).toBeGreaterThan(8);
    // A folder is not there yet, so its name alone does not tell that it is one.
    const isIgnored = (name: string) =>
      [name, `${name}/x`].some((one) => git('check-ignore', '-q', '--no-index', one).status === 0);
    expect([...written].filter((name) => !isIgnored(name))).toEqual([]);
  });

  it('call fathom by its path: outside the clone, npx would search the registry', () => {
    const called = DOCUMENTS.flatMap(
      ({ text }) => text.match(/\b(npx|npm exec|npm x) .*fathom.*/g) ?? [],
    );
    expect(called).toEqual([]);
  });

  it('of npm name scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    const named = DOCUMENTS.flatMap(({ text }) =>
      [...text.matchAll(/npm (?:run )?([a-z]+(?:[:-][a-z]+)*)/g)].map(([, script]) => script),
    );
    expect(named).toContain('start');
    for (const script of named) {
      if (!OWN_COMMANDS.has(script)) expect(Object.keys(scripts)).toContain(script);
    }
  });
});

it('tables of documents for people are no wider than a wide terminal', () => {
  const names = 'cli cluster collect data operating recovering settings storage'.split(' ');
  const wide = ['README.md', ...names.map((name) => `docs/${name}.md`)].flatMap((name) => {
    const rows = documentNamed(name).text.match(/^\|.*$/gm) ?? [];
    return rows.filter((row) => row.length > 160).map((row) => `${name}: ${row.slice(0, 60)}`);
  });
  expect(wide).toEqual([]);
});

it('tests that documents name exist', () => {
  const named = DOCUMENTS.flatMap(({ text }) => text.match(/\btest\/[\w/.-]+\.ts\b/g) ?? []);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((file) => !existsSync(file))).toEqual([]);
});

describe('docs/cli.md', () => {
  const cli = documentNamed('docs/cli.md');
  const settings = documentNamed('docs/settings.md');
  const firstWords = [...new Set(COMMAND_NAMES.map((name) => name.split(' ')[0]))];

  it('has a section for every command, in the order of the help', () => {
    const sections = [...cli.text.matchAll(/^## fathom (\w+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(firstWords);
  });

  // The settings of serve, start and config are in docs/settings.md.
  it.each(firstWords.filter((name) => !['serve', 'start', 'config'].includes(name)))(
    'has the flags of %s as the command declares them',
    async (first) => {
      const names = COMMAND_NAMES.filter((name) => name.split(' ')[0] === first);
      const commands = await Promise.all(names.map(loadCommand));
      const flags = new Map(commands.flatMap((command) => Object.entries(command.flags)));
      const section = cli.text.split(`\n## fathom ${first}\n`)[1].split('\n## ')[0];
      expect(listedFlags(section)).toEqual([...flags].map(([name, flag]) => flagRow(name, flag)));
    },
  );

  it('shows JSON that is JSON', () => {
    for (const { blocks } of [cli, settings, documentNamed('docs/operating.md')]) {
      for (const { info, text } of blocks) {
        if (info === 'json') expect(() => void JSON.parse(text), text).not.toThrow();
      }
    }
  });
});

describe("docs/data.md's examples", () => {
  const { blocks, text } = documentNamed('docs/data.md');
  const [token, snapshot] = blocks.filter(({ info }) => info === 'json').map(parsed);
  /** The first example of a dataset's section. */
  const exampleOf = (dataset: string) => {
    const section = text.split(`\n### ${dataset}\n`)[1];
    return parsed({ text: /```json\n([\s\S]*?)```/.exec(section)?.[1] ?? '' });
  };
  const bodies =
    blocks
      .find(({ info }) => info === 'ndjson')
      ?.text.trim()
      .split('\n') ?? [];
  const cells = blocks.find(({ info }) => info === 'csv')?.text ?? '';
  const directory = temporaryDirectory();

  function parsed({ text }: { text: string }) {
    return JSON.parse(text) as Record<string, unknown>;
  }

  it.each<[Dataset, string, object[] | string, number]>([
    ['tokens', 'tokens.ndjson', [token], 0],
    // The snapshot, and one for each body as its only market.
    [
      'snapshots',
      'snapshots.ndjson',
      [
        snapshot,
        ...bodies.map((body, i) => {
          const market = { source: `V${i}`, exchange_type: 'DEX', ...parsed({ text: body }) };
          const priceUsd = body.includes('book') ? 100 : 1;
          return { ...snapshot, t: 1_760_000_001 + i, price_usd: priceUsd, markets: [market] };
        }),
      ],
      6,
    ],
    ['cells', 'cells.csv', cells, 1],
  ])('%s are accepted by ingest', async (dataset, name, rows, snapshots) => {
    const file = path.join(directory, name);
    const lines = (objects: readonly object[]) =>
      objects.map((row) => JSON.stringify(row)).join('\n');
    writeFileSync(file, typeof rows === 'string' ? rows : lines(rows));
    const data = path.join(directory, 'data');
    const [report] = await ingest(data, dataset, [file]);
    expect(report.snapshots).toBe(snapshots);
    if (snapshots > 0) expect(report.cells).toBeGreaterThanOrEqual(snapshots);
  });

  it('of orders, pools, hours and holders are accepted too', async () => {
    const data = path.join(directory, 'flat');
    for (const dataset of [...FLAT_DATASETS, 'holders'] as const) {
      const file = path.join(directory, `${dataset}.ndjson`);
      writeFileSync(file, JSON.stringify(exampleOf(dataset)));
      expect(await ingest(data, dataset, [file])).toMatchObject([{ rows: 1 }]);
    }
  });
});

describe('references', () => {
  const links = ({ name, prose }: Document) =>
    [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => ({ name, target }));
  /** Targets of links: headings, and elements with an id. */
  const anchors = (text: string) => [
    ...[...text.matchAll(/^#+ (.+)$/gm)].map(([, title]) => anchorOf(title)),
    ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id),
  ];

  it('between the documents have targets', () => {
    const relative = DOCUMENTS.flatMap(links).filter(({ target }) => !/^https?:/.test(target));
    expect(relative.length).toBeGreaterThan(8);
    for (const { name, target } of relative) {
      const [file, anchor] = target.split('#');
      const found = file === '' ? name : path.join(path.dirname(name), file);
      expect(existsSync(found), `${name}: ${target}`).toBe(true);
      if (anchor !== undefined) expect(anchors(readFileSync(found, 'utf8'))).toContain(anchor);
    }
  });

  it('to files and folders of the project name existing ones', () => {
    const top = [...ROOMS, 'bench', 'test', 'docs', 'dist'];
    const paths = DOCUMENTS.flatMap(codeSpans).filter(
      (code) =>
        /^[\w./-]+$/.test(code) &&
        top.includes(code.split('/')[0]) &&
        code.includes('/') &&
        // Made by a run, not part of the project.
        !code.startsWith('bench/results/'),
    );
    expect(paths.length).toBeGreaterThan(30);
    for (const name of paths) expect(existsSync(name), name).toBe(true);
  });
});

it("docs/settings.md's memory has a row for every share, with its figures", () => {
  const section = documentNamed('docs/settings.md').text.split('## Memory\n')[1].split('\n## ')[0];
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  const shares = divideMemory(DEFAULT_MEMORY_MIB, 2);
  expect(rows.map(tableCells).map(([name, , ...figures]) => [name, ...figures])).toEqual(
    Object.entries(SHARES).map(([name, { leastMib, percent }]) => {
      const mib = Math.round(shares[name as ShareName] / 2 ** 20);
      return [name, String(leastMib), `${percent}%`, String(mib)];
    }),
  );
  expect(section).toContain(`${PROCESS_MIB} MiB`);
  expect(section).toContain(`${THREAD_MIB} MiB`);
  expect(section).toContain(`is ${leastMemoryMib(1)} MiB with one thread`);
});

describe("docs/settings.md's limits", () => {
  const source = ROOMS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) =>
      path.join(folder, name),
    ),
  )
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(name, 'utf8'))
    .join('\n');
  const rows = documentNamed('docs/settings.md')
    .text.split('## Limits')[1]
    .split('\n')
    .filter((line) => line.includes('`'));

  /** The texts that may express a number, in any file that has one of the name; none if no source writes it as one. */
  function textsOf(name: string): string[] {
    const number = '(-?[\\d_]+(?: \\* [\\d_]+)*)[;,]';
    const declared = new RegExp(`(?:const ${name}(?::[^=\\n]*)? =|\\b${name}:) ${number}`, 'g');
    const text = (n: number) => n.toLocaleString('en-US', { maximumFractionDigits: 3 });
    return [...source.matchAll(declared)].flatMap(([, expression]) => {
      const value = expression
        .split(' * ')
        .reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1);
      return [
        text(value),
        `${text(value / 1024)} KiB`,
        `${text(value / 2 ** 20)} Mi`,
        ...(/ms$/i.test(name) ? [`${text(value / 1000)} s`] : []),
        ...(name.endsWith('_S') ? [`${text(value / 86_400)} days`] : []),
      ];
    });
  }

  it('name constants that exist, with their values', () => {
    expect(rows.length).toBeGreaterThan(40);
    for (const row of rows) {
      const [, , value, constants] = row.split('|');
      for (const [, name] of constants.matchAll(/`(?:HTTP_LIMITS\.)?(\w+)`/g)) {
        expect(source, name).toMatch(new RegExp(`const ${name}\\b|\\b${name}:`));
        const texts = textsOf(name);
        if (texts.length === 0) continue;
        expect(
          texts.some((text) => value.includes(text)),
          `${name}: ${value}`,
        ).toBe(true);
      }
    }
  });
});

describe('docs/deploy/fathom.service', () => {
  const unit = readFileSync('docs/deploy/fathom.service', 'utf8');

  it('starts a server with existing settings, and waits for its end', () => {
    const [, words] = /^ExecStart=\S+ serve (.+)$/m.exec(unit) ?? ['', ''];
    expect(settingsOf(words.split(' '))).toMatchObject({ directory: '/var/lib/fathom' });
    const [, seconds] = /^TimeoutStopSec=(\d+)s$/m.exec(unit) ?? ['', ''];
    expect(Number(seconds) * 1000).toBeGreaterThan(STOP_DEADLINE_MS);
  });
});
