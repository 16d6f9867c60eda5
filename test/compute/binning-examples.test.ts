import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import * as reference from '../reference/binning.js';
import { LadderAccumulator } from '../../compute/ingest/accumulator.js';
import type { BinnedChunk } from '../../compute/ingest/binned-chunk.js';
import { addClmm, readClmm } from '../../compute/ingest/clmm.js';
import { addDlmm, readDlmm } from '../../compute/ingest/dlmm.js';
import { FaultLog } from '../../compute/ingest/fields.js';
import { binSnapshotRows } from '../../compute/ingest/snapshots.js';
import { DEFAULT_BAND, MIN_BIN } from '../../compute/ladder.js';

const shared = path.resolve('..', 'shared');
/** A file's text; empty if the shared material is absent, in which case the tests on it do not run. */
const textOf = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8') : '');

/** A snapshot's cells in the default band: cents by market and bin. */
function centsByCell({ run, markets }: BinnedChunk['runs'][number]) {
  const cells = Array.from(run.bin, (bin, i) => {
    const { source, address, pair } = markets[run.market[i]];
    const name = address ?? pair;
    const market = name === null ? source : `${source}/${name}`;
    return [market, bin, run.supportCents[i], run.resistanceCents[i]] as const;
  });
  return cells.filter(([, bin]) => bin >= DEFAULT_BAND.first && bin <= DEFAULT_BAND.last);
}

it('a snapshot of every kind of market gives the cells of another implementation', () => {
  const { row, cells } = JSON.parse(readFileSync('test/fixtures/binning/snapshot.json', 'utf8'));
  const batch = binSnapshotRows([row], { firstLine: 1, mode: 'replace' });
  expect(batch.faults).toEqual([]);
  const [run, ...others] = batch.runs;
  expect(others).toEqual([]);
  expect([run.run.tier, [...run.run.t]]).toEqual([row.tier, [row.t]]);
  const expected = cells.map(([market, bin, ...usd]: [string, number, number, number]) => [
    ...[market, bin],
    ...usd.map((amount) => Math.round(amount * 100)),
  ]);
  expect(centsByCell(run).map(String).sort()).toEqual(expected.map(String).sort());
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
      const isNear = Math.abs(usd - expected) <= 1e-9 * expected + 1e-12 * most;
      if (!isNear) expect([side, MIN_BIN + i, usd]).toEqual([side, MIN_BIN + i, expected]);
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
      // A little off the pool's price: otherwise bins of 100 bp would be on the ladder's edges.
      into.reset(reference.dlmmPrice(body, body.active_id) * 1.0007);
      addDlmm(into, readDlmm(body, 'dlmm', new FaultLog())!);
      const ladder = reference.binDlmm(into.priceUsd, body);
      expectNear(into, ladder);
      expect(into.droppedLevels).toBe(ladder.dropped);
    }
  });
});
