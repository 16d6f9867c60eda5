/** Runs the programs in examples/ as their documents say; python/tests/test_examples.py runs the back-test. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFile, spawnSync } from 'node:child_process';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, open, seriousFindings, startBrowser } from '../support/browser.js';
import { fathom, fathomProcess, newKey, serve, type Server } from '../support/cli.js';
import type { Json } from '../support/conformance.js';
import { demoMarket } from '../support/demo-market.js';
import { atEnd, temporaryDirectory } from '../support/folders.js';
import { cleanEnvironment, Script } from '../support/processes.js';
import { hasProgram } from '../support/programs.js';
import { MINT, NOW_S } from '../support/service.js';
import { becomes } from '../support/waiting.js';

const EXAMPLES = path.resolve('examples');

it('each has a document that names its files, and is listed', () => {
  const list = readFileSync(path.join(EXAMPLES, 'README.md'), 'utf8');
  const names = readdirSync(EXAMPLES).filter((name) => name !== 'README.md');
  expect(names).toHaveLength(4);
  for (const name of names) {
    expect(list).toContain(`[${name}](${name})`);
    const files = readdirSync(path.join(EXAMPLES, name)).filter((file) => /\.(ts|py)$/.test(file));
    const text = readFileSync(path.join(EXAMPLES, name, 'README.md'), 'utf8');
    for (const file of files) expect(text).toContain(file);
  }
});

/** A server on a store with one token, and its key. */
async function serverWithToken(
  csv: string,
): Promise<{ data: string; key: string; server: Server }> {
  const data = path.join(temporaryDirectory(), 'data');
  expect(await fathom(['ingest', 'tokens', csv, '--data', data])).toMatchObject({ status: 0 });
  const key = await newKey(data);
  return { data, key, server: await serve(data) };
}

describe('bot-on-live', () => {
  it('says when depth within 1% falls below the amount, and when it is back, once each', async () => {
    const token = path.join(EXAMPLES, 'own-collector/token.csv');
    const { data, key, server } = await serverWithToken(token);
    const book = async (t: number, bidSize: number, askSize: number): Promise<void> => {
      const rows = [
        ['bid', 99.9, bidSize],
        ['ask', 100.1, askSize],
        // Too far from the price to count.
        ['bid', 95, 1_000_000],
        ['ask', 105, 1_000_000],
      ].map(([side, price, size]) => {
        const market = {
          chain: 'mainchain',
          address: MINT,
          source: 'Kraken',
          exchange_type: 'CEX',
        };
        return JSON.stringify({ ...market, t, side, price, size });
      });
      const words = ['ingest', 'levels', '-', '--format', 'ndjson', '--data', data];
      const ended = await fathomProcess(words, { input: `${rows.join('\n')}\n` });
      expect(ended).toMatchObject({ status: 0 });
    };
    const nowS = Math.floor(Date.now() / 1000);
    await book(nowS - 60, 100, 100);

    // As `npm install` of the client and a TypeScript runner have it; `npm run typecheck` checks its types.
    const folder = temporaryDirectory();
    const client = path.join(folder, 'node_modules/@fathom/client');
    mkdirSync(client, { recursive: true });
    symlinkSync(path.resolve('client/package.json'), path.join(client, 'package.json'));
    symlinkSync(path.resolve('dist/client'), path.join(client, 'dist'));
    const source = readFileSync(path.join(EXAMPLES, 'bot-on-live/bot.ts'), 'utf8');
    const { outputText } = ts.transpileModule(source, {
      compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
    });
    writeFileSync(path.join(folder, 'bot.mjs'), outputText);
    const bot = Script.program(process.execPath, ['bot.mjs', 'SOL', '5000'], {
      cwd: folder,
      env: cleanEnvironment({ FATHOM_URL: server.url, FATHOM_KEY: key }),
    });
    const env = cleanEnvironment({ FATHOM_URL: server.url, FATHOM_KEY: key });
    const refusal = (...words: string[]) =>
      promisify(execFile)(process.execPath, ['bot.mjs', ...words], { cwd: folder, env }).then(
        () => 'no refusal',
        ({ code, stderr }: { code: number; stderr: string }) => [code, stderr.trim().split('\n')],
      );
    expect(await refusal('SOL', 'x')).toEqual([1, ['USD: expected a number above 0, not x']]);
    expect(await refusal('NOPE')).toEqual([1, [expect.stringContaining('NOPE')]]);
    try {
      const sizes = [
        [10, 100],
        [20, 100],
        [60, 10],
      ];
      for (const [i, [bid, ask]] of sizes.entries()) await book(nowS - 50 + 10 * i, bid, ask);
      await bot.line(/resistance/);
      const time = (t: number) => new Date(t * 1000).toISOString();
      expect(bot.printed).toEqual([
        `${time(nowS - 50)} SOL at 100: support within 1% is down to $999`,
        `${time(nowS - 30)} SOL at 100: support within 1% is back at $5,994`,
        `${time(nowS - 30)} SOL at 100: resistance within 1% is down to $1,001`,
      ]);
    } finally {
      await bot.kill();
    }
  });
});

