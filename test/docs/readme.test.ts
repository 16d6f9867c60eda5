import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { documentNamed, tableCells } from './documents.js';

const readme = documentNamed('README.md');
const contributing = documentNamed('CONTRIBUTING.md');

/** Licences that require only their text. */
const PERMISSIVE = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'Unlicense',
]);

describe('dependencies', () => {
  const { dependencies, optionalDependencies, devDependencies, overrides } = JSON.parse(
    readFileSync('package.json', 'utf8'),
  ) as Record<string, Record<string, string>>;

  it('have a line each in CONTRIBUTING.md, and nothing else has', () => {
    const table = contributing.text.split('## Dependencies')[1].split('\n## ')[0];
    const listed = [...table.matchAll(/^\| `([^`]+)` +\| .+ \|$/gm)].map(([, name]) => name);
    const used = Object.keys({
      ...dependencies,
      ...optionalDependencies,
      ...overrides,
      ...devDependencies,
    });
    expect(listed.sort()).toEqual(used.sort());
  });

  it('have permissive licences, those that run with the product with all of theirs', () => {
    const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
      packages: Record<string, { license?: string; dev?: true }>;
    };
    const used = Object.entries(packages).filter(([name, { dev }]) => name !== '' && !dev);
    expect(used.map(([name]) => name)).toContain('node_modules/piscina');
    const others = used.filter(([, { license }]) => !PERMISSIVE.has(license ?? 'none'));
    expect(others).toEqual([]);
  });
});

describe('the README', () => {
  it('opens with three commands at most', () => {
    const [first] = readme.blocks;
    expect(first.info).toBe('sh');
    expect(first.text).toContain('npm start');
    expect(first.text.trimEnd().split('\n').length).toBeLessThanOrEqual(3);
  });

  it('is short: what is not needed to begin is in the documents', () => {
    expect(readme.text.split(/\s+/).length).toBeLessThan(1300);
  });

  it('compares with the figures of docs/performance.md', () => {
    const rowsOf = (text: string) => (text.match(/^\|.*\|$/gm) ?? []).map(tableCells);
    const measured = rowsOf(
      documentNamed('docs/performance.md').text.split('## Against others')[1],
    );
    const [, , ...shown] = rowsOf(readme.text.split('## How fast it is')[1]);
    expect(shown.length).toBeGreaterThan(4);
    for (const [server, ...figures] of shown) {
      const same = measured.filter((cells) => figures.every((figure) => cells.includes(figure)));
      expect(
        same.map(
          ([name]) =>
            server.split(',')[0].startsWith(name) || name.startsWith(server.split(',')[0]),
        ),
      ).toEqual([true]);
    }
  });
});
