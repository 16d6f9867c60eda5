import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import * as reference from '../reference/binning.js';
import { LadderAccumulator } from '../../compute/ingest/accumulator.js';
import type { BinnedChunk } from '../../compute/ingest/binned-chunk.js';
import { addClmm, readClmm } from '../../compute/ingest/clmm.js';
import { addDlmm, readDlmm } from '../../compute/ingest/dlmm.js';
import { FaultLog } from '../../compute/ingest/fields.js';
import { packCellLines } from '../../compute/ingest/flat-cells.js';
import { binSnapshotLines, binSnapshotRows } from '../../compute/ingest/snapshots.js';
import { binsOfBand, MIN_BIN } from '../../compute/ladder.js';
import { type Market, venueKey } from '../../compute/market.js';

const shared = path.resolve('..', 'shared');
const examples = path.join(shared, 'examples');
const TOKENS: Record<string, string> = {
  AAA: 'FfELSfH3w4ssFFDaiJyyR4vEDSc8tx2hi1EaqEDdaqaw',
  HHH: '5BPTUYeFypLm86tAbvo3oC32NFuuW8JSRTVTkvDRitW1',
};

/** A file's text; nothing where the shared material is absent and the tests on it do not run. */
const textOf = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8') : '');

interface Query {
  group?: string;
  min_pct?: number;
  max_pct?: number;
  exclude_types?: string;
  venues?: string;
}

interface ExpectedPage {
  row_count: number;
  snapshots: {
    t: number;
    tier: string;
    price_usd: number;
    support_usd: number;
    resistance_usd: number;
  }[];
  newest_cells: [string | null, number, number, number][];
}

const keeps = (query: Query, market: Market) =>
  !query.exclude_types?.split(',').includes(market.type) &&
  (query.venues === undefined || query.venues.split(',').includes(venueKey(market.source)));

const groupOf = (query: Query, market: Market): string | null => {
  if (query.group === 'all') return null;
  if (query.group === 'type') return market.type;
  if (query.group === 'venue') return venueKey(market.source);
  const name = market.address ?? market.pair;
  return name === null ? market.source : `${market.source}/${name}`;
};

/** Expected cells in the shape that `served` gives. */
const centsByGroup = (cells: ExpectedPage['newest_cells']) =>
  Object.fromEntries(
    cells.map(([group, bin, support, resistance]) => [
      `${group} ${bin}`,
      [Math.round(support * 100), Math.round(resistance * 100)],
    ]),
  );

/** One snapshot's cells as a query serves them: cents by `group bin`. */
function served(batches: BinnedChunk[], token: string, tier: string, t: number, query: Query) {
  const { first, last } = binsOfBand(query.min_pct ?? -50, query.max_pct ?? 100);
  const cells = new Map<string, [number, number]>();
  for (const { run, markets } of batches.flatMap((batch) => batch.runs)) {
    const s = run.t.indexOf(t);
    if (run.address !== TOKENS[token] || run.tier !== tier || s < 0) continue;
    for (let i = run.cellOffsets[s]; i < run.cellOffsets[s + 1]; i++) {
      const market = markets[run.market[i]];
      if (run.bin[i] < first || run.bin[i] > last || !keeps(query, market)) continue;
      const key = `${groupOf(query, market)} ${run.bin[i]}`;
      const cell = cells.get(key) ?? [0, 0];
      cell[0] += run.supportCents[i];
      cell[1] += run.resistanceCents[i];
      cells.set(key, cell);
    }
  }
  return cells;
}

describe('a snapshot of every kind of market', () => {
  it('gives the cells that another implementation gave', () => {
    const { row, cells } = JSON.parse(readFileSync('test/fixtures/binning/snapshot.json', 'utf8'));
    const batch = binSnapshotRows([row], { firstLine: 1, mode: 'replace' });
    expect(batch.faults).toEqual([]);
    expect(Object.fromEntries(served([batch], 'AAA', row.tier, row.t, {}))).toEqual(
      centsByGroup(cells),
    );
  });
});

