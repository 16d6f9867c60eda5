/** The recipes of docs/cookbook.md, each run against a service. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Json } from '../support/conformance.js';
import { MemoryDepth } from '../support/memory-depth.js';
import {
  KEY,
  MINT,
  NOW_S,
  startTestService,
  steadyStore,
  type TestService,
} from '../support/service.js';
import { documentNamed } from './documents.js';

const run = promisify(execFile);
const AT = NOW_S - 180;
const has = (program: string) => spawnSync(program, ['--version']).status === 0;
const recipes = documentNamed('docs/cookbook.md').blocks.filter(({ info }) =>
  info.endsWith(' run'),
);

let service: TestService;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'fathom-cookbook-'));
  const depth = new MemoryDepth();
  depth.add('mainchain', MINT, steadyStore(6, 40));
  service = await startTestService({ depth });
});
afterAll(async () => {
  await service.stop();
  rmSync(directory, { recursive: true });
});

/** What a recipe prints. */
async function printed({ info, text }: { info: string; text: string }): Promise<string[]> {
  const env = { ...process.env, FATHOM_URL: service.server.url, KEY, TOKEN: MINT, AT: String(AT) };
  const client = pathToFileURL(path.resolve('dist/client/index.js')).href;
  const file = path.join(directory, 'recipe.mjs');
  writeFileSync(file, text.replace('@fathom/client', client));
  const commands: Record<string, [string, string[]]> = {
    'sh run': ['sh', ['-c', text]],
    'ts run': [process.execPath, [file]],
    'python run': ['python3', ['-c', text]],
  };
  const { stdout } = await run(...commands[info], { env });
  return stdout.trim().split('\n');
}

describe.each(['sh run', 'ts run', 'python run'])('recipes in %s', (info) => {
  const [cost, score] = recipes.filter((recipe) => recipe.info === info);
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
});
