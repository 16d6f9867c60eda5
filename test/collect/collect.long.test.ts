/** `fathom collect` from the command line, against a local exchange; two collectors of one token. */
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { EXAMPLE, parseConfig } from '../../collect/config.js';
import { storeSnapshots } from '../../storage/import/import.js';
import { withPool, storeThrough } from '../../server/cli/runtime.js';
import { SOL } from '../storage/import-helpers.js';
import { temporaryDirectory } from '../support/folders.js';
import { eventually } from '../support/waiting.js';
import { ExchangeServer, until } from './exchange-server.js';

const MAIN = path.resolve('dist/server/cli/main.js');
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** An exchange with a book of Kraken Futures for every symbol that is asked for, except those with GONE in them. */
async function exchange(): Promise<ExchangeServer> {
  const at = await ExchangeServer.start();
  ends.push(() => at.stop());
  at.onSubscribed = (socket, nth) => {
    const { product_ids } = JSON.parse(at.received[nth][0]) as { product_ids: string[] };
    const [product_id] = product_ids;
    const level = (price: number) => [{ price, qty: 10 }];
    socket.send(
      product_id.includes('GONE')
        ? JSON.stringify({ event: 'error', message: 'Invalid product id' })
        : JSON.stringify({
            feed: 'book_snapshot',
            product_id,
            timestamp: 1,
            seq: 1,
            bids: level(99),
            asks: level(101),
          }),
    );
  };
  return at;
}

function configFile(at: ExchangeServer, symbols: string[], every = '1s'): string {
  const sources = symbols.map((symbol) => ({
    id: symbol,
    kind: 'exchange',
    exchange: 'kraken-futures',
    symbol,
    url: at.url,
    quote_usd: 1,
  }));
  const file = path.join(temporaryDirectory(), 'collect.json');
  writeFileSync(file, JSON.stringify({ every, tokens: [{ token: `mainchain:${SOL}`, sources }] }));
  return file;
}

function fathom(...words: string[]) {
  const child = spawn(process.execPath, [MAIN, ...words]);
  ends.push(() => child.kill('SIGKILL'));
  const output = { out: '', err: '' };
  child.stdout.on('data', (text: Buffer) => (output.out += text.toString()));
  child.stderr.on('data', (text: Buffer) => (output.err += text.toString()));
  const status = once(child, 'exit').then(([code]) => code as number | null);
  return { child, output, status };
}

const countOf = (data: string) =>
  withPool((pool) =>
    storeThrough(
      data,
      pool,
    )((store) => store.snapshotTimes({ chain: 'mainchain', address: SOL, tier: 'raw' })),
  );

