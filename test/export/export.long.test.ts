import { existsSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RemotePage } from '../../server/download/page.js';
import { MemoryDatabase } from '../../storage/duckdb/memory-database.js';
import type { SqlRow } from '../../storage/duckdb/statements.js';
import {
  digestOf,
  fathom,
  fathomProcess,
  newKey,
  serveHere,
  type Service,
} from '../support/cli.js';
import { atEnd, temporaryDirectory } from '../support/folders.js';
import { MAIN, start } from '../support/processes.js';
import { becomes, eventually } from '../support/waiting.js';
import { exportedFiles, inodesOf, rowsOf } from './exports.js';

const DAY_S = 86_400;
const MINTS = [
  'So11111111111111111111111111111111111111112',
  'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
];
const FIRST_DAY = Math.floor(Date.now() / 1000 / DAY_S) * DAY_S - 5 * DAY_S;
/** Not at the end of a day, nor of the data. */
const TO = FIRST_DAY + 3 * DAY_S + 40_000;
const SEED = Number(process.env.FATHOM_SEED ?? 7);

/** Numbers from 0 to 1. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}

const VENUES = [
  ['Orca', 'DEX', 'onchain_pool', 'pool-1', 'SOL/USDC'],
  ['Orca', 'DEX', 'onchain_pool', 'pool-2', null],
  ['Kraken', 'CEX', 'cex_spot', null, 'SOL/USD'],
  ['Perps, "Inc"', 'CEX', 'cex_perp', null, 'SOL-PERP'],
  ['Book ünder', 'DEX', 'onchain_limit_order', 'book', "it's"],
] as const;

/** Snapshots of all tiers, some of which hide others, at the edges of days and steps too; some without cells. */
function randomSnapshots(seed: number, address: string): object[] {
  const random = randomNumbers(seed);
  const rows: object[] = [];
  const add = (t: number, tier: string): void => {
    const markets = VENUES.filter(() => random() < 0.6).map(
      ([source, exchange_type, type, place, pair]) => {
        const bins = [...new Set(Array.from({ length: 6 }, () => Math.floor(random() * 160) - 80))];
        const cents = () => Math.floor(random() ** 4 * 1e12) / 100;
        return {
          ...{ source, exchange_type, type, address: place, pair },
          cells: bins
            .sort((a, b) => a - b)
            .map((bin) => (bin < 0 ? [bin, cents(), 0] : [bin, bin === 0 ? cents() : 0, cents()])),
        };
      },
    );
    const price_usd = 150 + random() * 10;
    rows.push({ chain: 'mainchain', address, t, tier, price_usd, markets });
  };
  for (let t = FIRST_DAY; t < FIRST_DAY + 4 * DAY_S; t += 600) {
    // Raw snapshots have holes, in which coarser ones are shown.
    const isHole = Math.floor(t / 20_000) % 3 === 0;
    if (!isHole && random() < 0.7)
      add(t + (random() < 0.5 ? 0 : Math.floor(random() * 600)), 'raw');
    if (t % 900 === 0 && random() < 0.8) add(t, '15m');
    if (t % 3600 === 0 && random() < 0.9) add(t, '1h');
  }
  return rows;
}

async function ingest(data: string, rows: readonly object[]): Promise<void> {
  const file = path.join(temporaryDirectory(), 'rows.ndjson');
  writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'));
  expect(await fathom(['ingest', 'snapshots', file, '--data', data])).toMatchObject({ status: 0 });
}

interface Stored {
  data: string;
  key: string;
  rows: object[];
}

async function newStore(seed: number): Promise<Stored> {
  const data = path.join(temporaryDirectory(), 'data');
  const rows = MINTS.flatMap((address, i) => randomSnapshots(seed + i, address));
  await ingest(data, rows);
  return { data, rows, key: await newKey(data) };
}

