/** A store with a few pages of replay, and the client run against it as users run it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, vi } from 'vitest';
import { command } from '../../server/cli/commands/replay.js';
import { fathom, newKey, serveHere, type Service } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { preparedFolder } from '../support/prepared.js';
import { startProxy, type Proxy } from '../support/replay-proxy.js';
import { eventually } from '../support/waiting.js';
import { MAIN, type Ended } from '../support/processes.js';

export const MINT = 'So11111111111111111111111111111111111111112';
/** A mint with a record and no snapshot. */
export const BARE_MINT = 'BareMint11111111111111111111111111111111111';
/** A mint whose only snapshot is two years old. */
export const OLD_MINT = 'PastMint11111111111111111111111111111111111';
export const LEG = '0x00000000000000000000000000000000000000aa';
/** The last snapshot; the service's clock is frozen a second later. */
export const LAST_T = 1_790_000_000;
export const AS_OF = LAST_T + 1;
const SNAPSHOTS = 1400;
export const EVERY_S = 100;
/** Snapshots before this one are 15 minutes apart. */
const COARSE_BEFORE = 306;
const COARSE_EVERY = 900 / EVERY_S;
/** Time of the two-year-old snapshot. */
export const OLD_T = AS_OF - 2 * 365 * 86_400;
export const FIRST_T = LAST_T - (SNAPSHOTS - 1) * EVERY_S;

type Cell = [bin: number, supportUsd: number, resistanceUsd: number];
interface MarketRow {
  source: string;
  exchange_type: string;
  type: string;
  address: string | null;
  pair: string | null;
  cells: Cell[];
}
interface SnapshotRow {
  chain: string;
  address: string;
  t: number;
  tier: string;
  price_usd: number;
  markets: MarketRow[];
}

type Listed = Omit<MarketRow, 'cells'> & { from: number; bins: number[] };
const listed = (
  [source, type, address, pair]: [string, string, string | null, string | null],
  from: number,
  bins: number[],
): Listed => {
  const exchange = type.startsWith('cex') ? 'CEX' : 'DEX';
  return { source, exchange_type: exchange, type, address, pair, from, bins };
};

const MARKETS: Listed[] = [
  listed(['Orca', 'onchain_pool', 'pool-1', 'SOL/USDC'], 0, [-3, -2, 1, 2]),
  listed(['constant-product', 'onchain_pool', null, null], 0, [-69, 69]),
  // Never within the default band: listed, but without cells.
  listed(['Far Away', 'cex_spot', null, 'SOL-USD'], 0, [-90, 120]),
  listed(['Perps, "Inc"', 'cex_perp', null, 'SOL,"PERP"'], 0, [-1, 3]),
  // Appears only on a later page, with a new type.
  listed(['Phoenix ünder', 'onchain_limit_order', 'book-9', null], 600, [-7, 7]),
  listed(['Orca', 'onchain_pool', 'pool-2', 'SOL/USDT'], 900, [0, 4]),
];

/** Early snapshots are of a coarser tier; some have no cells. */
function snapshotRows(): SnapshotRow[] {
  const numbers = Array.from({ length: SNAPSHOTS }, (_, s) => s);
  return numbers
    .filter((s) => s >= COARSE_BEFORE || s % COARSE_EVERY === 0)
    .map((s) => ({
      chain: 'mainchain',
      address: MINT,
      t: FIRST_T + s * EVERY_S,
      tier: s < COARSE_BEFORE ? '15m' : 'raw',
      price_usd: s === COARSE_BEFORE ? 1e-7 : 150 + (s % 97) / 7,
      markets: s % 101 === 5 ? [] : marketsAt(s),
    }));
}

function marketsAt(s: number): MarketRow[] {
  return MARKETS.filter(({ from }) => s >= from).map((market, i) => rowOf(market, s, i));
}