describe.runIf(existsSync(examples))('the small market', () => {
  const { replay } = JSON.parse(
    textOf(path.join(examples, 'expected.json')) || '{"replay":[]}',
  ) as {
    replay: { token: string; query: Query; pages: ExpectedPage[] }[];
  };
  const options = { firstLine: 1, mode: 'replace' as const };
  const nested = binSnapshotLines({
    ...options,
    bytes: Buffer.from(textOf(path.join(examples, 'snapshots.ndjson'))),
  });
  const flat = packCellLines({
    ...options,
    bytes: Buffer.from(textOf(path.join(examples, 'cells.ndjson'))),
  });

  it('is read without a fault', () => {
    expect(nested.faults).toEqual([]);
    expect(flat.faults).toEqual([]);
    expect(flat.snapshots).toBe(3);
    expect(nested.rows).toBe(nested.snapshots);
  });

  it.each(replay)('gives the expected numbers of $token $query', ({ token, query, pages }) => {
    let rows = 0;
    for (const page of pages) {
      for (const expected of page.snapshots) {
        const cells = served([nested, flat], token, expected.tier, expected.t, query);
        const sums = [0, 0];
        for (const [support, resistance] of cells.values()) {
          sums[0] += support;
          sums[1] += resistance;
        }
        rows += cells.size;
        expect(sums[0]).toBe(Math.round(expected.support_usd * 100));
        expect(sums[1]).toBe(Math.round(expected.resistance_usd * 100));
      }
      const newest = page.snapshots[page.snapshots.length - 1];
      const cells = served([nested, flat], token, newest.tier, newest.t, query);
      expect(Object.fromEntries(cells)).toEqual(centsByGroup(page.newest_cells));
    }
    expect(rows).toBe(pages.reduce((sum, page) => sum + page.row_count, 0));
  });
});

const lines = (file: string) =>
  textOf(path.join(shared, 'data', file))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

function expectNear(into: LadderAccumulator, ladder: reference.Ladder) {
  const most = Math.max(...into.supportUsd, ...into.resistanceUsd);
  expect(most).toBeGreaterThan(0);
  for (const side of ['support', 'resistance'] as const) {
    into[`${side}Usd`].forEach((usd, i) => {
      const expected = ladder[side].get(MIN_BIN + i) ?? 0;
      expect(Math.abs(usd - expected)).toBeLessThanOrEqual(1e-9 * expected + 1e-12 * most);
    });
  }
}

const clmmFile = 'clmm/evm/clmm_pools.ndjson';
const dlmmFile = 'dlmm/dlmm_bins.ndjson';

describe.runIf(existsSync(path.join(shared, 'data', clmmFile)))('real pools', () => {
  it.each(lines(clmmFile))('of concentrated liquidity agree with the reference: $pool', (state) => {
    for (const token of [0, 1] as const) {
      const body = {
        sqrt_price_x96: state.sqrt_price_x96,
        ticks: state.ticks.map(([tick, net]: [number, string]) => [tick, String(net)]),
        decimals0: state.token0.decimals,
        decimals1: state.token1.decimals,
        token,
        quote_usd: 1,
      };
      const root = Number(body.sqrt_price_x96) / 2 ** 96;
      const price = root * root * 10 ** (body.decimals0 - body.decimals1);
      const into = new LadderAccumulator();
      into.reset(token === 0 ? price : 1 / price);
      addClmm(into, readClmm(body, 'clmm', new FaultLog())!);
      expectNear(into, reference.binClmm(into.priceUsd, body));
    }
  });

  it.each(lines(dlmmFile))('of discrete bins agree with the reference: $pool', (state) => {
    const { decimals: decimals_x } = state.token_x;
    const { decimals: decimals_y } = state.token_y;
    for (const token of ['x', 'y'] as const) {
      const body = {
        bin_step: state.bin_step,
        active_id: state.active_id,
        bins: state.bins.map(([id, x, y]: [number, string, string]) => [
          id,
          Number(x) / 10 ** decimals_x,
          Number(y) / 10 ** decimals_y,
        ]),
        decimals_x,
        decimals_y,
        token,
        quote_usd: 1,
      };
      const into = new LadderAccumulator();
      // A little off the pool's price: bins of 100 bp would else lie on the ladder's edges.
      into.reset(reference.dlmmPrice(body, body.active_id) * 1.0007);
      addDlmm(into, readDlmm(body, 'dlmm', new FaultLog())!);
      const ladder = reference.binDlmm(into.priceUsd, body);
      expectNear(into, ladder);
      expect(into.droppedLevels).toBe(ladder.dropped);
    }
  });
});