/** What /replay shows, as rows of `cells` without the columns that are computed. */
async function replayed(server: Service, key: string, mint: string, query: string) {
  const rows: SqlRow[] = [];
  const snapshots: [number, string, number, number][] = [];
  let from: number | null = FIRST_DAY;
  while (from !== null) {
    const reply = await server.get(`/replay/${mint}?from=${from}&to=${TO}&${query}`, key);
    expect(reply.status).toBe(200);
    const page = (await reply.json()) as RemotePage;
    for (const snapshot of page.snapshots) {
      const { t, tier, price_usd, market_idx, group_idx, bin } = snapshot;
      snapshots.push([t, tier, price_usd, bin.length]);
      bin.forEach((one, i) => {
        const market = market_idx && page.markets[market_idx[i]];
        const group = group_idx && page.groups[group_idx[i]];
        const about = market
          ? [market.source, market.exchange_type, market.address, market.pair]
          : group
            ? [group.key, group.label, group.type]
            : [];
        const usd = [snapshot.support_usd[i], snapshot.resistance_usd[i]];
        rows.push([t, tier, price_usd, ...about, one, ...usd]);
      });
    }
    from = page.next_from;
  }
  return { rows, snapshots };
}

const ABOUT = {
  market: 'source, exchange_type, market_address, pair, ',
  venue: 'group_key, group_label, type, ',
  type: 'group_key, group_label, type, ',
  all: '',
} as const;

/** Files of different tiers hold the same days: their rows are sorted into one sequence. */
const byTime = (rows: SqlRow[]): SqlRow[] =>
  rows
    .map((row, i) => ({ row, i }))
    .sort((a, b) => (a.row[0] as number) - (b.row[0] as number) || a.i - b.i)
    .map(({ row }) => row);

/** Every data file that a reader can see is whole, and has the rows that are listed for it. */
async function checkWhole(out: string): Promise<number> {
  const database = await MemoryDatabase.open({ memoryLimitMiB: 256, threads: 1 });
  try {
    const files = exportedFiles(out).filter((name) => name.endsWith('.parquet'));
    for (const name of files) {
      expect(path.basename(name)).not.toMatch(/^\./);
      const file = `'${path.join(out, name)}'`;
      // Reads every value.
      const [[rows]] = await database.rows(
        `SELECT count(*), max(hash(rows)) IS NULL FROM read_parquet(${file}) AS rows`,
      );
      const counted = `SELECT sum(num_rows)::BIGINT FROM parquet_file_metadata(${file})`;
      expect(await database.rows(counted)).toEqual([[rows]]);
    }
    return files.length;
  } finally {
    database.close();
  }
}