describe('fathom collect', () => {
  it('--once stores one snapshot of what there is', async () => {
    const at = await exchange();
    const data = path.join(temporaryDirectory(), 'data');
    const { status, output } = fathom(
      'collect',
      configFile(at, ['PF_A', 'PF_B']),
      '--once',
      '--data',
      data,
    );
    expect([await status, output.err]).toEqual([0, expect.stringContaining('stored 1 snapshots')]);
    expect((await countOf(data)).length).toBe(1);
  });

  it('runs until it is stopped, and stores what waits', async () => {
    const at = await exchange();
    const data = path.join(temporaryDirectory(), 'data');
    const { child, status, output } = fathom('collect', configFile(at, ['PF_A']), '--data', data);
    await until(() => output.err.includes('PF_A: whole'));
    child.kill('SIGTERM');
    expect(await status).toBe(0);
    const stored = Number(/stored (\d+) snapshots, refused 0, dropped 0/.exec(output.err)?.[1]);
    expect((await countOf(data)).length).toBe(stored);
  });

  it('--check prints what works and what does not, and fails for what does not', async () => {
    const at = await exchange();
    const good = fathom('collect', '--check', configFile(at, ['PF_A']));
    expect(await good.status).toBe(0);
    expect(good.output.out).toMatch(
      /PF_A +kraken-futures +100 +2% +990 +1,010 .* s +yes: numbers\n$/,
    );
    const bad = fathom('collect', configFile(at, ['PF_A', 'PF_GONE']), '--check');
    expect(await bad.status).toBe(1);
    expect(bad.output.out).toMatch(/\nPF_GONE does not work: refused: Invalid product id\n$/);
    expect(bad.output.err).toContain('1 of 2 sources do not work');
  });

  it('--check says what nothing verifies, and fits a terminal', async () => {
    const at = await exchange();
    const subscribed = at.onSubscribed;
    at.onSubscribed = (socket, nth) => {
      if (!at.received[nth][0].includes('level2')) return subscribed(socket, nth);
      const [bids, asks] = [[['99', '1']], [['101', '1']]];
      socket.send(JSON.stringify({ type: 'snapshot', product_id: 'SOL-USD', bids, asks }));
    };
    const file = configFile(at, ['PF_A']);
    const config = JSON.parse(readFileSync(file, 'utf8'));
    const [source] = config.tokens[0].sources;
    const more = { symbol: 'SOL-USD', id: 'x'.repeat(100) };
    config.tokens[0].sources.push(
      { ...source, ...more, exchange: 'coinbase' },
      { ...source, ...more, id: 'c', exchange: 'coinbase-advanced' },
    );
    writeFileSync(file, JSON.stringify(config));
    const { status, output } = fathom('collect', file, '--check');
    expect([await status, output.err]).toEqual([0, '']);
    const lines = output.out.trimEnd().split('\n');
    expect(lines[2]).toMatch(/^x{20}\.\.\. +coinbase .* no$/);
    expect(lines[4]).toBe(
      'known from documents alone, compared with nothing real: coinbase-advanced',
    );
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(110);
  });

  it('a file as --data is refused at once', async () => {
    const at = await exchange();
    const file = configFile(at, ['PF_A']);
    const { status, output } = fathom('collect', file, '--data', file);
    expect([await status, output.err]).toEqual([
      1,
      `${file}: expected a directory, found a file\n`,
    ]);
    expect(at.upgrades).toBe(0);
  });

  it('--example prints a configuration that is read', async () => {
    const { status, output } = fathom('collect', '--example');
    expect(await status).toBe(0);
    expect(output.out).toBe(EXAMPLE);
    expect(parseConfig(output.out, 'example').tokens[0].sources.length).toBeGreaterThan(2);
  });

  it('beside a server: snapshots go through it, and its metrics tell how each source does', async () => {
    const at = await exchange();
    const data = path.join(temporaryDirectory(), 'data');
    const server = fathom('serve', '--data', data, '--port', '0', '--log-format', 'json');
    const address = (): string | undefined => /"url":"([^"]+)"/.exec(server.output.err)?.[1];
    await until(() => address() !== undefined);
    const collecting = fathom('collect', configFile(at, ['PF_A', 'PF_GONE']), '--data', data);
    const metrics = async (): Promise<string> => (await fetch(`${address()}/metrics`)).text();
    await eventually('the metrics of a source', async () =>
      (await metrics()).includes('fathom_collector_source_up{source="PF_A"} 1'),
    );
    await eventually('snapshots and their count', async () =>
      /fathom_collector_snapshots_total [1-9]/.test(await metrics()),
    );
    const text = await metrics();
    expect(text).toContain('fathom_collector_source_up{source="PF_GONE"} 0');
    expect(text).toMatch(
      /fathom_collector_resyncs_total\{source="PF_GONE",cause="refused"\} [1-9]/,
    );
    collecting.child.kill('SIGTERM');
    expect(await collecting.status).toBe(0);
    server.child.kill('SIGTERM');
    expect(await server.status).toBe(0);
  });

  it('wrong usage is refused', async () => {
    const none = fathom('collect');
    expect([await none.status, none.output.err]).toEqual([
      2,
      expect.stringContaining('expected one file'),
    ]);
    const gone = fathom('collect', 'nowhere.json');
    expect([await gone.status, gone.output.err]).toEqual([1, 'nowhere.json: no such file\n']);
  });

  it('a kill at any moment leaves whole snapshots, and the next run goes on', async () => {
    const at = await exchange();
    const data = path.join(temporaryDirectory(), 'data');
    const file = configFile(at, ['PF_A']);
    for (const afterMs of [300, 900, 1_700]) {
      const { child, status, output } = fathom('collect', file, '--data', data);
      await until(() => output.err.includes('whole'));
      await new Promise((passed) => setTimeout(passed, afterMs));
      child.kill('SIGKILL');
      await status;
    }
    const { status, output } = fathom('collect', file, '--once', '--data', data);
    expect([await status, output.err]).toEqual([0, expect.stringContaining('stored 1 snapshots')]);
    const check = fathom('check', '--data', data);
    expect([await check.status, check.output.err]).toEqual([0, expect.anything()]);
  });
});