describe.skipIf(!hasProgram('python3'))('own-collector', () => {
  const BTC = '3NZ9JMVBmGAqocybic2c7LQCJScmgsAZ6vQqTDzcqmJh';
  /** The book of an exchange, as it was captured. */
  const captured = gunzipSync(readFileSync('test/fixtures/import/binance_spot_excerpt.stream.gz'));
  const line =
    captured
      .toString()
      .split('\n')
      .find((text) => text.includes('lastUpdateId')) ?? '';
  const { bids, asks } = JSON.parse(line.slice(line.indexOf('{'))) as Record<
    string,
    [string, string][]
  >;

  it('says in one line which variable is wrong', () => {
    const file = path.join(EXAMPLES, 'own-collector/collector.py');
    const ended = (variables: Record<string, string>) => {
      const env = cleanEnvironment(variables);
      const { status, stderr } = spawnSync('python3', [file], { env, encoding: 'utf8' });
      return [status, stderr];
    };
    expect(ended({})).toEqual([1, 'BOOK_URL: expected the address of the book\n']);
    expect(ended({ BOOK_URL: 'http://127.0.0.1:1/', CHAIN_TOKEN: BTC })).toEqual([
      1,
      `CHAIN_TOKEN: expected CHAIN:ADDRESS, not ${BTC}\n`,
    ]);
  });

  it('stores whole books, and leaves out those that are not', async () => {
    const tokens = path.join(temporaryDirectory(), 'tokens.csv');
    writeFileSync(tokens, `chain,address,symbol,name\nmainchain,${BTC},BTC,Bitcoin\n`);
    const { data, key, server } = await serverWithToken(tokens);
    let answer: () => [status: number, body: unknown];
    const whole = () => [200, { time: Date.now(), bids, asks }] as [number, unknown];
    answer = whole;
    const exchange = http.createServer((_, reply) => {
      const [status, body] = answer();
      reply.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => exchange.listen(0, '127.0.0.1', resolve));
    atEnd(() => exchange.close());
    const { port } = exchange.address() as AddressInfo;
    const collector = Script.program(
      'python3',
      [path.join(EXAMPLES, 'own-collector/collector.py')],
      {
        cwd: temporaryDirectory(),
        env: cleanEnvironment({
          BOOK_URL: `http://127.0.0.1:${port}/book/BTC-USD`,
          EVERY_S: '1',
          VENUE: 'Some Exchange',
          TOKEN: BTC,
          CHAIN_TOKEN: `mainchain:${BTC}`,
          DATA: data,
          FATHOM: path.resolve('fathom'),
        }),
      },
    );
    try {
      const [, t] = await collector.line(/^(\d+): stored$/);
      const faults: [string, () => [number, unknown]][] = [
        ['the book is crossed', () => [200, { time: Date.now(), bids: asks, asks: bids }]],
        ['a side of the book is empty', () => [200, { time: Date.now(), bids, asks: [] }]],
        ['the book is 1\\d\\d s old', () => [200, { time: Date.now() - 100_000, bids, asks }]],
        ['HTTP Error 503.*', () => [503, {}]],
        ["'bids'", () => [200, { time: Date.now() }]],
      ];
      for (const [why, given] of faults) {
        answer = given;
        await collector.line(new RegExp(`^\\d+: left out: ${why}$`));
      }
      const beforeS = Number(t);
      answer = whole;
      await becomes(
        () =>
          collector.printed.filter((printed) => printed.endsWith(': stored')).length > 1 &&
          collector.printed.at(-1)?.endsWith(': stored'),
        true,
      );

      const reply = await server.get(
        `/replay/${BTC}?from=${beforeS}&to=${beforeS + 1}&group=market`,
        key,
      );
      const { snapshots, markets } = (await reply.json()) as Json;
      expect(markets).toMatchObject([{ source: 'Some Exchange', exchange_type: 'CEX' }]);
      expect(snapshots).toHaveLength(1);
      const sum = (amounts: number[]) => amounts.reduce((total, one) => total + one, 0);
      const usd = (levels: [string, string][]) =>
        sum(levels.map(([price, size]) => Number(price) * Number(size)));
      const [{ price_usd, support_usd, resistance_usd }] = snapshots as Json[];
      expect(price_usd).toBeCloseTo((Number(bids[0][0]) + Number(asks[0][0])) / 2, 6);
      // Each step is rounded to cents.
      expect(Math.abs(sum(support_usd as number[]) - usd(bids))).toBeLessThan(0.1);
      expect(Math.abs(sum(resistance_usd as number[]) - usd(asks))).toBeLessThan(0.1);
    } finally {
      await collector.kill();
    }
  });
});

describe.skipIf(!hasBrowser)('status-page', () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startBrowser()));
  afterAll(() => browser.close());

  it('shows what the server says, also that it says nothing', async () => {
    const html = readFileSync(path.join(EXAMPLES, 'status-page/index.html'));
    const site = http.createServer((_, reply) => {
      reply.writeHead(200, { 'Content-Type': 'text/html' }).end(html);
    });
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    atEnd(() => site.closeAllConnections());
    atEnd(() => void site.close());
    const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    const data = await demoMarket();
    const key = await newKey(data);
    const words = ['--port', '0', '--as-of', String(NOW_S), '--cors-origin', origin];
    const server = await serve(data, words);
    const { tokens } = (await (
      await server.get('/top-scores?details=true&chain=all', key)
    ).json()) as Json;
    const [sol, barn] = tokens as Json[];
    expect([sol.symbol, barn.symbol]).toEqual(['SOL', 'BARN']);

    const shown = new URLSearchParams({ url: server.url, key, tokens: 'BARN,SOL,NOPE' });
    const { page, faults } = await open(browser, origin, `/#${shown}`, {
      // The data are of another year.
      prepare: (tab) => tab.clock.install({ time: (NOW_S + 30) * 1000 }),
    });
    await page.locator('#server.good').waitFor();
    const rows = await page.locator('tbody tr').all();
    const texts = await Promise.all(
      rows.map((row) =>
        row
          .locator('th, td')
          .evaluateAll((cells) => cells.map((cell) => cell.firstChild?.nodeValue ?? '')),
      ),
    );
    expect(texts.map(([symbol, , , score]) => [symbol, score])).toEqual([
      ['SOL', String(sol.service_score)],
      ['BARN', String(barn.service_score)],
      ['NOPE', undefined],
    ]);
    for (const [i, one] of [sol, barn].entries()) {
      const { support, resistance } = one.depth_2pct_usd as Record<string, number>;
      // What stands for an amount differs from it by less than the third digit.
      const amounts = texts[i].slice(5).map(amountOf);
      expect(Math.abs(amounts[0] / support - 1)).toBeLessThan(0.005);
      expect(Math.abs(amounts[1] / resistance - 1)).toBeLessThan(0.005);
      expect(amountOf(texts[i][2]) / (one.service_current_price as number)).toBeCloseTo(1, 3);
      expect(texts[i][1]).toMatch(/^\d+ (s|min) old$/);
    }
    expect(await page.locator('tbody tr').last().textContent()).toBe(
      'NOPEno score, or its data are old',
    );
    expect(await seriousFindings(page)).toEqual([]);
    expect(faults).toEqual([]);

    await server.stop();
    await page.clock.runFor(61_000);
    await page.locator('#server.bad').waitFor();
    expect(await page.locator('#server').textContent()).toMatch(/^no answer at /);
    expect(await page.locator('tbody tr').count()).toBe(3);
  });
});

const UNITS: Record<string, number> = { '': 1, K: 1e3, M: 1e6, B: 1e9 };

/** The number that `$14.6M` stands for. */
function amountOf(text: string): number {
  const [, digits, unit] = /^\$([\d,.]+)([KMB]?)$/.exec(text) ?? [];
  return Number(digits.replaceAll(',', '')) * UNITS[unit];
}
