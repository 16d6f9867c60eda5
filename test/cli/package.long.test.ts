/** The program's package: packed, installed in an empty folder, and run there. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { BUILD } from '../../storage/version.js';
import { temporaryDirectory } from '../support/folders.js';
import { installProgram, packProgram, type Packed } from '../support/packed.js';
import { cleanEnvironment, run, Script } from '../support/processes.js';
import { becomes } from '../support/waiting.js';

const MAX_PACKED_BYTES = 4 * 1024 * 1024;
const MAX_UNPACKED_BYTES = 10 * 1024 * 1024;
const MINT = 'So11111111111111111111111111111111111111112';

let packed: Packed;
let folder: string;
beforeAll(async () => {
  const packs = temporaryDirectory();
  packed = await packProgram(packs);
  folder = await installProgram(path.join(packs, packed.filename));
});

it('holds what the program reads, the documents that its messages name, and nothing else', () => {
  const files = packed.files.map((file) => file.path);
  for (const name of [
    'LICENSE',
    'README.md',
    'docs/operating.md',
    'dist/server/cli/main.js',
    'dist/compute/kernels.wasm',
    'dist/explorer/index.html',
    'dist/documents/api.html',
    'dist/client/index.d.ts',
  ]) {
    expect(files).toContain(name);
  }
  const strange = files.filter(
    (name) =>
      !/^dist\/(client|collect|compute|demo|documents|explorer|server|storage)\//.test(name) &&
      !/^docs\/[\w./-]+$/.test(name) &&
      !['LICENSE', 'README.md', 'package.json', 'dist/build-id'].includes(name),
  );
  expect(strange).toEqual([]);
  const forBuilds = /\.(map|tsbuildinfo)$|(?<!\.d)\.ts$/;
  expect(files.filter((name) => forBuilds.test(name))).toEqual([]);
  // The pages at /docs show the pictures; nothing reads them beside the Markdown.
  expect(files.filter((name) => name.endsWith('.png') && name.startsWith('docs/'))).toEqual([]);
  expect(packed.size).toBeLessThan(MAX_PACKED_BYTES);
  expect(packed.unpackedSize).toBeLessThan(MAX_UNPACKED_BYTES);
});

it('is built before it is packed, and may be published', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, object>;
  expect(manifest).toMatchObject({ scripts: { prepack: 'npm run build' } });
  expect(manifest.private).toBeUndefined();
});

describe('installed in an empty folder', () => {
  const npx = (...words: string[]) =>
    run('npx', ['--no-install', 'fathom', ...words], { cwd: folder });

  it('has the command, and says which build it is', async () => {
    expect(await npx('--version')).toEqual({ status: 0, stdout: `${BUILD}\n`, stderr: '' });
  });

  it('loads a file', async () => {
    const file = path.join(folder, 'tokens.ndjson');
    writeFileSync(file, `{"chain":"mainchain","address":"${MINT}","symbol":"SOL"}\n`);
    const words = ['ingest', 'tokens', file, '--data', 'own'];
    expect(await npx(...words)).toMatchObject({ status: 0 });
    expect((await npx('tokens', 'SOL', '--data', 'own')).stdout).toContain(MINT);
  });

  it('serves the demo, its explorer and the description of its API', async () => {
    const main = path.join(folder, 'node_modules/.bin/fathom');
    const server = Script.program(main, ['start', '--port', '0', '--data', 'demo'], {
      cwd: folder,
      env: cleanEnvironment(),
    });
    try {
      const [, url] = await server.line(/^export FATHOM_URL=(\S+)$/);
      const [, key] = await server.line(/^export FATHOM_KEY=(\S+)$/);
      await server.line(/^Open /);
      const at = (place: string) => fetch(new URL(place, url), { headers: { 'x-api-key': key } });
      const page = await at('/');
      expect(page.headers.get('content-type')).toMatch(/^text\/html/);
      for (const place of ['/', '/docs', '/docs/data']) {
        const html = await (await at(place)).text();
        const parts = [...html.matchAll(/(?:src|href)="(\/[^"#]+|\.\/[^"#]+)"/g)].map(
          ([, part]) => part,
        );
        expect(parts.length).toBeGreaterThan(1);
        for (const part of parts) expect([part, (await at(part)).status]).toEqual([part, 200]);
      }
      const health = await at('/healthz');
      expect([health.status, health.headers.get('x-fathom-version')]).toEqual([200, BUILD]);
      const { openapi } = (await (await at('/api/v1/openapi.json')).json()) as { openapi: string };
      expect(openapi).toMatch(/^3\./);
      // The market is still being filled.
      await becomes(async () => (await at(`/api/v1/score/${MINT}`)).status, 200);
      await becomes(async () => (await at(`/api/v1/replay/${MINT}?group=all`)).status, 200);
    } finally {
      await server.stop();
    }
  });

  it('has the client', async () => {
    const file = path.join(folder, 'client.mjs');
    writeFileSync(
      file,
      `import { fathomClient } from 'fathom/client'; console.log(typeof fathomClient({ url: 'http://localhost', key: 'k' }).getScore);`,
    );
    expect((await run(process.execPath, [file], { cwd: folder })).stdout).toBe('function\n');
  });
});
