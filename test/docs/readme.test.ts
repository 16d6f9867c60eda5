import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { documentNamed } from './documents.js';

const readme = documentNamed('README.md');

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

describe('the README', () => {
  const { dependencies, optionalDependencies, devDependencies, overrides } = JSON.parse(
    readFileSync('package.json', 'utf8'),
  ) as Record<string, Record<string, string>>;

  it('has a line for every dependency and nothing else', () => {
    const table = readme.text.split('## Dependencies')[1].split('\n## ')[0];
    const listed = [...table.matchAll(/^\| `([^`]+)` +\| .+ \|$/gm)].map(([, name]) => name);
    const used = Object.keys({
      ...dependencies,
      ...optionalDependencies,
      ...overrides,
      ...devDependencies,
    });
    expect(listed.sort()).toEqual(used.sort());
  });

  it('names only packages whose licences, and those of their run-time dependencies, are permissive', () => {
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
