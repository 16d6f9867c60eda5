/**
 * Every command line in the `sh` blocks of docs/cli.md runs as written on a fresh machine: an empty home, an
 * empty folder, and the store and files that the document speaks of.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { fathom, newKey, serve } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { Scratch } from '../support/ingest.js';
import { cleanEnvironment } from '../support/processes.js';
import { hasProgram } from '../support/programs.js';
import { MINT } from '../support/stores.js';
import { eventually } from '../support/waiting.js';
import { documentNamed, shellLines } from './documents.js';

const run = promisify(execFile);

/** Lines that do not run here, each with the reason. */
const LEFT_OUT: readonly [RegExp, string][] = [
  [/nats:\/\/|^fathom cluster /, 'needs NATS: test/cluster'],
  [/^fathom (start|demo) /, 'fills a whole market: test/cli/demo.long.test.ts'],
  [/^fathom collect .*(--check|--data)/, 'needs exchanges: test/collect'],
  [/ ln -s /, 'runs first, in the clone'],
  [/^fathom import (binance-stream|clmm-pools) /, 'the excerpts lack such data: test/storage'],
  [/^fathom check --archive/, 'needs an archive with objects: test/archive'],
  [/fathom mcp --url/, 'is for an assistant, which starts it: test/assistants'],
  [/completion zsh/, 'is for zsh'],
  [/--exchange kraken /, 'needs a capture of that market: test/collect'],
];
/** Lines that go on until a signal, and what they print once they work. */
const ENDLESS: readonly [RegExp, RegExp][] = [
  [/^fathom serve /, /"msg":"listening"/],
  [/^fathom follow /, /"type":"(?:snapshots|heartbeat)"/],
  [/fathom mcp .*--http/, /http:\/\/127/],
];

const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2';
const TIDE = '9n4nbM75f5Ui33ZbPYXn59EwSgE8CGsHtAeTH5YFeJ9E';
/** The server's time: soon after those in the documents. */
const NOW = '2026-11-22T00:00:00Z';
/** Times of snapshots: those in the documents, and some before the clock of the machine. */
const TIMES = [
  ...['2026-11-14', '2026-11-20T12:00', '2026-11-21T23:00', '2026-11-21T23:59'].map(
    (text) => Date.parse(`${text}${text.includes('T') ? ':00' : 'T00:00:00'}Z`) / 1000,
  ),
  ...[600, 7200].map((agoS) => Math.floor(Date.now() / 1000) - agoS),
];

const folder = temporaryDirectory();
const home = path.join(folder, 'home');
const base = path.join(folder, 'base');
const mounted = path.join(folder, 'mnt');
const scratch = new Scratch(base);
let key = '';
let keyId = '';
let url = '';

const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join('\n');
const snapshotsOf = (chain: string, address: string, times: readonly number[]) =>
  times.map((t) => {
    const market = { source: 'binance', exchange_type: 'CEX', pair: 'SOLUSDT' };
    const pool = { source: 'Orca', exchange_type: 'DEX', address: 'pool-1', pair: 'SOL/USDC' };
    const cells = [
      [-2, 400, 0],
      [0, 90, 80],
      [3, 0, 500],
    ];
    const markets = [market, pool].map((one) => ({ ...one, cells }));
    return { chain, address, t, price_usd: 100, markets };
  });

