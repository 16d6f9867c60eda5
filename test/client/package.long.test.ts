/** The client's package: packed, installed in an empty folder, run and compiled against. */
import { execFile } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fathomClient, type ReplayPage } from '../../client/index.js';
import { describeApi } from '../../server/api/openapi.js';
import { ERROR_CODES } from '../../server/api/errors.js';
import { ENDPOINTS } from '../../server/endpoints.js';
import { MemoryDepth } from '../support/memory-depth.js';
import {
  ENTERPRISE_KEY,
  MINT,
  startTestService,
  steadyStore,
  type TestService,
} from '../support/service.js';
import { temporaryDirectory } from '../support/folders.js';

const run = promisify(execFile);
/** Bytes of a small package; the whole program has 383 MB. */
const MAX_PACKED_BYTES = 64 * 1024;
const MAX_UNPACKED_BYTES = 256 * 1024;

interface Packed {
  filename: string;
  size: number;
  unpackedSize: number;
  files: { path: string }[];
}

let service: TestService;
let folder: string;
let packed: Packed;

beforeAll(async () => {
  folder = temporaryDirectory();
  const words = ['pack', '--json', '--pack-destination', folder];
  const { stdout } = await run('npm', words, { cwd: copiedClient() });
  [packed] = JSON.parse(stdout.slice(stdout.indexOf('[\n'))) as Packed[];
  await install(`./${packed.filename}`);
  const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(40, 3));
  service = await startTestService({ depth });
});
afterAll(() => service.stop());

/** A copy of the client's sources: packing writes into their folder. */
function copiedClient(): string {
  const clone = path.join(folder, 'clone');
  const client = path.join(clone, 'client');
  cpSync('client', client, { recursive: true, filter: (name) => path.basename(name) !== 'dist' });
  for (const name of ['tsconfig.json', 'LICENSE']) cpSync(name, path.join(clone, name));
  symlinkSync(path.resolve('node_modules'), path.join(clone, 'node_modules'));
  return client;
}

const install = (...packages: string[]) =>
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', ...packages], { cwd: folder });

/** Runs a program with the server's address and a key, and returns the JSON that it prints. */
async function output(program: string): Promise<unknown> {
  const file = path.join(folder, 'program.mjs');
  writeFileSync(file, program);
  const env = { ...process.env, URL: service.server.url, KEY: ENTERPRISE_KEY, MINT };
  const { stdout } = await run(process.execPath, [file], { cwd: folder, env });
  return JSON.parse(stdout);
}

const CLIENT = `
  import { fathomClient, FathomError } from '@fathom/client';
  const { URL, KEY, MINT } = process.env;
  const fathom = fathomClient({ url: URL, key: KEY });
`;

it('is small, has no dependencies, and holds code and types', () => {
  expect(packed.size).toBeLessThan(MAX_PACKED_BYTES);
  expect(packed.unpackedSize).toBeLessThan(MAX_UNPACKED_BYTES);
  const files = packed.files.map((one) => one.path);
  for (const name of ['README.md', 'dist/LICENSE', 'dist/index.js', 'dist/index.d.ts']) {
    expect(files).toContain(name);
  }
  expect(files.filter((name) => !/^dist\/.*\.(js|d\.ts)$/.test(name)).sort()).toEqual([
    'README.md',
    'dist/LICENSE',
    'package.json',
  ]);
  const modules = path.join(folder, 'node_modules');
  expect(readdirSync(modules).filter((name) => !name.startsWith('.'))).toEqual(['@fathom']);
  expect(readdirSync(path.join(modules, '@fathom'))).toEqual(['client']);
});

it("has the program's version, licence and Node versions", () => {
  const [own, program] = ['client/package.json', 'package.json'].map(
    (file) => JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>,
  );
  expect([own.version, own.license]).toEqual([program.version, program.license]);
  expect(program.engines).toEqual({ node: expect.stringMatching(/^\^20\.19\.0 /) as string });
  expect(own.engines).toEqual({ node: '>=20.19' });
  expect(own.dependencies).toBeUndefined();
});

it('sends requests from JavaScript', async () => {
  const answers = await output(`${CLIENT}
    const score = await fathom.getScore({ address: MINT });
    const pages = [];
    for await (const page of fathom.replay(MINT)) pages.push(page);
    const fails = (address) => fathom.getScore({ address }).catch((error) => error);
    const refused = [await fails('nonsense'), await fails('0x' + '0'.repeat(39) + 'O')];
    const codes = refused.map((error) => [error instanceof FathomError, error.code]);
    console.log(JSON.stringify([score.status, codes, pages]));
  `);
  const pages: ReplayPage[] = [];
  const client = fathomClient({ url: service.server.url, key: ENTERPRISE_KEY });
  for await (const page of client.replay(MINT)) pages.push(page);
  expect(pages[0].snapshots.length).toBeGreaterThan(10);
  const unknown = [true, 'unknown_symbol'];
  expect(answers).toEqual(['available', [unknown, unknown], pages]);
});

