/** The small market of the examples, from the command line to the wire, against expected.json. */
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  cleanUp,
  fathom,
  newKey,
  serveHere,
  temporaryDirectory,
  type Service,
} from '../support/cli.js';
import { HAS_EXAMPLES, exampleFile, expectedReplies } from '../support/examples.js';
import type { Json } from '../support/tables.js';

interface Expected {
  replay: { token: string; query: Json; pages: Json[] }[];
  names: Json;
  now: number;
}
const { replay, names, now } = HAS_EXAMPLES
  ? expectedReplies<Expected>()
  : { replay: [], names: {}, now: 0 };

/** Amounts agree to the cent. */
const cents = (usd: number) => Math.round(usd * 100);
const sum = (values: number[]) => values.reduce((total, value) => total + cents(value), 0);

/** What a facet's list says by key, and what was expected: relative to 1e-6. */
function expectClose(facets: Json[], expected: Record<string, number>): void {
  expect(facets.map(({ key }) => String(key)).sort()).toEqual(Object.keys(expected).sort());
  for (const { key, usd } of facets) {
    expect(Math.abs(usd / expected[key] - 1)).toBeLessThan(1e-6);
  }
}

/** The name of cell `i`'s market or group as expected.json has it. */
function groupName(page: Json, snapshot: Json, i: number): string | null {
  if (snapshot.group_idx !== undefined) return page.groups[snapshot.group_idx[i]].key;
  if (snapshot.market_idx === undefined) return null;
  const { source, address, pair } = page.markets[snapshot.market_idx[i]];
  const name = address ?? pair;
  return name === null ? source : `${source}/${name}`;
}

function expectPage(page: Json, expected: Json): void {
  const { snapshot_count, row_count, window, facets } = page;
  expect({ snapshot_count, row_count, ...window }).toMatchObject({
    snapshot_count: expected.snapshot_count,
    row_count: expected.row_count,
    served_from: expected.served_from,
    served_to: expected.served_to,
  });
  const summed = page.snapshots.map(({ t, tier, price_usd, bin, ...columns }: Json) => ({
    ...{ t, tier, price_usd, cells: bin.length },
    support: sum(columns.support_usd),
    resistance: sum(columns.resistance_usd),
  }));
  expect(summed).toEqual(
    expected.snapshots.map(({ support_usd, resistance_usd, ...rest }: Json) => ({
      ...rest,
      support: cents(support_usd),
      resistance: cents(resistance_usd),
    })),
  );
  if (facets !== undefined) {
    expectClose(facets.types, expected.facets_types_usd);
    expectClose(facets.venues, expected.facets_venues_usd);
  }
  const newest = page.snapshots.at(-1);
  const cells = newest.bin.map((bin: number, i: number) =>
    JSON.stringify([
      groupName(page, newest, i),
      bin,
      cents(newest.support_usd[i]),
      cents(newest.resistance_usd[i]),
    ]),
  );
  const wanted = expected.newest_cells.map(([group, bin, support, resistance]: Json[]) =>
    JSON.stringify([group, bin, cents(Number(support)), cents(Number(resistance))]),
  );
  expect(cells.sort()).toEqual(wanted.sort());
}

describe.runIf(HAS_EXAMPLES)('the small market', () => {
  const data = path.join(temporaryDirectory(), 'data');
  let server: Service;
  let key: string;

  beforeAll(async () => {
    for (const dataset of ['tokens', 'snapshots', 'cells']) {
      const file = exampleFile(dataset);
      const { status, stderr } = await fathom(['ingest', dataset, file, '--data', data]);
      expect([status, stderr]).toEqual([0, expect.stringContaining(`${file}: `)]);
    }
    key = await newKey(data);
    server = await serveHere(data, ['--as-of', String(now)]);
  });
  afterAll(cleanUp);

  it.each(replay)('answers $token $query as expected', async ({ token, query, pages }) => {
    let from: number | null = now - 30 * 3600;
    for (const expected of pages) {
      const parameters = new URLSearchParams({ ...query, from: String(from), to: String(now) });
      const response = await server.get(`/replay/${names[token]}?${parameters}`, key);
      expect(response.status).toBe(200);
      const page = (await response.json()) as Json;
      expectPage(page, expected);
      from = page.next_from;
    }
    expect(from).toBeNull();
  });
});