function rowOf(market: (typeof MARKETS)[number], s: number, i: number): MarketRow {
  const { source, exchange_type, type, address, pair } = market;
  const cells = market.bins.map((bin): Cell => {
    const cents = 100 + ((s * 7919 + i * 104_729 + (bin + 300) * 1299) % 9_000_000);
    return bin < 0 ? [bin, cents / 100, 0] : [bin, bin === 0 ? 2.5 : 0, cents / 100];
  });
  return { source, exchange_type, type, address, pair, cells };
}

/** The rows of `cells` expected from a replay of everything within the default band. */
export function expectedRows(rows: readonly SnapshotRow[]): (string | number | null)[][] {
  return rows.flatMap(({ chain, address, t, tier, price_usd, markets }) =>
    markets.flatMap((market) =>
      market.cells
        .filter(([bin]) => bin >= -69 && bin <= 69)
        .map(([bin, support, resistance]) => {
          const { source, exchange_type, type, address: place, pair } = market;
          const about = [source, exchange_type, type, place, pair];
          return [chain, address, t, tier, price_usd, ...about, bin, support, resistance];
        }),
    ),
  );
}

export interface Market {
  data: string;
  rows: SnapshotRow[];
  key: string;
  server: Service;
}

/** Serves a copy of the market's store within this process, with a key. */
export async function startMarket(): Promise<Market> {
  const data = path.join(temporaryDirectory(), 'store');
  cpSync(await preparedFolder('replay-client', ingestMarket), data, { recursive: true });
  const key = await newKey(data);
  return { data, rows: snapshotRows(), key, server: await serveMarket(data) };
}

async function ingestMarket(data: string): Promise<void> {
  const directory = temporaryDirectory();
  const rows = snapshotRows();
  const lines = (items: readonly object[]) => items.map((row) => JSON.stringify(row)).join('\n');
  writeFileSync(
    path.join(directory, 'snapshots.ndjson'),
    lines([...rows, { ...rows[0], address: OLD_MINT, t: OLD_T }]),
  );
  const legs = [
    { chain: 'mainchain', address: MINT, symbol: 'SOL', name: 'SOL', asset: 'sol' },
    { chain: 'evmchain', address: LEG, symbol: 'SOL', name: 'SOL', asset: 'sol' },
    { chain: 'mainchain', address: BARE_MINT, symbol: 'BARE', name: 'Bare', asset: null },
  ].map((leg) => ({ ...leg, price_usd: null, mcap: null, liquidity_usd: null, last_refresh: 1 }));
  writeFileSync(path.join(directory, 'tokens.ndjson'), lines(legs));
  for (const dataset of ['tokens', 'snapshots']) {
    const file = path.join(directory, `${dataset}.ndjson`);
    const { status, stderr } = await fathom(['ingest', dataset, file, '--data', data]);
    if (status !== 0) throw new Error(stderr);
  }
}

export function serveMarket(data: string): Promise<Service> {
  return serveHere(data, ['--as-of', String(AS_OF)]);
}

/** Everything, unless the words say otherwise. */
export const WHOLE = ['--from', String(FIRST_T), '--to', String(AS_OF)];

interface Told {
  /** null if the command succeeded. */
  error: Error | null;
  /** The JSON document; null if it failed. */
  document: Record<string, unknown> | null;
  stderr: string;
}

