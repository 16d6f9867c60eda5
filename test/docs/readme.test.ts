import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentNamed } from './documents.js';

const run = promisify(execFile);
const readme = documentNamed('README.md');
const api = documentNamed('docs/api.md');

/** The port that the README's example listens on. */
const PORT_IN_README = '8081';
const TOKEN = '9n4nbM75f5Ui33ZbPYXn59EwSgE8CGsHtAeTH5YFeJ9E';
/** The excerpt's whole feed: one snapshot a second. */
const [FROM, TO, SNAPSHOTS] = [1723161256, 1723161260, 4];

/** Licences that ask for no more than their text. */
const PERMISSIVE = new Set(['0BSD', 'Apache-2.0', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT']);

const example = readme.blocks.filter(({ info }) => info === 'sh run').map(({ text }) => text);
const replies = readme.blocks.filter(({ info }) => info === 'json').map(({ text }) => text);

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/**
 * One script of what a reader would type: the README's commands, then the paging example of the API.
 * `./fathom` runs this very build.
 */
async function typeEverything(directory: string): Promise<string[]> {
  const port = String(await freePort());
  symlinkSync(path.resolve('fathom'), path.join(directory, 'fathom'));
  const paging = api.blocks.filter(({ info }) => info === 'js run').map(({ text }) => text);
  expect(paging).toHaveLength(1);
  writeFileSync(path.join(directory, 'paging.mjs'), paging[0]);
  symlinkSync(path.resolve('test'), path.join(directory, 'test'));
  const [start, ask] = example.map((block) => block.replaceAll(PORT_IN_README, port));
  const url = `http://127.0.0.1:${port}`;
  const script = `
trap 'kill $(jobs -p); wait' EXIT
${start}
curl -s --retry 100 --retry-connrefused --retry-delay 1 -o head ${url}
${ask}
echo
KEY=$KEY FATHOM_URL=${url} TOKEN=${TOKEN} FROM=${FROM} TO=${TO} '${process.execPath}' paging.mjs
`;
  const { stdout } = await run('bash', ['-euc', script], {
    cwd: directory,
    env: { ...process.env, PATH: `${directory}:${process.env.PATH}` },
    timeout: 50_000,
  });
  return stdout.trimEnd().split('\n');
}

describe("the README's example", () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'fathom-readme-'));
  let reply: string;
  let paged: string;
  beforeAll(async () => {
    [reply, paged] = await typeEverything(directory);
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it('is what can be run: import and serve, then ask', () => {
    expect(example).toHaveLength(2);
    expect(example[0]).toContain('./fathom import');
    expect(example[0]).toContain('./fathom serve');
    expect(example[1]).toContain('curl');
  });

  it('gives the output that it shows', () => {
    let at = 0;
    for (const piece of replies[1].replaceAll('\n', '').split(/ ?\.\.\. ?/)) {
      const found = reply.indexOf(piece, at);
      expect(found, piece).toBeGreaterThanOrEqual(at);
      at = found + piece.length;
    }
    expect(at).toBe(reply.length);
  });

  it('shows fields for the demo that replies have', () => {
    const keys = [...replies[0].matchAll(/"(\w+)":/g)].map(([, key]) => key);
    expect(keys.length).toBeGreaterThan(10);
    for (const key of keys) expect(reply).toContain(`"${key}":`);
  });

  it('can be paged as the API document says', () => {
    expect(paged).toBe(`${SNAPSHOTS} snapshots`);
  });
});

describe('the README', () => {
  const { dependencies, devDependencies, overrides } = JSON.parse(
    readFileSync('package.json', 'utf8'),
  ) as Record<string, Record<string, string>>;

  it('has a line for every dependency, and for nothing else', () => {
    const table = readme.text.split('## Dependencies')[1].split('\n## ')[0];
    const listed = [...table.matchAll(/^\| `([^`]+)` +\| .+ \|$/gm)].map(([, name]) => name);
    const used = Object.keys({ ...dependencies, ...overrides, ...devDependencies });
    expect(listed.sort()).toEqual(used.sort());
  });

  it('names no package whose licence, or that of what it needs at run time, is not permissive', () => {
    const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
      packages: Record<string, { license?: string; dev?: true }>;
    };
    const used = Object.entries(packages).filter(([name, { dev }]) => name !== '' && !dev);
    expect(used.map(([name]) => name)).toContain('node_modules/piscina');
    const others = used.filter(([, { license }]) => !PERMISSIVE.has(license ?? 'none'));
    expect(others).toEqual([]);
  });

  it('opens with an example of at most 15 lines and its output', () => {
    const [first, output] = readme.blocks;
    expect(first.info).toBe('sh');
    expect(output.info).toBe('json');
    expect(first.text.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
  });
});
