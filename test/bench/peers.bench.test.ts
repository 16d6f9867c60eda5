/** Fathom compared with other servers: their content, and a run of the program. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  writeFileSync,
} from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { PAGE_A } from '../../bench/data/pages.js';
import { booksSet } from '../../bench/peers/books.js';
import { WAY } from '../../bench/peers/clickhouse.js';
import { cellRows, snapshotRows } from '../../bench/peers/clickhouse-rows.js';
import {
  differenceOf,
  expectedPage,
  fathomSnapshots,
  type PlainSnapshot,
  textOfObjects,
} from '../../bench/peers/content.js';
import type { SetReport } from '../../bench/peers/main.js';
import { compareContent, comparedPages } from '../../bench/peers/measure.js';
import { generatedSet, pageAt, sizeOf, wholeHistories } from '../../bench/peers/page-set.js';
import type { Peer, PeerWay } from '../../bench/peers/peer.js';
import { treeCpuMs } from '../../bench/processes.js';
import { findProgram, outputOf, startProgram } from '../../bench/programs.js';
import { temporaryDirectory } from '../support/folders.js';
import { resultsOf } from './program.js';

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

  it('is the same from objects', () => {
    const objects = page.map(({ t, price_usd: _, ...arrays }) => {
      return [t, JSON.stringify({ ...arrays, t: undefined })] as const;
    });
    const { token, snapshot_count, snapshots } = JSON.parse(textOfObjects('x', objects, prices));
    expect([token, snapshot_count]).toEqual(['x', PAGE_A.snapshots]);
    expect(differenceOf(snapshots, page)).toBeNull();
    expect(() => textOfObjects('x', objects, new Map())).toThrow(`no price at ${page[0].t}`);
  });

  it("is read from Fathom's numbers of markets and from ClickHouse's arrays", async () => {
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
    const answer = json({ data: page.map((one) => Object.values(one)) });
    expect(differenceOf(await WAY.snapshotsOf(answer, compared), page)).toBeNull();
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
  const realFolder = realBooks(path.join(folder, 'real'));

  it('have the depth of the order books in the files', async () => {
    const books = await booksSet(realFolder);
    expect(books.histories).toHaveLength(1);
    const venues = books.histories[0].markets.map(({ source, type }) => `${source} ${type}`);
    expect(venues).toEqual(['binance cex_spot', 'binance-delivery cex_perp']);
  });

  it('are left out with a message if there are no files', async () => {
    const none = path.join(folder, 'real/cex');
    await expect(booksSet(none)).rejects.toThrow(/^no .*spot_BTCUSDT_20240808.stream.gz in /);
  });
});

/** A folder as bench:peers expects it, with excerpts of real books. */
function realBooks(at: string): string {
  const fixture = (name: string): string => path.join(root, 'test/fixtures/import', name);
  const binance = path.join(at, 'cex/binance');
  mkdirSync(binance, { recursive: true });
  const spot = 'spot_BTCUSDT_20240808.stream.gz';
  copyFileSync(fixture('binance_spot_excerpt.stream.gz'), path.join(binance, spot));
  const coinm = gzipSync(readFileSync(fixture('binance_coinm_excerpt.stream')));
  writeFileSync(path.join(binance, 'coinm_BTCUSD_PERP_20240808.stream.gz'), coinm);
  return at;
}

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

  it('measures real pages, or leaves them out without their folder', () => {
    const words = ['--only', 'duckdb,parquet', '--pages', 'books', '--real'];
    const { stdout, sets } = setsOf([...words, path.join(folder, 'real')]);
    checkSets(sets, stdout, 100);
    const without = setsOf([...words, path.join(folder, 'real/cex')]);
    expect(without.stdout).toMatch(/^books: not run, no .*spot_BTCUSDT/m);
    expect(without.sets.map(({ size, rows: none }) => [size, none])).toEqual([[null, []]]);
  });

  function checkSets(sets: readonly SetReport[], stdout: string, leastBytes: number): void {
    for (const { pages, rows } of sets) {
      for (const row of rows) {
        const name = `${pages}: ${row.peer} ${row.way}`;
        expect(row.pages, name).toBeGreaterThan(0);
        expect(row.pagesPerSecond, name).toBeGreaterThan(0);
        expect(row.p99Ms, name).toBeGreaterThanOrEqual(row.p50Ms);
        expect(row.bytes, name).toBeGreaterThan(leastBytes);
        expect(stdout).toContain(row.way);
      }
      const fathom = rows.filter(({ peer }) => peer === 'Fathom');
      expect(fathom.map(({ state, clients }) => `${state} ${clients}`)).toEqual([
        ...['fragments 1', 'fragments 2', 'cold 1', 'cold 2'],
      ]);
    }
  }
});
