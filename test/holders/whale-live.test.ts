/** Whale activity with the built command: the small market's numbers, and what an ingest changes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { cleanUp, newKey, serveHere, temporaryDirectory } from '../support/cli.js';
import { checkReply, type Json } from '../support/conformance.js';
import { ingest } from '../support/ingest.js';
import { becomes } from '../support/waiting.js';

const EXAMPLES = path.resolve('..', 'shared', 'examples');
const NOW_S = 1_794_659_696;

afterAll(cleanUp);

/** The tests ask more often than once a second. */
const PLANS = JSON.stringify({ enterprise: { rates: { 'whale-get': { requests: 'unlimited' } } } });

async function start(directory: string, asOfS: number): Promise<(query: string) => Promise<Json>> {
  const key = await newKey(directory);
  const server = await serveHere(directory, ['--as-of', String(asOfS)], { FATHOM_PLANS: PLANS });
  return async (query) => {
    const target = `/whale-activity?${query}`;
    const response = await server.get(target, key);
    await checkReply('GET', `${server.url}/api/v1${target}`, response);
    expect(response.status).toBe(200);
    return (await response.json()) as Json;
  };
}

describe('whale activity of a running server', () => {
  it('has the rows of an ingest within a second, and by --as-of none that are later', async () => {
    const examples = existsSync(EXAMPLES);
    const { now, mint, file } = examples ? exampleHolders() : fewHolders();
    const directory = temporaryDirectory();
    const ask = await start(directory, now);
    expect((await ask(`token_address=${mint}`)).has_coverage).toBe(false);
    await ingest(directory, 'holders', [file]);
    const covered = async () =>
      (await ask(`token_address=${mint}&include=summary`)).has_coverage as boolean;
    await becomes(covered, true);
    const body = await ask(`token_address=${mint}`);
    expect(Date.parse(body.last_snapshot_at as string)).toBeLessThanOrEqual(1000 * now);
    if (examples) expectReference(body);
    else expect(body.wallets).toMatchObject([{ owner: 'Ann', balance: 12 }]);

    // The flow that is now kept goes with the rows that it was made of.
    await ingest(directory, 'holders', [holderFile(mint, [[now, 'Zoe', 7]])]);
    const wallets = async () =>
      (await ask(`token_address=${mint}&include=wallets`)).wallets as Json[];
    const newest = async () => (await wallets()).map(({ owner }) => owner as string);
    await becomes(newest, ['Zoe']);
  });
});

interface Holders {
  now: number;
  mint: string;
  file: string;
}

function exampleHolders(): Holders {
  const { now, names } = reference();
  const file = path.join(EXAMPLES, 'holders.ndjson');
  return { now: now as number, mint: names.AAA as string, file };
}

function fewHolders(): Holders {
  const mint = 'A'.repeat(40);
  const rows: Row[] = [
    [NOW_S, 'Ann', 12],
    [NOW_S + 1, 'Bob', 99],
  ];
  return { now: NOW_S, mint, file: holderFile(mint, rows) };
}

type Row = [t: number, owner: string, balance: number];

function holderFile(mint: string, rows: readonly Row[]): string {
  const file = path.join(temporaryDirectory(), 'holders.ndjson');
  const lines = rows.map(([t, owner, balance]) =>
    JSON.stringify({ token_address: mint, t, owner, balance }),
  );
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
  return file;
}

function reference(): Json {
  return JSON.parse(readFileSync(path.join(EXAMPLES, 'expected.json'), 'utf8')) as Json;
}

function expectReference(body: Json): void {
  const want = reference().whale_AAA as Json;
  expect(Date.parse(body.last_snapshot_at as string)).toBe(1000 * want.last_snapshot_t);
  expectClose(body.summary, want.summary, 'summary');
  expectClose(body.sparkline, want.sparkline, 'sparkline');
  expect(want.wallets).toHaveLength(10);
  expectClose(body.wallets.slice(0, 10), want.wallets, 'wallets');
}

/** The same to a relative 1e-6, field by field. */
function expectClose(actual: unknown, expected: unknown, at: string): void {
  if (typeof expected === 'number') {
    const tolerance = 1e-6 * Math.abs(expected);
    expect(Math.abs((actual as number) - expected), at).toBeLessThanOrEqual(tolerance);
  } else if (typeof expected === 'object' && expected !== null) {
    expect(Object.keys(actual as object).sort(), at).toEqual(Object.keys(expected).sort());
    for (const [key, value] of Object.entries(expected)) {
      expectClose((actual as Json)[key], value, `${at}.${key}`);
    }
  } else {
    expect(actual, at).toBe(expected);
  }
}
