/** Fathom compared with other servers: their content, the summary, and a run of the program. */
import { execFile, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { PAGE_A } from '../../bench/data/pages.js';
import { textOfColumns, textOfObjects, textOfRows } from '../../bench/peers/assembly.js';
import { cellRows, snapshotRows } from '../../bench/peers/clickhouse-rows.js';
import { ask } from '../../bench/peers/clickhouse-server.js';
import { CLICKHOUSE_WAYS } from '../../bench/peers/clickhouse-ways.js';
import { runClickhouse } from '../../bench/peers/clickhouse.js';
import {
  differenceOf,
  expectedPage,
  fathomSnapshots,
  type PlainSnapshot,
} from '../../bench/peers/content.js';
import { compareContent, comparedPages, type PeerRow } from '../../bench/peers/measure.js';
import {
  COLD_MIN_PCT,
  generatedSet,
  pageAt,
  sizeOf,
  wholeHistories,
} from '../../bench/peers/page-set.js';
import type { Peer, PeerWay } from '../../bench/peers/peer.js';
import { booksSet, poolsSet, POOLED_TOKENS } from '../../bench/peers/real-sets.js';
import type { SetReport } from '../../bench/peers/report.js';
import { findProgram, outputOf, startProgram } from '../../bench/programs.js';
import { summaryOf } from '../../bench/peers/summary.js';
import { treeCpuMs } from '../../bench/processes.js';
import { temporaryDirectory } from '../support/folders.js';
import { programOf, resultsOf } from './program.js';

const root = path.resolve(import.meta.dirname, '../..');
const folder = temporaryDirectory();
// A root process runs PostgreSQL as another user, who must have access to this folder.
chmodSync(folder, 0o711);

const set = generatedSet(1);
const [history] = set.histories;
const window = { ...pageAt(set, 0), first: 7 };
const page = expectedPage(history, window);
const compared = { window, history, snapshots: page };
const json = (document: unknown): Uint8Array => Buffer.from(JSON.stringify(document));
const prices = new Map(page.map(({ t, price_usd }) => [t, price_usd]));
/** t, price, market, bin, support, resistance. */
const rows = page.flatMap(({ t, price_usd, market_idx, bin, support_usd, resistance_usd }) =>
  bin.map((b, i) => [t, price_usd, market_idx[i], b, support_usd[i], resistance_usd[i]]),
);

describe('the content', () => {
  it('is what was generated, to the cent', () => {
    const { run } = history;
    expect(page).toHaveLength(PAGE_A.snapshots);
    expect(rows).toHaveLength(PAGE_A.snapshots * PAGE_A.cells);
    for (const i of [0, 1000, rows.length - 1]) {
      const cell = 7 * PAGE_A.cells + i;
      const usd = [run.supportCents[cell], run.resistanceCents[cell]].map(
        (cents) => Number(cents) / 100,
      );
      expect(rows[i].slice(2)).toEqual([run.market[cell], run.bin[cell], ...usd]);
    }
  });

  it('differs if one number of one cell differs', () => {
    const changed = (change: (snapshots: PlainSnapshot[]) => void): string | null => {
      const copy = structuredClone(page);
      change(copy);
      return differenceOf(copy, page);
    };
    expect(changed(() => undefined)).toBeNull();
    expect(changed((all) => (all[287].resistance_usd[346] += 0.01))).toMatch(
      /^snapshots\[287\]\.resistance_usd\[346\] is /,
    );
    expect(changed((all) => (all[3].bin[2] -= 1))).toMatch(/^snapshots\[3\]\.bin\[2\] is /);
    expect(changed((all) => all[5].market_idx.push(1))).toContain('market_idx[347] is 1');
    expect(changed((all) => all[5].support_usd.pop())).toContain('support_usd[346] is undefined');
    expect(changed((all) => (all[9].price_usd *= 1.0001))).toContain('snapshots[9].price_usd');
    expect(changed((all) => all.pop())).toBe('287 snapshots, expected 288');
  });

  it('is the same from rows, columns and objects', () => {
    const column = (at: number) => rows.map((row) => row[at]);
    const cells = { t: column(0), market: column(2), bin: column(3) };
    const usd = { supportUsd: column(4), resistanceUsd: column(5) };
    const objects = page.map(({ t, price_usd: _, ...arrays }) => {
      return [t, JSON.stringify({ ...arrays, t: undefined })] as const;
    });
    const texts = [
      textOfRows(
        'x',
        rows.map(([t, , ...cell]) => [t, ...cell]),
        prices,
      ),
      textOfColumns('x', { ...cells, ...usd }, prices),
      textOfObjects('x', objects, prices),
    ];
    for (const text of texts) {
      const { token, snapshot_count, snapshots } = JSON.parse(text);
      expect([token, snapshot_count]).toEqual(['x', PAGE_A.snapshots]);
      expect(differenceOf(snapshots, page)).toBeNull();
    }
  });

  it("is read from Fathom's numbers of markets and from ClickHouse's rows and arrays", async () => {
    const turned = [...history.markets].reverse();
    const document = {
      markets: turned.map(({ exchangeType: exchange_type, ...market }) => {
        return { ...market, exchange_type };
      }),
      snapshots: page.map((one) => {
        return { ...one, market_idx: one.market_idx.map((index) => turned.length - 1 - index) };
      }),
    };
    expect(differenceOf(fathomSnapshots(json(document), history), page)).toBeNull();
    const data = {
      'rows, JSONCompact': rows,
      'groupArray, JSONCompact': page.map((one) => Object.values(one)),
    };
    for (const { name, snapshotsOf } of CLICKHOUSE_WAYS) {
      const answer = json({ data: data[name as keyof typeof data] });
      expect(differenceOf(await snapshotsOf(answer, compared), page), name).toBeNull();
    }
  });

  it('ends the bench if a server has other content', async () => {
    let body = '';
    const server = http.createServer((_, response) => response.end(body));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const peer = {
      name: 'other',
      headers: {},
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    } as Peer;
    const way: PeerWay = {
      name: 'plain',
      coding: 'none',
      state: 'cold',
      format: 'JSON',
      contentCoding: 'identity',
      pathOf: () => '/',
      snapshotsOf: (bytes) => JSON.parse(Buffer.from(bytes).toString()) as PlainSnapshot[],
    };
    const [[n, first]] = comparedPages(set);
    const pages = new Map([[n, first]]);
    try {
      body = JSON.stringify(first.snapshots);
      expect(await compareContent(peer, way, set, pages)).toBe(body.length);
      body = body.replace('"bin":[-14', '"bin":[-15');
      await expect(compareContent(peer, way, set, pages)).rejects.toThrow(
        'other, plain, none: page 0: snapshots[0].bin[0] is -15, expected -14',
      );
    } finally {
      server.close();
    }
  });
});

it('the rows for ClickHouse have every number of the set, bit by bit', () => {
  const cells = Buffer.concat([...cellRows(set)]);
  const { run } = history;
  expect(cells.length).toBe(26 * run.bin.length);
  const last = run.bin.length - 1;
  const row = cells.subarray(26 * last);
  expect([row.readUInt16LE(0), row.readUInt32LE(2)]).toEqual([0, run.t[run.t.length - 1]]);
  expect([row.readUInt16LE(6), row.readInt16LE(8)]).toEqual([run.market[last], run.bin[last]]);
  expect([row.readDoubleLE(10), row.readDoubleLE(18)]).toEqual([
    run.supportCents[last] / 100,
    run.resistanceCents[last] / 100,
  ]);
  const snapshots = Buffer.concat([...snapshotRows(set)]);
  expect(snapshots.length).toBe(14 * run.t.length);
  expect(snapshots.readUInt32LE(14 * 5 + 2)).toBe(run.t[5]);
  expect(snapshots.readDoubleLE(14 * 5 + 6)).toBe(run.priceUsd[5]);
});

describe('the requests', () => {
  const three = generatedSet(3);

  it('cover every window of every token before one repeats', () => {
    const places = PAGE_A.snapshots + 1;
    const windows = Array.from({ length: 3 * places }, (_, n) => pageAt(three, n));
    expect(new Set(windows.map(({ token, first }) => `${token} ${first}`)).size).toBe(3 * places);
    expect(windows.every(({ first }) => first >= 0 && first < places)).toBe(true);
    expect(pageAt(three, 3 * places)).toEqual(windows[0]);
  });

  it('contain only the snapshots of their window, and together cover the histories', () => {
    const windows = wholeHistories(three);
    const covered = windows.map(({ snapshots }) => snapshots).reduce((sum, one) => sum + one);
    expect(covered).toBe(sizeOf(three).snapshots);
    for (const { token, first, snapshots, from, to } of [...windows, pageAt(three, 8)]) {
      const { t } = three.histories[token].run;
      const inside = t.filter((one) => one >= from && one < to);
      expect(inside).toEqual(t.slice(first, first + snapshots));
    }
  });
});

describe('real pages', () => {
  const realFolder = realMarketData(path.join(folder, 'real'));

  it('have the depth of the order books and pools in the files, within the band of the requests', async () => {
    const books = await booksSet(realFolder);
    expect(books.histories).toHaveLength(1);
    const venues = books.histories[0].markets.map(({ source, type }) => `${source} ${type}`);
    expect(venues).toEqual(['binance cex_spot', 'binance-delivery cex_perp']);
    const pools = await poolsSet(realFolder);
    expect(pools.histories.map(({ run }) => run.address)).toEqual(POOLED_TOKENS);
    for (const { run, markets } of pools.histories) {
      expect([run.t.length, markets.length]).toEqual([3, 1]);
      expect(run.priceUsd[0]).toBeCloseTo(30, 2);
      // The pool reaches down to a fifth of the price; the band does not.
      expect(1.01 ** Math.min(...run.bin) - 1).toBeGreaterThan(COLD_MIN_PCT / 100);
      expect(1.01 ** (Math.min(...run.bin) - 1) - 1).toBeLessThan(COLD_MIN_PCT / 100);
    }
  });

  it('are left out with a message if there are no files', async () => {
    const empty = path.join(folder, 'empty');
    mkdirSync(empty);
    await expect(booksSet(empty)).rejects.toThrow(/^no .*spot_BTCUSDT_20240808.stream.gz in /);
    rmSync(empty, { recursive: true });
  });
});

/** A folder as bench:peers expects it, with excerpts of real books, and a pool for each token at three times. */
function realMarketData(at: string): string {
  const fixture = (name: string): string => path.join(root, 'test/fixtures/import', name);
  const binance = path.join(at, 'cex/binance');
  const solana = path.join(at, 'clmm/solana');
  for (const one of [binance, solana]) mkdirSync(one, { recursive: true });
  const spot = 'spot_BTCUSDT_20240808.stream.gz';
  copyFileSync(fixture('binance_spot_excerpt.stream.gz'), path.join(binance, spot));
  const coinm = gzipSync(readFileSync(fixture('binance_coinm_excerpt.stream')));
  writeFileSync(path.join(binance, 'coinm_BTCUSD_PERP_20240808.stream.gz'), coinm);
  const usdc = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
  const states = POOLED_TOKENS.flatMap((address, token) =>
    [0, 1, 2].map((n) => {
      return {
        protocol: 'orca_whirlpool',
        pool: `pool${token}`,
        t: 1_650_000_000 + n * 100_000,
        token0: { address, symbol: `T${token}`, decimals: 9 },
        token1: { address: usdc, symbol: 'USDC', decimals: 6 },
        sqrt_price_x96: String(BigInt(Math.round(Math.sqrt(0.03) * 2 ** 52)) << 44n),
        // From 6 to 60 USD at a price of 30.
        ticks: [
          [-51_162, `${1000 + n}000000000`],
          [-28_135, `-${1000 + n}000000000`],
        ],
      };
    }),
  );
  const lines = states.map((state) => JSON.stringify(state)).join('\n');
  writeFileSync(path.join(solana, 'whirlpools_decoded.ndjson.gz'), gzipSync(lines));
  return at;
}

describe('the summary', () => {
  const row = (peer: string, way: string, pagesPerSecond: number, cpu: number, more: object = {}) =>
    ({
      peer,
      way,
      clients: 1,
      pagesPerSecond,
      cpuMsPerPage: cpu,
      state: 'cold',
      format: 'JSON',
      coding: 'gzip',
      contentCoding: 'gzip',
      bytes: 9,
      ...more,
    }) as PeerRow;
  const arrow = { format: 'Arrow' };
  const plain = { coding: 'identity', contentCoding: 'identity' };
  const rowsOfAll: PeerRow[] = [
    row('Fathom', 'w', 1000, 0.5, { state: 'fragments' }),
    row('Fathom', 'w', 9000, 0.1, { state: 'fragments', contentCoding: 'br' }),
    row('Fathom', 'w', 100, 10),
    row('Fathom', 'w', 50, 20, { ...arrow, ...plain }),
    row('Fathom', 'w', 25, 40, arrow),
    row('peer', 'slow', 4, 90),
    row('peer', 'fast', 10, 40),
    row('peer', 'arrow', 40, 10, { ...arrow, ...plain }),
    row('peer', 'arrow', 5, 80, arrow),
    row('files', 'snappy', 400, 1, { state: 'file', format: 'Parquet', ...plain }),
    row('files', 'zstd', 500, 2, { state: 'file', format: 'Parquet', ...plain }),
  ];
  const summary = summaryOf(rowsOfAll);

  it("compares each peer's best way with Fathom's gzip for as many clients", () => {
    expect(summary[0]).toEqual({
      peer: 'peer',
      way: 'fast',
      format: 'JSON',
      coding: 'gzip',
      clients: 1,
      pagesPerSecond: 10,
      bytes: 9,
      fathomTimes: { fragments: 100, cold: 10 },
      cpuTimes: { fragments: 80, cold: 4 },
    });
    const others = rowsOfAll.map((one) => ({ ...one, clients: one.peer === 'Fathom' ? 8 : 1 }));
    expect(summaryOf(others)[0].fathomTimes).toEqual({ fragments: null, cold: null });
  });

  it('compares Arrow with Arrow of the same coding, Parquet with compressed Arrow, and each with fragments', () => {
    const compared = summary.map(({ way, coding, fathomTimes, cpuTimes }) => {
      return [`${way} ${coding}`, fathomTimes, cpuTimes];
    });
    expect(compared.slice(1)).toEqual([
      ['arrow identity', { fragments: 25, cold: 1.25 }, { fragments: 20, cold: 0.5 }],
      ['arrow gzip', { fragments: 200, cold: 5 }, { fragments: 160, cold: 2 }],
      ['zstd identity', { fragments: 2, cold: 0.05 }, { fragments: 4, cold: 0.05 }],
    ]);
  });
});

describe('programs', () => {
  it('are found on PATH and in given folders', () => {
    expect(findProgram('no-such-program')).toBeNull();
    const node = path.basename(process.execPath);
    expect(findProgram(node, [path.dirname(process.execPath)])).not.toBeNull();
  });

  it('say why they do not start, and end when asked', async () => {
    const never = () => Promise.resolve(false);
    const words = ['-e', 'console.error("no room"); process.exit(3)'];
    await expect(startProgram(process.execPath, words, {}, 'SIGTERM', never)).rejects.toThrow(
      /ended:\nno room/,
    );
    const idle = ['-e', 'setInterval(() => undefined, 1000)'];
    const always = () => Promise.resolve(true);
    const program = await startProgram(process.execPath, idle, {}, 'SIGTERM', always);
    expect(() => process.kill(program.pid, 0)).not.toThrow();
    await program.stop();
    expect(() => process.kill(program.pid, 0)).toThrow();
  });

  it.runIf(process.platform === 'linux')('cost what they and their children use', () => {
    const before = treeCpuMs(process.pid) ?? NaN;
    const busy =
      'const end = Date.now() + 5000; while (process.cpuUsage().user < 1e5 && Date.now() < end);';
    spawnSync(process.execPath, ['-e', busy]);
    expect((treeCpuMs(process.pid) ?? NaN) - before).toBeGreaterThanOrEqual(90);
    expect(treeCpuMs(2 ** 30)).toBeNull();
  });
});

describe('npm run bench:peers', () => {
  const file = path.join(folder, 'peers.json');
  const env = { ...process.env, TMPDIR: folder, PGHOST: 'elsewhere', PGPORT: '1' };
  const setsOf = (words: readonly string[]): { stdout: string; sets: SetReport[] } => {
    const { stdout, results } = resultsOf<{ sets: SetReport[] }>(
      ...(['peers', ['--smoke', ...words], file, env] as const),
    );
    // It removed its temporary files.
    expect(readdirSync(folder).toSorted()).toEqual(['peers.json', 'real']);
    return { stdout, sets: results.sets };
  };

  it('measures what is installed, and reports what is not', () => {
    const { stdout, sets } = setsOf(['--pages', 'generated']);
    const [{ peers, rows }] = sets;
    checkSets(sets, stdout, 100_000);
    const measured = new Set(rows.map(({ peer }) => peer));
    const hasPostgres = findProgram('initdb', [outputOf('pg_config', ['--bindir']) ?? '']) !== null;
    if (!hasPostgres) expect(stdout).toContain('postgres: not run, not installed');
    else if (process.getuid?.() !== 0) expect(measured).toContain('Fastify + PostgreSQL');
    const hasNginx = findProgram('nginx') !== null;
    if (!hasNginx) expect(stdout).toContain('parquet: not run, not installed');
    expect(measured.has('nginx, Parquet files')).toBe(hasNginx);
    const isMeasured = ({ name }: { name: string }) => measured.has(name);
    for (const one of peers) expect(isMeasured(one), one.name).toBe(one.notRun === null);
  });

  it('measures real pages', () => {
    const words = ['--only', 'duckdb,parquet', '--pages', 'books,pools'];
    const { stdout, sets } = setsOf([...words, '--real', path.join(folder, 'real')]);
    expect(sets.map(({ pages }) => pages)).toEqual(['books', 'pools']);
    checkSets(sets, stdout, 100);
  });

  function checkSets(sets: readonly SetReport[], stdout: string, leastBytes: number): void {
    for (const { pages, rows, summary } of sets) {
      const measured = new Set(rows.map(({ peer }) => peer));
      for (const row of rows) {
        const name = `${pages}: ${row.peer} ${row.way}`;
        expect(row.pages, name).toBeGreaterThan(0);
        expect(row.pagesPerSecond, name).toBeGreaterThan(0);
        expect(row.p99Ms, name).toBeGreaterThanOrEqual(row.p50Ms);
        expect(row.bytes, name).toBeGreaterThan(leastBytes);
        expect(stdout).toContain(row.way);
      }
      const kindsOf = (peer: string) =>
        new Set(rows.filter((row) => row.peer === peer).map((row) => `${row.state} ${row.format}`));
      expect(kindsOf('Fathom')).toEqual(new Set(['fragments JSON', 'cold JSON', 'cold Arrow']));
      expect(kindsOf('Fastify + DuckDB')).toEqual(new Set(['cold JSON', 'cold Arrow']));
      // Each of the peers once, DuckDB also for Arrow, plain and compressed; for 1 and for 2 clients.
      expect(summary).toHaveLength(2 * (measured.size - 1 + 2));
      for (const one of summary) {
        expect(one.fathomTimes.cold, one.peer).toBeGreaterThan(0);
        expect(one.fathomTimes.fragments, one.peer).toBeGreaterThan(0);
      }
    }
  }

  it('leaves out real pages without their folder', () => {
    const words = ['--pages', 'pools', '--real', path.join(folder, 'real/cex')];
    const { stdout, sets } = setsOf(words);
    expect(stdout).toMatch(/^pools: not run, no .*whirlpools_decoded/m);
    expect(sets.map(({ size, rows }) => [size, rows])).toEqual([[null, []]]);
  });

  const hasClickhouse = ['clickhouse', 'clickhouse-server'].some((name) => findProgram(name));
  it.runIf(hasClickhouse)('measures a running ClickHouse and leaves nothing there', async () => {
    const home = temporaryDirectory();
    const running = await runClickhouse(path.join(home, 'clickhouse'));
    const { server } = running;
    try {
      const words = ['--only', 'parquet', '--pages', 'generated', '--clickhouse', server.url];
      const [{ peers, rows }] = setsOf(words).sets;
      const name = `ClickHouse at ${new URL(server.url).host}`;
      const version = (await ask(server, 'SELECT version()')).trim();
      expect(peers).toContainEqual({ name, version, notRun: null });
      const ways = new Set(rows.filter(({ peer }) => peer === name).map(({ way }) => way));
      expect(ways).toEqual(new Set(CLICKHOUSE_WAYS.map((way) => way.name)));
      expect(await ask(server, 'SHOW DATABASES')).toBe('default\nsystem\n');
    } finally {
      await running.stop();
    }
  });

  it('ends at once if no ClickHouse answers', async () => {
    const server = http.createServer((_, response) => response.writeHead(404).end('not here'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const run = promisify(execFile);
    const ended = run(process.execPath, [programOf('peers'), '--clickhouse', url], { cwd: folder });
    await expect(ended).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: `bench:peers: no use of a ClickHouse at ${url}: ClickHouse: not here\n`,
    });
    server.close();
    rmSync(path.join(folder, 'bench'), { recursive: true });
  });
});
