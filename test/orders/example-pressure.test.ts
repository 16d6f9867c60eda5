/** The small market's pressure board, over the wire of the built command. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TIMEFRAMES } from '../../compute/orders/dca-orders.js';
import { checkReply, type Json } from '../support/conformance.js';
import { HAS_EXAMPLES, exampleFile, expectedReplies } from '../support/examples.js';
import { ingest as ingestHere } from '../support/ingest.js';
import {
  cleanUp,
  fathom,
  newKey,
  serveHere,
  temporaryDirectory,
  type Service,
} from '../support/cli.js';
import { becomes } from '../support/waiting.js';

const DATASETS = ['tokens', 'snapshots', 'cells', 'dca_orders'] as const;
const TOLERANCE = 1e-6;

interface Expected {
  now: number;
  names: Record<string, string>;
  score: Record<string, { support_liquidity?: number; current_price: number | null }>;
  dca_pressure: Record<string, Json>;
}

describe.runIf(HAS_EXAMPLES)('the example board', () => {
  let expected: Expected;
  let server: Service;
  let key: string;
  let directory: string;

  beforeAll(async () => {
    expected = expectedReplies<Expected>();
    directory = temporaryDirectory();
    key = await newKey(directory);
    for (const dataset of DATASETS) await ingestHere(directory, dataset, [exampleFile(dataset)]);
    server = await serveHere(directory, ['--as-of', String(expected.now)]);
  });
  afterAll(cleanUp);

  async function ingest(dataset: string, file: string): Promise<void> {
    const { status, stderr } = await fathom(['ingest', dataset, file, '--data', directory]);
    expect([status, stderr], dataset).toEqual([0, expect.not.stringContaining('refused')]);
  }

  async function board(query = 'limit=50'): Promise<Json> {
    const response = await server.get(`/dca-pressure?${query}`, key);
    await checkReply('GET', response.url, response);
    expect(response.status).toBe(200);
    return (await response.json()) as Json;
  }

  const names = (body: Json): string[] =>
    body.tokens.map(({ token }: Json) => {
      const found = Object.entries(expected.names).find(([, address]) => address === token.address);
      return found?.[0] ?? token.address;
    });

  const byAddress = (a: string, b: string): number =>
    expected.names[a] < expected.names[b] ? -1 : 1;

  it('has the tokens and numbers of the reference', async () => {
    const body = await board();
    expect(names(body).sort()).toEqual(Object.keys(expected.dca_pressure).sort());
    for (const [i, name] of names(body).entries()) {
      const item = (body.tokens as Json[])[i];
      expectClose(item.token.price_usd, expected.score[name].current_price, name);
      expectAll(item, expected.dca_pressure[name], name);
    }
  });

  it('ranks them by every sort, timeframe and direction', async () => {
    const before = (x: number | null, y: number | null, sign: number): number => {
      if (x === y) return 0;
      if (x === null || y === null) return x === null ? 1 : -1;
      return sign * (x - y);
    };
    for (const timeframe of TIMEFRAMES) {
      for (const [sort, field] of [
        ['usd', 'net_usd'],
        ['impact', 'net_pct'],
      ]) {
        for (const [direction, sign] of [
          ['desc', -1],
          ['asc', 1],
        ] as const) {
          const valueOf = (name: string): number | null =>
            expected.dca_pressure[name].impact[`${field}_${timeframe}`];
          const want = Object.keys(expected.dca_pressure).sort(
            (a, b) => before(valueOf(a), valueOf(b), sign) || byAddress(a, b),
          );
          const query = `sort_by=${sort}&sort_dir=${direction}&sort_timeframe=${timeframe}`;
          expect(names(await board(`${query}&limit=50`)), query).toEqual(want);
        }
      }
    }
  });

  it('keeps tokens by their Support Liquidity', async () => {
    const liquidityOf = (name: string): number => expected.score[name].support_liquidity ?? NaN;
    const middle = Object.keys(expected.dca_pressure)
      .map(liquidityOf)
      .sort((a, b) => a - b)[5];
    const kept = names(await board(`limit=50&min_liquidity=${(middle - 0.5).toFixed(2)}`));
    expect(kept.length).toBeGreaterThan(0);
    for (const name of Object.keys(expected.dca_pressure)) {
      expect(kept.includes(name), name).toBe(liquidityOf(name) >= middle - 0.5);
    }
  });

  it('follows closed orders and new prices within a second', async () => {
    const [line] = readFileSync(exampleFile('dca_orders'), 'utf8')
      .split('\n')
      .filter((text) => text.includes(expected.names.AAA) && !text.includes('"closed": true'));
    const order = JSON.parse(line) as Json;
    const files = temporaryDirectory();
    const rowsFile = (name: string, row: Json): string => {
      const file = path.join(files, name);
      writeFileSync(file, `${JSON.stringify(row)}\n`);
      return file;
    };
    const itemOf = async (name: string): Promise<Json> => {
      const body = await board();
      return (body.tokens as Json[])[names(body).indexOf(name)];
    };
    const { buy_order_count: buys, sell_order_count: sells } = await itemOf('AAA');
    await ingest('dca_orders', rowsFile('orders.ndjson', { ...order, closed: true }));
    await becomes(
      async () => {
        const item = await itemOf('AAA');
        return item.buy_order_count + item.sell_order_count;
      },
      buys + sells - 1,
    );
    const snapshot = { chain: 'mainchain', address: expected.names.AAA, t: expected.now };
    const markets = [{ source: 'Orca', exchange_type: 'DEX', pair: 'A/B', cells: [[0, 9, 9]] }];
    await ingest(
      'snapshots',
      rowsFile('prices.ndjson', { ...snapshot, price_usd: 123.5, markets }),
    );
    await becomes(async () => (await itemOf('AAA')).token.price_usd, 123.5);
  });
});

/** Every number of `want` in `actual`, and whatever holds them. */
function expectAll(actual: Json, want: Json, name: string): void {
  for (const [field, value] of Object.entries(want)) {
    if (value !== null && typeof value === 'object') {
      expectAll(actual[field] as Json, value as Json, `${name}.${field}`);
    } else expectClose(actual[field], value, `${name}.${field}`);
  }
}

function expectClose(actual: number | null, want: number | null, name: string): void {
  if (actual === null || want === null) {
    expect(actual, name).toBe(want);
    return;
  }
  const allowed = TOLERANCE * Math.max(Math.abs(want), 1e-3);
  expect(Math.abs(actual - want), `${name}: ${actual} for ${want}`).toBeLessThanOrEqual(allowed);
}