describe('An export', () => {
  let stored: Stored;
  let server: Service;
  beforeAll(async () => {
    stored = await newStore(SEED);
    server = await serveHere(stored.data);
  });

  const WINDOW = ['--from', String(FIRST_DAY), '--to', String(TO)];
  const cases = (['market', 'venue', 'type', 'all'] as const).flatMap((group) =>
    ['', '1m', '15m', '1h', '4h', '1d'].map((step) => ({ group, step })),
  );
  it.each(cases)('holds what /replay serves: group=$group step=$step', async ({ group, step }) => {
    const out = path.join(temporaryDirectory(), 'out');
    const flags = step === '' ? [] : ['--step', step];
    const wide = step === '1h' ? ['--min-pct', '-90', '--max-pct', '1000'] : [];
    const words = ['export', '--data', stored.data, '--out', out, '--group', group];
    const ended = await fathom([...words, ...WINDOW, ...flags, ...wide]);
    expect(ended).toMatchObject({ status: 0 });
    let count = 0;
    for (const mint of MINTS) {
      const query = [`group=${group}`, ...(step === '' ? [] : [`step=${step}`])];
      if (wide.length > 0) query.push('min_pct=-90', 'max_pct=1000');
      const expected = await replayed(server, stored.key, mint, query.join('&'));
      const columns = `t, tier, price_usd, ${ABOUT[group]}bin, support_usd, resistance_usd`;
      expect(byTime(await rowsOf(out, 'cells', columns, mint))).toEqual(expected.rows);
      const snapshots = await rowsOf(out, 'snapshots', 't, tier, price_usd, cells', mint);
      expect(byTime(snapshots)).toEqual(expected.snapshots);
      count += expected.rows.length;
    }
    expect(count).toBeGreaterThan(0);
  });

  it('of one tier holds that part of what /replay serves', async () => {
    for (const tier of ['raw', '15m', '1h']) {
      const out = path.join(temporaryDirectory(), 'out');
      const words = ['export', '--data', stored.data, '--out', out, '--tier', tier, ...WINDOW];
      expect(await fathom(words)).toMatchObject({ status: 0 });
      const { snapshots } = await replayed(server, stored.key, MINTS[0], 'group=market');
      const found = await rowsOf(out, 'snapshots', 't, tier, price_usd, cells', MINTS[0]);
      expect(found).toEqual(snapshots.filter((row) => row[1] === tier));
      expect(found.length).toBeGreaterThan(0);
    }
  });

  it('follows late, replaced and deleted data, and leaves all other files as they are', async () => {
    const { data, rows } = await newStore(SEED + 100);
    const out = path.join(temporaryDirectory(), 'out');
    const again = async () => {
      const before = inodesOf(out);
      const ended = await fathom(['export', '--data', data, '--out', out, '--json']);
      expect(ended).toMatchObject({ status: 0 });
      const after = inodesOf(out);
      const names = [...new Set([...before.keys(), ...after.keys()])];
      return names.filter((name) => before.get(name) !== after.get(name)).sort();
    };
    const first = await fathom(['export', '--data', data, '--out', out]);
    expect(first).toMatchObject({ status: 0 });
    expect(await again()).toEqual([]);
    const day = (dayS: number, tiers: string[]) =>
      ['cells', 'snapshots'].flatMap((dataset) =>
        tiers.map((tier) => {
          const date = new Date(dayS * 1000).toISOString().slice(0, 10);
          return `${dataset}/chain=mainchain/date=${date}/${MINTS[0]}-${tier}.parquet`;
        }),
      );
    // A late raw snapshot, which hides no coarser one.
    const t = FIRST_DAY + DAY_S + 21_600 + 3599;
    await ingest(data, [{ ...rows[0], t, tier: 'raw', price_usd: 1.5 }]);
    const changed = await again();
    expect(changed).toContain('_fathom.json');
    const allowed = ['_fathom.json', ...day(FIRST_DAY + DAY_S, ['raw', '15m', '1h'])];
    expect(changed.filter((name) => !allowed.includes(name))).toEqual([]);
    expect(changed).toEqual(expect.arrayContaining(day(FIRST_DAY + DAY_S, ['raw'])));
    expect(await rowsOf(out, 'snapshots', 'price_usd', MINTS[0], `AND t = ${t}`)).toEqual([[1.5]]);
    const token = ['--data', data, '--token', `mainchain:${MINTS[0]}`, '--yes'];
    const window = ['--from', String(FIRST_DAY + DAY_S), '--to', String(FIRST_DAY + 2 * DAY_S)];
    const gone = exportedFiles(out).filter((name) =>
      day(FIRST_DAY + DAY_S, ['raw', '15m', '1h']).includes(name),
    );
    expect(gone.length).toBeGreaterThan(2);
    expect(await fathom(['delete', ...token, ...window])).toMatchObject({ status: 0 });
    // What the deleted ones hid at the end of the day before is shown now.
    const before = day(FIRST_DAY, ['15m', '1h']);
    expect((await again()).filter((name) => !before.includes(name))).toEqual(
      ['_fathom.json', ...gone].sort(),
    );
    for (const name of gone) expect(exportedFiles(out)).not.toContain(name);
    const fresh = path.join(temporaryDirectory(), 'fresh');
    expect(await fathom(['export', '--data', data, '--out', fresh])).toMatchObject({ status: 0 });
    for (const dataset of ['cells', 'snapshots', 'tokens']) {
      expect(digestOf(path.join(out, dataset))).toBe(digestOf(path.join(fresh, dataset)));
    }
  });

  it('has only whole files, whenever it is killed', async () => {
    const data = path.join(temporaryDirectory(), 'data');
    await ingest(data, randomSnapshots(SEED + 200, MINTS[0]));
    const fresh = path.join(temporaryDirectory(), 'fresh');
    const startedMs = performance.now();
    expect((await fathomProcess(['export', '--data', data, '--out', fresh])).status).toBe(0);
    const runMs = performance.now() - startedMs;
    const random = randomNumbers(SEED);
    const out = path.join(temporaryDirectory(), 'out');
    let [kills, partly] = [0, 0];
    // As many as it takes: a run may be over before its kill.
    while (kills < 16 || partly === 0) {
      const child = start(process.execPath, [MAIN, 'export', '--data', data, '--out', out]);
      const closed = new Promise<NodeJS.Signals | null>((resolve) =>
        child.once('close', (_, signal) => resolve(signal)),
      );
      setTimeout(() => child.kill('SIGKILL'), runMs * (0.2 + 0.8 * random()));
      const isKilled = (await closed) === 'SIGKILL';
      if (isKilled) kills++;
      const files = existsSync(out) ? await checkWhole(out) : 0;
      if (files > 0 && files < exportedFiles(fresh).length - 1) partly++;
      // Begins anew now and then, so that there is something to write.
      if (!isKilled || random() < 0.4) rmSync(out, { recursive: true, force: true });
    }
    expect((await fathomProcess(['export', '--data', data, '--out', out])).status).toBe(0);
    expect(exportedFiles(out).sort()).toEqual(exportedFiles(fresh).sort());
    for (const dataset of ['cells', 'snapshots', 'tokens']) {
      expect(digestOf(path.join(out, dataset))).toBe(digestOf(path.join(fresh, dataset)));
    }
  });

  it('says that the disk is full, keeps whole files, and goes on once there is room', async () => {
    const { data } = await newStore(SEED + 300);
    const out = path.join(temporaryDirectory(), 'out');
    const words = ['export', '--data', data, '--out', out];
    // Written without a limit: a store's own files are larger.
    const server = await serveHere(data);
    const full = await fathomProcess(words, { fileKiB: 8 });
    expect(full.status).toBe(1);
    expect(full.stderr).toBe(
      `${out} cannot grow: its disk is full (or a limit of the system is reached)\n`,
    );
    await checkWhole(out);
    expect(exportedFiles(out).filter((name) => name.includes('partial'))).toEqual([]);
    expect(await fathomProcess(words)).toMatchObject({ status: 0 });
    expect(await checkWhole(out)).toBeGreaterThan(10);
    await server.stop();
  });

  it('follows a server, and ends at a signal', async () => {
    const { data, rows } = await newStore(SEED + 400);
    const server = await serveHere(data);
    const out = path.join(temporaryDirectory(), 'out');
    const child = start(process.execPath, [
      ...[MAIN, 'export', '--data', data, '--out', out, '--follow', '--dataset', 'snapshots'],
    ]);
    atEnd(() => void child.kill('SIGKILL'));
    const closed = new Promise((resolve) => child.once('close', (_, signal) => resolve(signal)));
    const pricesAt = (t: number) =>
      rowsOf(out, 'snapshots', 'price_usd', MINTS[1], `AND t = ${t}`).catch(() => []);
    const sample = rows.find((row) => 'address' in row && row.address === MINTS[1])!;
    const newest = (sample as { t: number }).t;
    await eventually('a first round', async () => (await pricesAt(newest)).length > 0);
    // The newest, a late one, and one that replaces another.
    const moments = [FIRST_DAY + 4 * DAY_S + 77, FIRST_DAY + DAY_S + 21_600 + 3599];
    for (const [i, t] of [...moments, moments[0]].entries()) {
      await ingest(data, [{ ...sample, t, tier: 'raw', price_usd: 11 + i }]);
      await becomes(() => pricesAt(t), [[11 + i]]);
    }
    child.kill('SIGINT');
    expect(await closed).toBe('SIGINT');
    expect(exportedFiles(out).filter((name) => name.includes('lock'))).toEqual([]);
    await server.stop();
  });
});
