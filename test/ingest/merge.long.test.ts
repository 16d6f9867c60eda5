/** `--merge`: how collectors of several venues build one ladder. */
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Chunk, headsOfChunk } from '../../compute/ingest/chunk.js';
import { withBasePrices } from '../../storage/ingest/base-prices.js';
import { StoreChangedError } from '../../storage/errors.js';
import type { Store } from '../../storage/store.js';
import { newKey, replayedBy, serveHere } from '../support/cli.js';
import {
  faultsOf,
  ingest,
  type IngestOptions,
  lines,
  MINT,
  Scratch,
  snapshotsIn,
} from '../support/ingest.js';
import { bundleOf, openStore, orca, snapshot } from '../support/stores.js';
import {
  cellsOfSnapshot,
  writeCellsArrow,
  type Json,
  type SnapshotRow,
} from '../support/tables.js';

const T = 1_794_000_000;

const scratch = Scratch.held();
const place = scratch.place.bind(scratch);
async function* headed(chunks: AsyncIterable<Chunk>) {
  for await (const chunk of chunks) yield { chunk, heads: headsOfChunk(chunk) };
}

const ndjson = (rows: readonly object[]) => scratch.file('.ndjson', lines(rows));

const row = (t: number, price: number, ...markets: Json[]): SnapshotRow => ({
  chain: 'mainchain',
  address: MINT,
  t,
  price_usd: price,
  markets,
});
const cex = (source: string, bids: number[][], asks: number[][]): Json => ({
  source,
  exchange_type: 'CEX',
  pair: 'A/USD',
  book: { bids, asks },
});
const withCells = (source: string, cells: number[][]): Json => ({
  source,
  exchange_type: 'CEX',
  pair: 'A/USD',
  cells,
});

// Two collectors that see the token at different prices.
const first = [0, 60].map((s) =>
  row(
    T + s,
    2,
    cex(
      'Kraken',
      [
        [1.99, 50],
        [1.5, 10],
      ],
      [[2.01, 70]],
    ),
  ),
);
const second = [0, 60].map((s) =>
  row(
    T + s,
    2.1,
    cex(
      'Binance',
      [[2.09, 30]],
      [
        [2.11, 20],
        [2.5, 4],
      ],
    ),
  ),
);

/** A store that stays open, by the directory's name. */
const stores = new Map<string, Store>();
async function storeOf(data: string): Promise<Store> {
  const store = stores.get(data) ?? (await openStore(data));
  stores.set(data, store);
  return store;
}
const send = async (data: string, files: string[], options: IngestOptions = {}) =>
  ingest(data, 'snapshots', files, { ...options, store: await storeOf(data) });
const stored = async (data: string) => snapshotsIn(await storeOf(data), 'mainchain', MINT);

afterAll(async () => {
  for (const store of stores.values()) await store.close();
});

/** Depth by snapshot: the cells, regardless of the order of markets. */
async function depthOf(data: string) {
  const snapshots = await stored(data);
  return snapshots.map(({ cells, ...rest }) => ({
    ...rest,
    cells: cells.map((cell) => JSON.stringify(cell)).sort(),
  }));
}

describe('two collectors', () => {
  const data = place('kraken-first');
  beforeAll(async () => {
    await send(data, [ndjson(first)]);
    await send(data, [ndjson(second)], { merge: true });
  });

  it('build one ladder around the price of the first one', async () => {
    const [snapshot] = await stored(data);
    expect(snapshot).toMatchObject({ t: T, priceUsd: 2 });
    // floor(ln(p / 2) / ln(1.01) + 0.5) by hand.
    expect(snapshot.cells).toEqual([
      ['Kraken/A/USD', -29, 1500, 0],
      ['Kraken/A/USD', -1, 9950, 0],
      ['Kraken/A/USD', 1, 0, 14070],
      ['Binance/A/USD', 4, 6270, 0],
      ['Binance/A/USD', 5, 0, 4220],
      ['Binance/A/USD', 22, 0, 1000],
    ]);
  });

  it('give the same depth in the other order, around the other price, or within one file', async () => {
    const other = place('binance-first');
    await send(other, [ndjson(second)], { merge: true });
    await send(other, [ndjson(first)], { merge: true });
    const around = second.map(({ t, price_usd }, i) =>
      row(t, price_usd, ...first[i].markets, ...second[i].markets),
    );
    const whole = place('whole');
    await send(whole, [ndjson(around)]);
    expect(await depthOf(other)).toEqual(await depthOf(whole));
    const oneFile = place('one-file');
    await send(oneFile, [ndjson([...first, ...second])], { merge: true });
    expect(await depthOf(oneFile)).toEqual(await depthOf(data));
  });

  it('have the price of the stored snapshot or of the first row, in whichever chunk it is', async () => {
    const chunk = (...rows: object[]): Chunk => ({
      kind: 'snapshotLines',
      firstLine: 1,
      bytes: Buffer.from(lines(rows)),
    });
    const all = [
      chunk(row(T, 3), row(T + 1, 5), [], row(T + 2, 7)),
      chunk({ ...row(T + 3, 0), price_usd: 'x' }, row(T + 2, 8), row(T + 60, 4), row(T + 1, 6)),
    ];
    const chunks = () => Readable.from(all) as AsyncIterable<Chunk>;
    const store = await storeOf(data);
    const found = withBasePrices('a file', chunks(), chunks(), headed, (body) => body(store));
    const prices: unknown[] = [];
    for await (const { basePrices = new Map() } of found)
      prices.push(Object.fromEntries(basePrices));
    const at = (offset: number) => `mainchain ${MINT} raw ${T + offset}`;
    expect(prices).toEqual([
      { [at(0)]: 2, [at(1)]: 5, [at(2)]: 7 },
      { [at(3)]: NaN, [at(2)]: 7, [at(60)]: 2, [at(1)]: 5 },
    ]);
  });
});

