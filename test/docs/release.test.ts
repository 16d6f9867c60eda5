/** What RELEASING.md relies on: the version comes from package.json, and what others need to join is there. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { versionWith } from '../../storage/version.js';
import { documentNamed } from './documents.js';
import { temporaryDirectory } from '../support/folders.js';

const SCRIPT = '../../server/bootstrap/set-version.mjs';
const BUILD_SCRIPT = '../../server/bootstrap/build-id.mjs';
const { buildId, writeBuildId } = (await import(BUILD_SCRIPT)) as {
  buildId: (folder: string, told?: string) => string | null;
  writeBuildId: (folder: string) => void;
};
const { PLACES, setVersion } = (await import(SCRIPT)) as {
  PLACES: Record<string, RegExp>;
  setVersion: (folder: string) => void;
};
const versionOf = (folder: string): string =>
  (JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as { version: string })
    .version;

/** The version that a file states. */
function statedIn(folder: string, name: string): string {
  const [found, before] = PLACES[name].exec(readFileSync(path.join(folder, name), 'utf8')) ?? [
    '',
    '',
  ];
  return found.slice(before.length);
}

describe('the version', () => {
  it('is the same wherever it is stated', () => {
    const version = versionOf('.');
    for (const name of Object.keys(PLACES))
      expect([name, statedIn('.', name)]).toEqual([name, version]);
    expect(documentNamed('CHANGELOG.md').text).toMatch(
      new RegExp(`^## \\[.*${version.replaceAll('.', '\\.')}`, 'm'),
    );
  });

  it('is set everywhere by npm version, and nothing else changes', () => {
    const folder = temporaryDirectory();
    for (const name of ['package.json', ...Object.keys(PLACES)]) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      cpSync(name, path.join(folder, name));
    }
    const before = versionOf('.');
    const manifest = readFileSync('package.json', 'utf8');
    writeFileSync(
      path.join(folder, 'package.json'),
      manifest.replace(`"version": "${before}"`, '"version": "9.8.7-rc.1"'),
    );
    setVersion(folder);
    for (const name of Object.keys(PLACES)) {
      expect([name, statedIn(folder, name)]).toEqual([name, '9.8.7-rc.1']);
      const restored = readFileSync(path.join(folder, name), 'utf8').replace('9.8.7-rc.1', before);
      expect(restored).toBe(readFileSync(name, 'utf8'));
    }
    expect(JSON.parse(manifest)).toMatchObject({
      scripts: { version: expect.stringContaining('set-version.mjs') },
    });
  });
});

describe('the build', () => {
  const commit = (folder: string): string => {
    const git = (...words: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...words], {
        cwd: folder,
        encoding: 'utf8',
      });
    git('init', '--quiet');
    git('add', '--all');
    git('commit', '--quiet', '--message', 'sources');
    return git('rev-parse', 'HEAD').slice(0, 12);
  };

  it('is named by its commit, and by whether its sources differ from it', () => {
    const folder = temporaryDirectory();
    writeFileSync(path.join(folder, '.gitignore'), 'dist\n');
    const id = commit(folder);
    writeBuildId(folder);
    const file = path.join(folder, 'dist/build-id');
    expect(versionWith('1.2.3', file)).toBe(`1.2.3+${id}`);
    writeFileSync(path.join(folder, 'new.ts'), '');
    writeBuildId(folder);
    expect(versionWith('1.2.3', file)).toBe(`1.2.3+${id}.modified`);
  });

  it('has no name of sources without git, unless they are told theirs', () => {
    const around = temporaryDirectory();
    const folder = path.join(around, 'unpacked');
    mkdirSync(path.join(folder, 'dist'), { recursive: true });
    writeFileSync(path.join(folder, 'package.json'), '{}');
    // Neither the commit of a repository around it, nor that of an earlier build.
    commit(around);
    writeFileSync(path.join(folder, 'dist/build-id'), '0123456789ab\n');
    writeBuildId(folder);
    expect(versionWith('1.2.3', path.join(folder, 'dist/build-id'))).toBe('1.2.3');
    const told = '0c8f5565b0b1aa3e0f1d2c4b5a69788796a5b4c3';
    expect(buildId(folder, told)).toBe('0c8f5565b0b1');
    for (const wrong of ['', 'main', told.slice(0, 8)]) expect(buildId(folder, wrong)).toBe(null);
  });

  it('is left out where its file is none of the build', () => {
    const file = path.join(temporaryDirectory(), 'build-id');
    for (const text of ['', 'main\n', '0123456789ab', '0123456789ab.other\n']) {
      writeFileSync(file, text);
      expect(versionWith('1.2.3', file)).toBe('1.2.3');
    }
  });
});

it('what users install runs one script: that which finds the binary of msgpackr', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { dev?: boolean; hasInstallScript?: boolean }>;
  };
  const running = Object.entries(packages).filter(([, one]) => one.hasInstallScript && !one.dev);
  expect(running.map(([name]) => name)).toEqual(['node_modules/msgpackr-extract']);
});

describe('those who join', () => {
  it('find the rules, and forms that ask for what a report needs', () => {
    for (const name of ['SECURITY.md', 'CODE_OF_CONDUCT.md', 'RELEASING.md']) {
      expect(documentNamed('README.md').text).toContain(`(${name})`);
      expect(documentNamed(name).text.split('\n').length).toBeGreaterThan(8);
    }
    const templates = readdirSync('.github/ISSUE_TEMPLATE').map((name) =>
      readFileSync(path.join('.github/ISSUE_TEMPLATE', name), 'utf8'),
    );
    expect(templates.length).toBe(2);
    for (const text of templates) expect(text).toMatch(/^---\nname: .+\nabout: .+\n---\n/);
    expect(templates.join('')).toContain('fathom --version');
    const pull = readFileSync('.github/pull_request_template.md', 'utf8');
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    const named = [...pull.matchAll(/`npm (?:run )?([\w:]+)`/g)].map(([, script]) => script);
    expect(named.length).toBeGreaterThan(2);
    for (const script of named) expect(Object.keys(scripts)).toContain(script);
  });
});