/** The files that the documents' commands read, and the store. */
beforeAll(async () => {
  for (const name of [home, base, path.join(mounted, 'backups'), path.join(mounted, 'history')]) {
    mkdirSync(name, { recursive: true });
  }
  // As HTTP errors are for a reader.
  writeFileSync(path.join(home, '.curlrc'), 'fail\nsilent\nshow-error\n');
  const place = (name: string, content: string | Buffer) =>
    writeFileSync(path.join(base, name), name.endsWith('.gz') ? gzipSync(content) : content);
  place(
    'tokens.csv',
    `chain,address,symbol\nmainchain,${MINT},SOL\nevmchain,${WETH},WETH\nmainchain,${TIDE},TIDE\n`,
  );
  const [first, ...others] = snapshotsOf('mainchain', MINT, TIMES);
  place('monday.ndjson.gz', lines([first]));
  place('tuesday.ndjson.gz', lines(others));
  const head = 'chain,address,t,price_usd,source,exchange_type,bin,support_usd,resistance_usd';
  const cells = (t: number) => `${head}\nmainchain,${MINT},${t},100,Coinbase,CEX,-1,250,0\n`;
  place('export.txt', cells(TIMES[0] + 60));
  place('cells.csv', cells(TIMES[0] + 120));
  place(
    'recorded.csv',
    `symbol;timestamp;price_usd;source;exchange_type;bin;support_usd;resistance_usd\nSOL;${TIMES[0]}500;100;Gate;CEX;1;0;70\n`,
  );
  place(
    'orders.ndjson.gz',
    lines([
      {
        dca_address: 'dca-1',
        token_address: MINT,
        direction: 'BUY',
        paired_symbol: 'USDC',
        deposited_usd: 5000,
        remaining_usd: 3000,
        cycle_usd: 15,
        cycle_frequency: 300,
        next_cycle_at: TIMES[0],
        min_usd: null,
        max_usd: null,
      },
    ]),
  );
  const parquet = await scratch.parquet(
    `SELECT 'mainchain' AS chain, '${MINT}' AS address, ${TIMES[0]}::BIGINT AS t, 100.0 AS price_usd, 'OKX' AS source, 'CEX' AS exchange_type, -1 AS bin, 250.0 AS support_usd, 0.0 AS resistance_usd`,
  );
  cpSync(parquet, path.join(base, 'cells.parquet'));
  if (hasProgram('zstd')) spawnSync('zstd', ['-q', path.join(base, 'cells.csv')]);
  const fixtures: Record<string, string> = {
    'book.csv.gz': 'tardis_incremental_excerpt.csv.gz',
    'perp.stream.gz': 'binance_coinm_excerpt.stream',
    'pools.ndjson': 'clmm_excerpt.ndjson',
    'list.json': 'solana_tokenlist_excerpt.json',
    'export.csv': 'solscan_holders_excerpt.csv',
    'export_token_holders.csv': 'solscan_holders_excerpt.csv',
    'trigger.json': 'jupiter_trigger_excerpt.json',
    'recurring.json': 'jupiter_recurring_excerpt.json',
  };
  for (const [name, fixture] of Object.entries(fixtures)) {
    cpSync(path.join('test/fixtures/import', fixture), path.join(base, name));
  }

  const data = path.join(base, 'data');
  const load = async (...words: string[]) =>
    expect(await fathom([...words, '--data', data])).toMatchObject({ status: 0 });
  await load('ingest', 'tokens', path.join(base, 'tokens.csv'));
  const names = ['monday.ndjson.gz', 'tuesday.ndjson.gz'].map((name) => path.join(base, name));
  await load('ingest', 'snapshots', ...names);
  for (const [i, [chain, address]] of [
    ['evmchain', WETH],
    ['mainchain', TIDE],
  ].entries()) {
    place(`more-${i}.ndjson`, lines(snapshotsOf(chain, address, TIMES)));
    await load('ingest', 'snapshots', path.join(base, `more-${i}.ndjson`));
  }
  key = await newKey(data);
  const { stdout } = await fathom(['keys', 'list', '--json', '--data', data]);
  keyId = /"id": ?"(key_\w+)"/.exec(stdout)?.[1] ?? '';
  cpSync(data, path.join(base, 'backups/monday'), { recursive: true });
  const served = path.join(folder, 'served');
  cpSync(data, served, { recursive: true });
  ({ url } = await serve(served, ['--port', '0', '--as-of', NOW]));

  // docs/cli.md says how to put the command on the path.
  const [link] = shellLines(documentNamed('docs/cli.md')).filter((line) =>
    line.includes(' ln -s '),
  );
  await run('bash', ['-c', link], { env: { ...cleanEnvironment({}), HOME: home } });
});