describe('cells made elsewhere', () => {
  const expected = (name: string, line: number, price: number) => [
    `${name}:${line}: price_usd: must be ${price}, the price of the existing snapshot: these cells were binned around another price`,
  ];

  it('are refused if they were binned around another price than the existing one', async () => {
    const data = place('cells');
    const store = await storeOf(data);
    await send(data, [ndjson(first)]);
    const before = await stored(data);
    const rows = [
      row(T, 2, withCells('Bybit', [[0, 5, 0]])),
      row(T + 60, 2.1, withCells('Bybit', [[0, 5, 0]])),
    ];
    const nested = ndjson(rows);
    expect(await faultsOf(data, 'snapshots', nested, { merge: true, store })).toEqual(
      expected(nested, 2, 2),
    );
    const market = { source: 'Bybit', exchange_type: 'CEX', pair: 'A/USD' };
    const flat = [T, T + 60].flatMap((t, i) =>
      cellsOfSnapshot(MINT, t, 2 + i / 10, market, [
        [0, 5, 0],
        [1, 0, 7],
      ]),
    );
    const inLines = ndjson(flat);
    expect(await faultsOf(data, 'cells', inLines, { merge: true, store })).toEqual(
      expected(inLines, 3, 2),
    );
    const arrow = place('cells.arrow');
    writeCellsArrow(arrow, flat, { form: 'file', dictionary: true, t: 'int32' });
    expect(await faultsOf(data, 'cells', arrow, { merge: true, store })).toEqual(
      expected(arrow, 3, 2),
    );
    expect(await stored(data)).toEqual(before);
    await ingest(data, 'cells', [ndjson(flat.slice(0, 2))], { merge: true, store });
    const [merged] = await stored(data);
    expect(merged.cells.slice(-2)).toEqual([
      ['Bybit/A/USD', 0, 500, 0],
      ['Bybit/A/USD', 1, 0, 700],
    ]);
  });
});

it.each([
  ['again until its price stays', 4, true],
  ['five times at most', 5, false],
])('a file is prepared %s', async (_, changes, isStored) => {
  const data = place(`changed-${changes}`);
  await send(data, [ndjson(first)]);
  const store = await storeOf(data);
  const commit = store.commit.bind(store);
  let price = 2;
  vi.spyOn(store, 'commit').mockImplementation(async (name) => {
    if (price < 2 + changes) {
      // Somebody else replaces the snapshot just before.
      const other = await bundleOf(store, [snapshot(T, [orca()], { price_usd: ++price })]);
      await commit(other.name);
      await other.discard();
    }
    return commit(name);
  });
  const sending = send(data, [ndjson(second)], { merge: true });
  if (isStored) await sending;
  else await expect(sending).rejects.toThrow(StoreChangedError);
  const [{ priceUsd, cells }] = await stored(data);
  const names = ['Orca/pool-1', ...(isStored ? ['Binance/A/USD'] : [])];
  expect([priceUsd, [...new Set(cells.map(([name]) => name))]]).toEqual([2 + changes, names]);
});

it('over HTTP files ingested again, in another order, change no byte of replay', async () => {
  const data = place('wire');
  const key = await newKey(data);
  // Files reach the store through the server: to open a store takes longer than all else here.
  const server = await serveHere(data, ['--as-of', String(T + 600)]);
  const [a, b] = [ndjson(first), ndjson(second)];
  const queries = [`${MINT}?group=venue`, `${MINT}?group=all`, MINT];
  await ingest(data, 'snapshots', [a, b], { merge: true });
  const bytes = await replayedBy(server, key, queries);
  await ingest(data, 'snapshots', [b, a], { merge: true });
  expect(await replayedBy(server, key, queries)).toEqual(bytes);
  const [venues] = bytes.map((text) => JSON.parse(text.replace(/^200 /, '')) as Json);
  expect(venues.facets.venues.map(({ key }: Json) => key).sort()).toEqual(['binance', 'kraken']);
  expect(venues.snapshots[0].price_usd).toBe(2);
});