/** `fathom replay` in this process, with --json. */
export async function replayHere(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Told> {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const stdout = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const text = (spy: typeof stderr) => spy.mock.calls.map(([chunk]) => String(chunk)).join('');
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  try {
    await command.run([...words, '--json']);
    const document = JSON.parse(text(stdout)) as Record<string, unknown>;
    return { error: null, document, stderr: text(stderr) };
  } catch (error) {
    return { error: error as Error, document: null, stderr: text(stderr) };
  } finally {
    vi.unstubAllEnvs();
    stderr.mockRestore();
    stdout.mockRestore();
  }
}

/** A market for the tests of a file; each test has a new proxy in front of it, and a new directory. */
export class ProxiedMarket {
  market!: Market;
  proxy!: Proxy;
  directory = '';

  constructor() {
    beforeAll(async () => {
      this.market = await startMarket();
    });
    beforeEach(async () => {
      this.directory = temporaryDirectory();
      this.proxy = await startProxy(this.market.server.url);
    });
    afterEach(() => this.proxy.close());
  }

  at(name: string): string {
    return path.join(this.directory, name);
  }

  /** Runs the command to its end in this process, through the proxy. */
  run(out: string, words: readonly string[] = WHOLE): Promise<Told> {
    const env = { FATHOM_KEY: this.market.key, FATHOM_URL: this.proxy.url };
    return replayHere([MINT, '--out', out, ...words], env);
  }

  /** The file as an uninterrupted run writes it. */
  async uninterrupted(name: string): Promise<Buffer> {
    expect(await this.run(this.at(name))).toMatchObject({ error: null });
    return readFileSync(this.at(name));
  }
}

/** Runs `fathom replay MINT` to its end. @returns its status */
export function runReplay(
  { key }: Pick<Market, 'key'>,
  url: string,
  words: readonly string[],
  address = MINT,
): Promise<Ended> {
  return fathom(['replay', address, '--url', url, ...words], { FATHOM_KEY: key });
}

/** A `fathom replay MINT` to be killed. */
export function startReplay(key: string, url: string, words: readonly string[]): ChildProcess {
  return spawn(process.execPath, [MAIN, 'replay', MINT, '--url', url, ...words], {
    env: { ...process.env, FATHOM_KEY: key },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

/** How many pages a run has kept so far. */
function keptPages(out: string): number {
  const file = `${out}.part.state`;
  if (!existsSync(file)) return 0;
  const { state } = JSON.parse(readFileSync(file, 'utf8')) as {
    state: { totals: { pages: number } | null };
  };
  return state.totals?.pages ?? 0;
}

/** Answers only this many pages, and ends the run with kill -9 once it has kept some of them. */
export async function killedRun(
  market: Market,
  proxy: Proxy,
  out: string,
  pages: number,
): Promise<void> {
  const first = proxy.requests.length;
  proxy.script = (n) => (n > first + pages ? () => undefined : null);
  const child = startReplay(market.key, proxy.url, ['--out', out, ...WHOLE]);
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const before = keptPages(out);
  await eventually('it has kept a page', () => keptPages(out) > before);
  child.kill('SIGKILL');
  await closed;
  expect(child.signalCode).toBe('SIGKILL');
  proxy.script = () => null;
}

/** CSV by a plain reader: every record's fields as text, null if empty and unquoted. */
function parseCsv(text: string): (string | null)[][] {
  const records: (string | null)[][] = [];
  let record: (string | null)[] = [];
  let at = 0;
  while (at < text.length) {
    let field = '';
    const quoted = text[at] === '"';
    if (quoted) {
      for (at++; text[at] !== '"' || text[at + 1] === '"'; at++) {
        if (text[at] === '"') at++;
        field += text[at];
      }
      at++;
    } else {
      while (text[at] !== ',' && text[at] !== '\n') field += text[at++];
    }
    record.push(field === '' && !quoted ? null : field);
    if (text[at++] === '\n') {
      records.push(record);
      record = [];
    }
  }
  if (record.length > 0) throw new Error('a record without its end');
  return records;
}

/** A CSV's records, with numbers in the numeric columns. */
export function csvRows(file: string): { names: string[]; rows: (string | number | null)[][] } {
  const numeric = ['t', 'price_usd', 'bin', 'support_usd', 'resistance_usd'];
  const [names, ...records] = parseCsv(readFileSync(file, 'utf8')) as [string[], ...string[][]];
  const isNumeric = names.map((name) => numeric.includes(name));
  return {
    names,
    rows: records.map((fields) => fields.map((text, c) => (isNumeric[c] ? Number(text) : text))),
  };
}
