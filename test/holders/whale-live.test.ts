/** Whale activity with the built command: what an ingest changes. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { newKey, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { checkReply, type Json } from '../support/conformance.js';
import { ingest } from '../support/ingest.js';
import { becomes } from '../support/waiting.js';

const MINT = 'A'.repeat(40);
const NOW_S = 1_794_659_696;

/** The tests request more often than once a second. */
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
  it('has the rows of an ingest within a second, and with --as-of no later ones', async () => {
    const directory = temporaryDirectory();
    const ask = await start(directory, NOW_S);
    expect((await ask(`token_address=${MINT}`)).has_coverage).toBe(false);
    const rows: Row[] = [
      [NOW_S, 'Ann', 12],
      [NOW_S + 1, 'Bob', 99],
    ];
    await ingest(directory, 'holders', [holderFile(rows)]);
    const covered = async () =>
      (await ask(`token_address=${MINT}&include=summary`)).has_coverage as boolean;
    await becomes(covered, true);
    const body = await ask(`token_address=${MINT}`);
    expect(Date.parse(body.last_snapshot_at as string)).toBeLessThanOrEqual(1000 * NOW_S);
    expect(body.wallets).toMatchObject([{ owner: 'Ann', balance: 12 }]);

    // The flow kept now goes with the rows from which it was made.
    await ingest(directory, 'holders', [holderFile([[NOW_S, 'Zoe', 7]])]);
    const wallets = async () =>
      (await ask(`token_address=${MINT}&include=wallets`)).wallets as Json[];
    const newest = async () => (await wallets()).map(({ owner }) => owner as string);
    await becomes(newest, ['Zoe']);
  });
});

type Row = [t: number, owner: string, balance: number];

function holderFile(rows: readonly Row[]): string {
  const file = path.join(temporaryDirectory(), 'holders.ndjson');
  const lines = rows.map(([t, owner, balance]) =>
    JSON.stringify({ token_address: MINT, t, owner, balance }),
  );
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
  return file;
}
