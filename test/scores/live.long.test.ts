/** What a running server does on its own: scores after an ingest, and the queue. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Json } from '../support/conformance.js';
import { asIfKilled, fathom, newKey, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { becomes, eventually } from '../support/waiting.js';

const MINT = 'A'.repeat(43);
const OTHER = 'B'.repeat(43);
const LATER = 'D'.repeat(43);

function snapshotFile(directory: string, address: string, t: number): string {
  const file = path.join(directory, `${address}.ndjson`);
  const markets = [
    { source: 'Orca', exchange_type: 'DEX', pair: 'A/B', cells: [[0, 50_000, 50_000]] },
  ];
  const row = { chain: 'mainchain', address, t, price_usd: 2, markets };
  writeFileSync(file, `${JSON.stringify(row)}\n`);
  return file;
}

it('a running server scores a token after an ingest, and when a snapshot becomes visible', async () => {
  const directory = temporaryDirectory();
  const files = temporaryDirectory();
  const key = await newKey(directory);
  const server = await serveHere(directory);
  const scoreOf = async (address: string): Promise<Json> =>
    (await (await server.get(`/score/${address}`, key)).json()) as Json;
  const ingest = async (address: string, t: number): Promise<void> => {
    const file = snapshotFile(files, address, t);
    const { status } = await fathom(['ingest', 'snapshots', file, '--data', directory]);
    expect(status).toBe(0);
  };
  expect(await scoreOf(MINT)).toMatchObject({ status: 'pending', service_score: null });
  expect(await scoreOf(OTHER)).toMatchObject({ status: 'pending' });

  const laterS = Math.floor(Date.now() / 1000) + 3;
  await ingest(LATER, laterS);
  // `pending` until its data is in memory; a slow machine may get there only when the snapshot is visible.
  await eventually('it has no price', async () => {
    const { status } = await scoreOf(LATER);
    if (Date.now() >= laterS * 1000) return true;
    expect(['pending', 'price_unavailable']).toContain(status);
    return status === 'price_unavailable';
  });

  await ingest(MINT, Math.floor(Date.now() / 1000));
  const statusOf = async (address: string) => (await scoreOf(address)).status as string;
  await becomes(() => statusOf(MINT), 'available');
  expect(await scoreOf(MINT)).toMatchObject({ service_current_price: 2, service_score: 52 });

  const queued = await fathom(['queue', '--json', '--data', directory]);
  expect(JSON.parse(queued.stdout)).toMatchObject([{ address: OTHER }]);

  await becomes(() => statusOf(LATER), 'available');
  expect(Date.now()).toBeGreaterThanOrEqual(laterS * 1000);
});

describe('fathom queue', () => {
  /** What would remain if the server were killed now; null if its files changed while they were copied. */
  async function keptQueue(directory: string): Promise<Json[] | null> {
    try {
      const copy = asIfKilled(directory);
      const { status, stdout } = await fathom(['queue', '--json', '--data', copy]);
      return status === 0 ? (JSON.parse(stdout) as Json[]) : null;
    } catch {
      return null;
    }
  }

  it('lists what waits, oldest first, with the server and without', async () => {
    const directory = temporaryDirectory();
    const key = await newKey(directory);
    const server = await serveHere(directory, ['--as-of', '1794659696']);
    const beforeS = Math.floor(Date.now() / 1000);
    for (const address of [OTHER, MINT, OTHER]) await server.get(`/score/${address}`, key);
    // Neither a 0x token nor a request for market-depth joins the queue.
    await server.get(`/score/0x${'a'.repeat(40)}`, key);
    await server.get(`/market-depth?token_address=${'C'.repeat(40)}`, key);
    const listed = await fathom(['queue', '--json', '--data', directory]);
    expect(listed.status).toBe(0);
    const tokens = JSON.parse(listed.stdout) as Json[];
    expect(tokens.map((row) => [row.address, row.requests])).toEqual(
      tokens[0].requested_at === tokens[1].requested_at
        ? [
            [MINT, 1],
            [OTHER, 2],
          ]
        : [
            [OTHER, 2],
            [MINT, 1],
          ],
    );
    expect(Object.keys(tokens[0])).toEqual(['chain', 'address', 'requested_at', 'requests']);
    // The system's time, not the frozen one.
    for (const { requested_at: atS } of tokens) {
      expect(atS).toBeGreaterThanOrEqual(beforeS);
      expect(atS).toBeLessThanOrEqual(Date.now() / 1000);
    }
    expect(server.logged()).toContain(`"address":"${OTHER}"`);
    // It is written soon and without being asked: a killed server loses nothing that is written.
    await becomes(() => keptQueue(directory), tokens);
    await server.stop();
    const kept = await fathom(['queue', '--json', '--data', directory]);
    expect(JSON.parse(kept.stdout)).toEqual(tokens);
    const files = temporaryDirectory();
    await fathom(['ingest', 'snapshots', snapshotFile(files, MINT, 1000), '--data', directory]);
    const left = await fathom(['queue', '--data', directory]);
    expect(left.stdout).toContain(OTHER);
    expect(left.stdout).not.toContain(MINT);
    expect((await fathom(['queue', 'extra'])).status).toBe(2);
  });
});