it('reads Arrow pages with apache-arrow, and says so when it is missing', async () => {
  const asking = `${CLIENT}
    const page = await fathom.replayArrow(MINT).next().catch((error) => error);
    console.log(JSON.stringify([page.message ?? null, page.value?.table.numRows > 0]));
  `;
  const missing = 'Arrow pages need the package apache-arrow, which does not load';
  expect(await output(asking)).toEqual([missing, false]);
  const arrow = path.join(folder, 'node_modules/apache-arrow');
  symlinkSync(path.resolve('node_modules/apache-arrow'), arrow);
  expect(await output(asking)).toEqual([null, true]);
  rmSync(arrow);
});

it('exports the type of each reply by name, and compiles without apache-arrow', async () => {
  const { paths } = describeApi(Object.values(ENDPOINTS)) as unknown as {
    paths: Record<string, Record<string, Operation>>;
  };
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const names = operations.map(({ responses, operationId }) => {
    const { $ref } = responses[200].content['application/json'].schema;
    return { operationId, name: $ref.slice($ref.lastIndexOf('/') + 1) };
  });
  expect(names).toContainEqual({ operationId: 'getScore', name: 'Score' });
  expect(names).toContainEqual({ operationId: 'getReplay', name: 'ReplayPage' });
  const ofErrors = Object.values(ERROR_CODES).flatMap((code) =>
    'fields' in code ? Object.keys(code.fields) : [],
  );
  const fields = new Set(['mismatched_addresses', ...ofErrors]);
  // The error has it itself.
  fields.delete('parameter');
  const program = `
    import { fathomClient, type ErrorFields, type FathomClient, type Cell } from '@fathom/client';
    import type { ${[...new Set(names.map(({ name }) => name))].join(', ')} } from '@fathom/client';
    type Same<A, B> = [A, B] extends [B, A] ? true : never;
    type Reply<K extends keyof FathomClient> =
      FathomClient[K] extends (...given: never) => Promise<infer R> ? R : never;
    ${names
      .map(({ operationId, name }) => `true satisfies Same<${name}, Reply<'${operationId}'>>;`)
      .join('\n')}
    true satisfies Same<keyof ErrorFields, ${[...fields].map((name) => `'${name}'`).join(' | ')}>;
    const fathom = fathomClient({ url: 'http://127.0.0.1:8080', key: 'k' });
    const score: Score = await fathom.getScore({ address: 'a', explain: true });
    // @ts-expect-error: there is no such field
    score.servicescore;
    // @ts-expect-error: the address is missing
    await fathom.getScore({});
    for await (const page of fathom.replay('a', { from: new Date(), group: 'all' })) {
      page satisfies ReplayPage;
    }
    for await (const cell of fathom.cells('a')) cell satisfies Cell;
    for await (const { snapshots } of fathom.replayArrow('a')) snapshots[0].cells.toFixed();
  `;
  writeFileSync(path.join(folder, 'program.mts'), program);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    types: [],
    target: 'ES2022',
    lib: ['ES2023', 'DOM', 'DOM.AsyncIterable'],
  };
  const compiler = path.resolve('node_modules/@typescript/native/bin/tsc');
  for (const how of [{ module: 'NodeNext' }, { module: 'ESNext', moduleResolution: 'Bundler' }]) {
    const settings = { compilerOptions: { ...compilerOptions, ...how }, files: ['program.mts'] };
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(settings));
    const compiled = run(process.execPath, [compiler, '-p', folder]);
    const output = await compiled.catch((failed: { stdout: string; stderr: string }) => failed);
    expect(output).toMatchObject({ stdout: '', stderr: '' });
  }
});

interface Operation {
  operationId: string;
  responses: Record<200, { content: { 'application/json': { schema: { $ref: string } } } }>;
}

it('has the types of the current description', async () => {
  // This script is not compiled, and has no types.
  const script = '../../server/bootstrap/client-types.mjs';
  const { clientTypes } = (await import(script)) as {
    clientTypes: (description: object) => Promise<string>;
  };
  const types = await clientTypes(describeApi(Object.values(ENDPOINTS)));
  expect(readFileSync('client/generated/api.ts', 'utf8')).toBe(types);
});