/** What `fathom collect` says at its end. */
const storedBy = (err: string): number =>
  Number(/stored ([\d,]+) snapshots, refused 0, dropped 0/.exec(err)?.[1].replaceAll(',', ''));

it('two collectors of one token as two processes: both are stored, with a server and after its end', async () => {
  const at = await exchange();
  const data = path.join(temporaryDirectory(), 'data');
  const server = fathom('serve', '--data', data, '--port', '0', '--log-format', 'json');
  await until(() => server.output.err.includes('"url":"'));
  const collectors = ['PF_A', 'PF_B'].map((symbol) =>
    fathom('collect', configFile(at, [symbol]), '--data', data),
  );
  const timesWhile = async (enough: number): Promise<void> => {
    const before = (await countOf(data)).length;
    await eventually(
      'more snapshots',
      async () => (await countOf(data)).length >= before + enough,
      300,
    );
  };
  await until(() => collectors.every(({ output }) => output.err.includes(': whole')));
  await timesWhile(3);
  server.child.kill('SIGTERM');
  expect(await server.status).toBe(0);
  await timesWhile(3);
  for (const { child } of collectors) child.kill('SIGTERM');
  expect(await Promise.all(collectors.map(({ status }) => status))).toEqual([0, 0]);
  const times = (await countOf(data)).length;
  const stored = collectors.map(({ output }) => storedBy(output.err));
  const { cells } = await withPool((pool) => storeThrough(data, pool)((store) => store.summary()));
  // A bid and an ask of each; most moments have both markets.
  expect(cells).toBe(2 * (stored[0] + stored[1]));
  expect(times).toBeGreaterThanOrEqual(Math.max(...stored));
  expect(times).toBeLessThan(stored[0] + stored[1]);
});

it('two collectors of one token on two machines: each keeps its markets', async () => {
  const directory = path.join(temporaryDirectory(), 'data');
  const row = (source: string, price: number) =>
    JSON.stringify({
      chain: 'mainchain',
      address: SOL,
      t: 1_760_000_000,
      tier: 'raw',
      price_usd: price,
      markets: [
        {
          source,
          exchange_type: 'CEX',
          type: 'cex_spot',
          address: null,
          pair: 'SOL/USD',
          book: { bids: [[price * 0.99, 1]], asks: [[price * 1.01, 1]] },
        },
      ],
    });
  const stored = await withPool(async (pool) => {
    const useStore = storeThrough(directory, pool);
    const store = (line: string) =>
      storeSnapshots({ directory, pool, useStore, lines: [line], name: 'collect' });
    const reports = [
      await store(row('kraken', 100)),
      await store(row('coinbase', 102)),
      await store(row('kraken', 101)),
    ];
    const prices = await useStore((opened) =>
      opened.snapshotPrices([{ chain: 'mainchain', address: SOL, t: 1_760_000_000, tier: 'raw' }]),
    );
    const { cells } = await useStore((opened) => opened.summary());
    return { replaced: reports.map(({ replaced }) => replaced), price: prices[0], cells };
  });
  // The first price stays: the markets of a snapshot are binned around one price.
  expect([stored.price, stored.cells]).toEqual([100, 4]);
  expect(stored.replaced.map(({ cellsBefore, cellsAfter }) => [cellsBefore, cellsAfter])).toEqual([
    [0, 0],
    [0, 0],
    [2, 2],
  ]);
});