const environment = () => ({
  ...cleanEnvironment({
    FATHOM_URL: url,
    FATHOM_KEY: key,
    FATHOM_PORT: '0',
    FATHOM_LOG_FORMAT: 'json',
  }),
  PATH: `${path.join(home, '.local/bin')}:${process.env.PATH}`,
  HOME: home,
  TOKEN: MINT,
});

/** A line with this machine's address, key and folders in place of the document's. */
const adapted = (line: string): string =>
  line
    .replace(/http:\/\/127\.0\.0\.1:808\d/, url)
    .replace(/fathom_\.\.\./, key)
    .replace('key_0ddfeb50b54c5711', keyId)
    .replace(/(?<=[ /])\/mnt\//, `${mounted}/`)
    .replace(/--port 80\d\d|--http \d+/, (flag) => `${flag.split(' ')[0]} 0`)
    // Without a terminal nobody can confirm.
    .replace(/^(fathom (?:delete|prune) (?!.*--(?:yes|dry-run)).*)$/, '$1 --yes');

/** Runs an endless line until it has printed what it prints when it works, and stops it. */
async function stopsAfter(line: string, pattern: RegExp, cwd: string): Promise<void> {
  const child = spawn(
    'bash',
    ['-c', `exec ${line.replace(/ >> .*/, '')}`.replace(/^exec (\w+=\S+) /, '$1 exec ')],
    { cwd, env: environment() },
  );
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
  }
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  await eventually(
    () => `${line}: ${printed}`,
    () => {
      if (child.exitCode !== null) throw new Error(`${line} ended: ${printed}`);
      return pattern.test(printed);
    },
  );
  child.kill('SIGTERM');
  await ended;
}

const blocks = [documentNamed('docs/cli.md')].flatMap(({ name, blocks }) =>
  blocks
    .filter(({ info }) => info === 'sh')
    .map((block, i) => ({
      title: `${name}, block ${i + 1}`,
      lines: shellLines({ name, text: '', prose: '', blocks: [block] }),
    })),
);
const isLeftOut = (line: string) => LEFT_OUT.some(([pattern]) => pattern.test(line));

it('every reason for leaving a line out is needed', () => {
  const all = blocks.flatMap(({ lines }) => lines);
  const unused = LEFT_OUT.filter(([pattern]) => !all.some((line) => pattern.test(line)));
  expect(unused).toEqual([]);
  expect(all.filter((line) => !isLeftOut(line)).length).toBeGreaterThan(50);
});

describe.runIf(hasProgram('bash') && hasProgram('curl'))('the commands of', () => {
  const runnable = blocks.filter(({ lines }) => !lines.every(isLeftOut));
  it.each(runnable)('$title run as written', async ({ lines }) => {
    const cwd = path.join(temporaryDirectory(), 'here');
    // A backup is there where the commands read one.
    const writesBackup = lines.some((line) => line.includes('--out backups/monday'));
    const filter = (name: string) => !writesBackup || path.basename(name) !== 'monday';
    cpSync(base, cwd, { recursive: true, filter });
    const shell: string[] = [];
    for (const line of lines.filter((one) => !isLeftOut(one))) {
      if (line.startsWith('zstd ') && !hasProgram('zstd')) continue;
      const endless = ENDLESS.find(([pattern]) => pattern.test(line));
      if (endless === undefined) shell.push(adapted(line));
      else await stopsAfter(adapted(line), endless[1], cwd);
    }
    // One shell for all: variables stay.
    const script = shell.map(
      (line) => `{ ${line}\n} || { echo "status $?: "${quoted(line)} >&2; failed=1; }`,
    );
    const text = `exec </dev/null; failed=0\n${script.join('\n')}\nexit $failed`;
    const archive = lines.some((line) => line.includes('archive'))
      ? { FATHOM_ARCHIVE_URL: `file://${mounted}/history` }
      : {};
    const { stderr, status } = await run('bash', ['-c', text], {
      cwd,
      env: { ...environment(), ...archive },
    }).then(
      ({ stderr }) => ({ stderr, status: 0 }),
      (error: { stderr: string; code: number }) => ({ stderr: error.stderr, status: error.code }),
    );
    expect(status, stderr).toBe(0);
  });
});

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
