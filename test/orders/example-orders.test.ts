/** The small market's orders, over the wire of the built command. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkReply, type Json } from '../support/conformance.js';
import { HAS_EXAMPLES, exampleFile, exampleRows, expectedReplies } from '../support/examples.js';
import { ingest } from '../support/ingest.js';
import {
  cleanUp,
  fathom,
  newKey,
  serveHere,
  temporaryDirectory,
  type Service,
} from '../support/cli.js';
import { becomes } from '../support/waiting.js';

const DATASETS = ['tokens', 'snapshots', 'cells', 'dca_orders', 'limit_orders'] as const;
const TOLERANCE = 1e-6;

interface Expected {
  now: number;
  names: Record<string, string>;
  dca_orders: Record<string, { in_active_range: boolean; flow: Record<string, number> }>;
  limit_orders_AAA_all: [string, number][];
}

const close = (actual: number, expected: number): boolean =>
  Math.abs(actual - expected) <= TOLERANCE * Math.abs(expected);

describe.runIf(HAS_EXAMPLES)('the example orders', () => {
  let expected: Expected;
  let server: Service;
  let key: string;
  let directory: string;

  beforeAll(async () => {
    expected = expectedReplies<Expected>();
    directory = temporaryDirectory();
    for (const dataset of DATASETS) {
      await ingest(directory, dataset, [exampleFile(dataset)]);
    }
    key = await newKey(directory);
    server = await serveHere(directory, ['--as-of', String(expected.now)]);
  });
  afterAll(async () => {
    await cleanUp();
  });

  async function bodyOf(pathAndQuery: string): Promise<Json> {
    const response = await server.get(pathAndQuery, key);
    await checkReply('GET', response.url, response);
    expect(response.status).toBe(200);
    return (await response.json()) as Json;
  }

  it('have the ranges and flows of the reference, every order once', async () => {
    const seen = new Set<string>();
    const mints = new Set(exampleRows('dca_orders').map((row) => String(row.token_address)));
    for (const mint of mints) {
      for (const sort of ['usd_flow', 'pct_impact']) {
        const query = `token_address=${mint}&limit=50&sort_by=${sort}`;
        const { orders } = await bodyOf(`/dca-orders?${query}`);
        const flows = (orders as Json[]).map((order) => {
          const address = String(order.dca_address);
          const want = expected.dca_orders[address];
          seen.add(address);
          expect(order.in_active_range, address).toBe(want.in_active_range);
          for (const [timeframe, usd] of Object.entries(want.flow)) {
            const actual: number = order.flow_projections[`usd_next_${timeframe}`];
            expect(close(actual, usd), `${address} ${timeframe}: ${actual}, not ${usd}`).toBe(true);
          }
          return want.flow['24_hr'];
        });
        if (sort === 'usd_flow') expect(flows).toEqual([...flows].sort((a, b) => b - a));
      }
    }
    expect([...seen].sort()).toEqual(Object.keys(expected.dca_orders).sort());
    expect(seen.size).toBeGreaterThan(40);
  });

  it('are as far away as the reference has them, nearest first, on both legs', async () => {
    const want = expected.limit_orders_AAA_all;
    const query = `token_address=${expected.names.AAA}&chain=all&limit=500`;
    // The reference has every order, whatever the distance.
    const { orders } = await bodyOf(`/limit-orders?${query}&low_pct_change=-0.99`);
    const within = want.filter(([, pctAway]) => pctAway >= -0.99 && pctAway <= 10);
    expect(within.length).toBeGreaterThan(20);
    expect((orders as Json[]).map((order) => order.order_address)).toEqual(
      within.map(([address]) => address),
    );
    for (const [i, [address, pctAway]] of within.entries()) {
      expect(close(orders[i].pct_away as number, pctAway), address).toBe(true);
    }
    const chains = new Set((orders as Json[]).map((order) => String(order.chain)));
    expect([...chains].sort()).toEqual(['evmchain', 'mainchain']);
    for (const [asked, chain] of [
      [expected.names.AAA, 'evmchain'],
      [expected.names.AAAe, 'evmchain'],
      [expected.names.AAAe, 'mainchain'],
    ]) {
      const body = await bodyOf(`/limit-orders?token_address=${asked}&chain=${chain}&limit=500`);
      const own = (orders as Json[]).filter(
        (order) => order.chain === chain && order.pct_away >= -0.9,
      );
      expect(body.orders).toEqual(own);
    }
  });

  it('follow an ingest by themselves', async () => {
    const query = `/limit-orders?token_address=${expected.names.AAA}`;
    const [nearest] = (await bodyOf(query)).orders as Json[];
    const row = exampleRows('limit_orders').find(
      ({ order_address: address }) => address === nearest.order_address,
    );
    const file = path.join(temporaryDirectory(), 'closed.ndjson');
    writeFileSync(file, `${JSON.stringify({ ...row, closed: true })}\n`);
    const ended = await fathom(['ingest', 'limit_orders', file, '--data', directory]);
    expect(ended).toMatchObject({ status: 0 });
    const isListed = async () =>
      ((await bodyOf(query)).orders as Json[]).some(
        ({ order_address: address }) => address === nearest.order_address,
      );
    await becomes(isListed, false);
  });
});
