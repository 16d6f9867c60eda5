import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';

const root = path.dirname(fileURLToPath(import.meta.url));
/** What the build compiles, and the part that has no sources that Vite can transform. */
const COMPILED = /^(client|collect|compute|storage|demo|server|bench)\//;
const WEB_ASSEMBLY = /^compute\/web-assembly\.js$/;

/**
 * Tests import the compiled modules, as Node runs them: transforming the sources again took longer than
 * building them, and this way tests and the servers that they start run the same files.
 * @param names which modules, by their paths
 */
const compiled = (names: RegExp): Plugin => ({
  name: 'compiled',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined || !source.startsWith('.') || !source.endsWith('.js')) return null;
    const name = path.relative(root, path.resolve(path.dirname(importer), source));
    const file = path.join(root, 'dist', name);
    return names.test(name) && existsSync(file) ? file : null;
  },
});

/**
 * Each has a process to itself: it measures its memory, collects its garbage many times, or puts modules in
 * place of others.
 */
const ALONE = [
  'test/storage/import-memory.test.ts',
  'test/storage/database.test.ts',
  'test/storage/store-lock.test.ts',
  'test/storage/file-log.test.ts',
];
/** Walks, soaks, crashes, clusters, browsers, foreign programs and packages: `npm run test:long`. */
const LONG = ['test/**/*.long.test.ts'];
/** Runs of the benchmarks' programs: `npm run test:bench`. */
const BENCH = ['test/**/*.bench.test.ts'];

/** Many files share a process. */
const shared = {
  // Tests make much garbage; the default of 16 MiB has V8 copy what lives all the time.
  execArgv: ['--max-semi-space-size=64'],
  globalSetup: ['server/bootstrap/prepare.mjs', 'test/support/prepared.ts'],
  server: { deps: { external: [/\/dist\/(client|collect|compute|storage|demo|server|bench)\//] } },
  // A process runs many files: loading the modules anew for each took a third of the time.
  isolate: false,
};

export default defineConfig({
  test: {
    // Two more than the cores that tests are sure of: some files only wait.
    maxWorkers: 4,
    // Nothing takes that long on an idle machine: a test ends with what it waits for, see test/support/waiting.ts.
    testTimeout: 420_000,
    hookTimeout: 420_000,
    expect: { poll: { timeout: 300_000 } },
    setupFiles: ['test/support/connections.ts', 'test/support/clean-up.ts'],
    // Projects run in the order of their names, so that no shared process ends early for one alone.
    projects: [
      {
        extends: true,
        plugins: [compiled(WEB_ASSEMBLY)],
        test: { name: 'alone', include: ALONE },
      },
      {
        extends: true,
        plugins: [compiled(COMPILED)],
        test: {
          name: 'shared',
          include: ['test/**/*.test.ts'],
          exclude: [...ALONE, ...LONG, ...BENCH],
          ...shared,
        },
      },
      {
        extends: true,
        plugins: [compiled(COMPILED)],
        test: { name: 'long', include: LONG, ...shared },
      },
      {
        extends: true,
        plugins: [compiled(COMPILED)],
        test: { name: 'bench', include: BENCH, ...shared },
      },
    ],
  },
});
