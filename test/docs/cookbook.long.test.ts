/** Runs each recipe of docs/cookbook.md against a service. */
import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { clientTypes } from '../support/client-types.js';
import type { Json } from '../support/conformance.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { KEY, MINT, NOW_S, heldService, steadyStore } from '../support/service.js';
import { documentNamed } from './documents.js';
import { temporaryDirectory } from '../support/folders.js';

const run = promisify(execFile);
const AT = NOW_S - 180;
const has = (program: string) => spawnSync(program, ['--version']).status === 0;
const recipes = documentNamed('docs/cookbook.md').blocks.filter(({ info }) => info.includes(' '));
const inPython = (library: string) =>
  spawnSync('python3', ['-c', `import ${library}`]).status === 0;

const directory = temporaryDirectory();
const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(130, 40));
const service = await heldService({ depth });
const main = path.resolve('dist/server/cli/main.js');
const command = `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`;
writeFileSync(path.join(directory, 'fathom'), command, { mode: 0o755 });

type Recipe = (typeof recipes)[number];
const scripts = recipes.filter(({ info }) => info.startsWith('ts '));
const scriptFile = (recipe: Recipe) => path.join(directory, `recipe${scripts.indexOf(recipe)}.mts`);

/** What `npm install` leaves in the reader's folder; like it, the folder has no package.json of its own. */
function installPackages(): void {
  const [fathom, duckdb] = ['@fathom', '@duckdb'].map((scope) => {
    const folder = path.join(directory, 'node_modules', scope);
    mkdirSync(folder, { recursive: true });
    return folder;
  });
  cpSync('dist/client', path.join(fathom, 'client/dist'), { recursive: true });
  cpSync('client/package.json', path.join(fathom, 'client/package.json'));
  symlinkSync(path.resolve('node_modules/@duckdb/node-api'), path.join(duckdb, 'node-api'));
}

/** Checks the recipes in TypeScript, as strictly as a careful reader's project. */
async function checkScripts(): Promise<void> {
  for (const recipe of scripts) writeFileSync(scriptFile(recipe), recipe.text);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: 'nodenext',
    target: 'es2023',
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [path.resolve('node_modules/@types')],
    paths: {
      '@fathom/client': [path.join(await clientTypes(), 'index.d.ts')],
      '@duckdb/node-api': [path.resolve('node_modules/@duckdb/node-api/lib/index.d.ts')],
    },
  };
  // Elsewhere: a configuration beside the recipes would change how tsx resolves their imports.
  const project = path.join(temporaryDirectory(), 'tsconfig.json');
  const include = [path.join(directory, '*.mts')];
  writeFileSync(project, JSON.stringify({ compilerOptions, include }));
  await run(path.resolve('node_modules/.bin/tsc'), ['-p', project]).catch(
    (error: { stdout: string }) => {
      throw new Error(`recipes do not compile: ${error.stdout}`);
    },
  );
}

installPackages();
await checkScripts();

/** What a recipe prints. */
async function printed(recipe: Recipe): Promise<string[]> {
  const { info, text } = recipe;
  const PATH = `${directory}:${process.env.PATH}`;
  const variables = {
    FATHOM_URL: service.server.url,
    FATHOM_KEY: KEY,
    TOKEN: MINT,
    AT: String(AT),
  };
  const commands: Record<string, [string, string[]]> = {
    sh: ['sh', ['-c', text]],
    // npx would look for it in the registry first.
    ts: [path.resolve('node_modules/.bin/tsx'), [scriptFile(recipe)]],
    python: ['python3', ['-c', text]],
  };
  const env = { ...process.env, ...variables, PATH };
  const { stdout } = await run(...commands[info.split(' ')[0]], { env, cwd: directory });
  return stdout.trim().split('\n');
}

describe.each(['sh run', 'ts run', 'python run'])('recipes in %s', (info) => {
  const [cost, score, venues] = recipes.filter((recipe) => recipe.info === info);
  const needs = { 'sh run': ['curl', 'jq'], 'ts run': [], 'python run': ['python3'] }[info] ?? [];
  const missing = needs.filter((program) => !has(program));
  const title = missing.length === 0 ? '' : ` (skipped: ${missing.join(' and ')} is missing)`;

  it.skipIf(missing.length > 0)(`say what a sale costs, by venue${title}`, async () => {
    const reply = await service.get(`/slippage/${MINT}?side=sell&usd=500000`);
    const [quote] = ((await reply.json()) as Json).quotes as Json[];
    const lines = await printed(cost);
    expect(lines[0]).toBe(String(quote.slippage_pct));
    const venues = lines.slice(1).map((line) => line.split(' '));
    expect(venues.map(([key]) => key)).toEqual(
      (quote.venues as Json[]).map(({ key }) => key as string),
    );
    venues.forEach(([, usd], i) =>
      expect(Number(usd)).toBeCloseTo(quote.venues[i].usd as number, 6),
    );
  });

  it.skipIf(missing.length > 0)(`say what the score was${title}`, async () => {
    const reply = await service.get(`/score/${MINT}?at=${AT}`);
    const { service_score: was } = (await reply.json()) as Json;
    expect(Number((await printed(score))[0])).toBe(was);
    expect(was).toBeGreaterThan(0);
  });

  it.skipIf(missing.length > 0)(`say how deep the venues are${title}`, async () => {
    const query = 'from=-24h&step=1h&pct=2&group=venue';
    const reply = await service.get(`/depth-series/${MINT}?${query}`);
    const { groups, support_usd, resistance_usd } = (await reply.json()) as Json;
    const lines = (await printed(venues)).map((line) => line.split(' '));
    expect(lines.map(([key]) => key)).toEqual((groups as Json[]).map(({ key }) => key as string));
    const mean = (usd: number[]) => usd.reduce((sum, own) => sum + own, 0) / usd.length;
    lines.forEach(([, ...amounts], i) => {
      [support_usd, resistance_usd].forEach((side: number[][][], s) =>
        expect(Number(amounts[s])).toBeCloseTo(mean(side[i][0]), 6),
      );
    });
  });
});

describe('a window as a table', () => {
  const one = (info: string) => recipes.find((recipe) => recipe.info === info)!;
  let expected: string[];
  beforeAll(async () => {
    await printed(one('sh download'));
    const { snapshots, markets } = (await (
      await service.get(`/replay/${MINT}?from=${AT}&group=market`)
    ).json()) as Json;
    const bySource = new Map<string, { cells: number; cents: number }>();
    for (const { market_idx, support_usd } of snapshots as Json[]) {
      (market_idx as number[]).forEach((market, i) => {
        const source = markets[market].source as string;
        const sums = bySource.get(source) ?? { cells: 0, cents: 0 };
        bySource.set(source, sums);
        sums.cells++;
        sums.cents += 100 * (support_usd as number[])[i];
      });
    }
    const count = (snapshots as Json[]).length;
    expected = [...bySource]
      .map(([source, { cells, cents }]) => `${source} ${cells} ${Math.round(cents / count)}`)
      .sort();
    expect(expected.length).toBeGreaterThan(1);
  });

  const needed = [
    ['sh table', 'duckdb', has('duckdb')],
    ['ts table', '@duckdb/node-api', true],
    ['python table', 'pandas with pyarrow', has('python3') && inPython('pandas, pyarrow')],
  ] as const;
  for (const [info, library, isThere] of needed) {
    const title = isThere ? info : `${info} (skipped: ${library} is missing)`;
    it.skipIf(!isThere)(title, async () => {
      expect((await printed(one(info))).sort()).toEqual(expected);
    });
  }
});
