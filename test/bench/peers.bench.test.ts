/** Fathom compared with other servers: their content, the summary, and a run of the program. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { PAGE_A } from '../../bench/data/pages.js';
import { textOfColumns, textOfObjects, textOfRows } from '../../bench/peers/assembly.js';
import { CLICKHOUSE_WAYS } from '../../bench/peers/clickhouse-ways.js';
import {
  differenceOf,
  expectedPage,
  fathomSnapshots,
  type PlainSnapshot,
} from '../../bench/peers/content.js';
import { BenchUsageError } from '../../bench/errors.js';
import { readPeersOptions } from '../../bench/peers/options.js';
import { compareContent, comparedPages, type PeerRow } from '../../bench/peers/measure.js';
import type { Peer, PeerWay } from '../../bench/peers/peer.js';
import { findProgram, outputOf, startProgram } from '../../bench/programs.js';
import { pageWindow } from '../../bench/cases/request.js';
import { summaryOf } from '../../bench/peers/summary.js';
import { historyOf } from '../../bench/peers/tables.js';
import { treeCpuMs } from '../../bench/processes.js';

const root = path.resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(os.tmpdir(), 'fathom-peers-test-'));
// A root process runs PostgreSQL as another user, who has to reach this folder.
chmodSync(folder, 0o711);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const history = historyOf(0);
const page = expectedPage(history, 7);
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

  it('differs where one number of one cell does', () => {
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

  it("is read from Fathom's numbers of markets and from ClickHouse's rows and arrays", () => {
    const turned = [...history.markets].reverse();
    const document = {
      markets: turned.map(({ exchangeType: exchange_type, ...market }) => {
        return { ...market, exchange_type };
      }),
      snapshots: page.map((one) => {
        return { ...one, market_idx: one.market_idx.map((index) => turned.length - 1 - index) };
      }),
    };
    expect(differenceOf(fathomSnapshots(document, history), page)).toBeNull();
    const data = {
      'rows, JSONCompact': rows,
      'groupArray, JSONCompact': page.map((one) => Object.values(one)),
    };
    for (const { name, snapshotsOf } of CLICKHOUSE_WAYS) {
      const answer = { data: data[name as keyof typeof data] };
      expect(differenceOf(snapshotsOf(answer, history), page), name).toBeNull();
    }
  });

  it('ends the bench if a server answers with another', async () => {
    let body = '';
    const server = http.createServer((_, response) => response.end(body));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const peer = {
      ...{ name: 'other', headers: {} },
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    } as Peer;
    const way: PeerWay = {
      ...{ name: 'plain', coding: 'none', state: 'cold', acceptEncoding: 'identity' as 'gzip' },
      pathOf: () => '/',
      snapshotsOf: (document) => document as PlainSnapshot[],
    };
    const [first] = comparedPages(1);
    try {
      body = JSON.stringify(first.snapshots);
      expect(await compareContent(peer, way, 1, [first])).toBe(body.length);
      body = body.replace('"bin":[-14', '"bin":[-15');
      await expect(compareContent(peer, way, 1, [first])).rejects.toThrow(
        'other, plain, none: page 0: snapshots[0].bin[0] is -15, expected -14',
      );
    } finally {
      server.close();
    }
  });
});

describe('the requests', () => {
  it('ask for every window of every token before one comes again', () => {
    const windows = Array.from({ length: 3 * PAGE_A.snapshots }, (_, n) =>
      pageWindow(n, 3, PAGE_A.snapshots),
    );
    expect(new Set(windows.map(({ token, first }) => `${token} ${first}`)).size).toBe(864);
    expect(windows.every(({ first }) => first >= 0 && first < PAGE_A.snapshots)).toBe(true);
    expect(pageWindow(864, 3, PAGE_A.snapshots)).toEqual(windows[0]);
  });
});

describe('the summary', () => {
  it("compares each peer's best way with Fathom's gzip for as many clients", () => {
    const row = (peer: string, way: string, clients: number, pagesPerSecond: number, cpu: number) =>
      ({
        ...{ peer, way, clients, pagesPerSecond, cpuMsPerPage: cpu },
        ...{ state: 'cold', coding: 'gzip', bytes: 9 },
      }) as PeerRow;
    const rowsOfAll: PeerRow[] = [
      { ...row('Fathom', 'w', 1, 1000, 0.5), state: 'fragments' },
      { ...row('Fathom', 'w', 1, 9000, 0.1), state: 'fragments', coding: 'br' },
      row('Fathom', 'w', 1, 100, 10),
      row('peer', 'slow', 1, 4, 90),
      row('peer', 'fast', 1, 10, 40),
    ];
    expect(summaryOf(rowsOfAll)).toEqual([
      {
        ...{ peer: 'peer', way: 'fast', coding: 'gzip', clients: 1, pagesPerSecond: 10 },
        bytes: 9,
        fathomTimes: { fragments: 100, cold: 10 },
        cpuTimes: { fragments: 80, cold: 4 },
      },
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
  const main = path.join(root, 'dist/bench/peers/main.js');
  const bench = (...words: string[]) =>
    spawnSync(process.execPath, [main, ...words], {
      ...{ cwd: folder, encoding: 'utf8' },
      env: { ...process.env, TMPDIR: folder, PGHOST: 'elsewhere', PGPORT: '1' },
    });

  it('measures whatever is installed, and says what is not', () => {
    const file = path.join(folder, 'peers.json');
    const { status, stdout, stderr } = bench('--smoke', '--json', file);
    expect([status, stderr]).toEqual([0, expect.not.stringContaining('Error')]);
    const { peers, rows, summary } = JSON.parse(readFileSync(file, 'utf8')) as {
      peers: { name: string; version: string | null; notRun: string | null }[];
      rows: PeerRow[];
      summary: { peer: string; fathomTimes: Record<string, number> }[];
    };
    const measured = new Set(rows.map(({ peer }) => peer));
    expect(measured).toContain('Fathom');
    expect(measured).toContain('Fastify + DuckDB');
    const hasPostgres = findProgram('initdb', [outputOf('pg_config', ['--bindir']) ?? '']) !== null;
    if (!hasPostgres) expect(stdout).toContain('postgres: not run, not installed');
    else if (process.getuid?.() !== 0) expect(measured).toContain('Fastify + PostgreSQL');
    const isMeasured = ({ name }: { name: string }) => measured.has(name);
    for (const one of peers) expect(isMeasured(one), one.name).toBe(one.notRun === null);
    for (const row of rows) {
      const name = `${row.peer} ${row.way}`;
      expect(row.pages, name).toBeGreaterThan(0);
      expect(row.pagesPerSecond, name).toBeGreaterThan(0);
      expect(row.p99Ms, name).toBeGreaterThanOrEqual(row.p50Ms);
      expect(row.bytes, name).toBeGreaterThan(100_000);
      expect(stdout).toContain(row.way);
    }
    const fathom = rows.filter(({ peer }) => peer === 'Fathom').map(({ state }) => state);
    expect(new Set(fathom)).toEqual(new Set(['fragments', 'cold']));
    expect(summary).toHaveLength(2 * (measured.size - 1));
    for (const one of summary) expect(one.fathomTimes.cold, one.peer).toBeGreaterThan(0);
    // It removed its temporary files.
    expect(readdirSync(folder)).toEqual(['peers.json']);
  });

  it('refuses wrong flags with status 2', () => {
    for (const words of [
      ['--only', 'nothing'],
      ['--tokens', '0'],
    ]) {
      expect(() => readPeersOptions(words)).toThrow(BenchUsageError);
    }
    const { status, stdout, stderr } = bench('--fast');
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain('--smoke');
  });
});
