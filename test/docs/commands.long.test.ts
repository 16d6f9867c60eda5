/**
 * Every command line in the `sh` blocks of the documents runs as written on a fresh machine: an empty home, an
 * empty folder, and the store and files that the document speaks of. Blocks such as `sh run` belong to OWN_TESTS.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { crc32, gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasNats, NatsServers } from '../../bench/nats.js';
import { ExchangeServer } from '../collect/exchange-server.js';
import { fathom, newKey, type Server, serve } from '../support/cli.js';
import { atEnd, temporaryDirectory } from '../support/folders.js';
import { Scratch } from '../support/ingest.js';
import { cleanEnvironment } from '../support/processes.js';
import { hasProgram } from '../support/programs.js';
import { S3_KEY, S3Server } from '../support/s3-server.js';
import { MINT } from '../support/stores.js';
import { eventually } from '../support/waiting.js';
import { type Document, documentNamed, DOCUMENTS, shellLines } from './documents.js';

const run = promisify(execFile);

/** The test that runs a document's blocks such as `sh run`, and how many it runs. */
const OWN_TESTS: Readonly<Record<string, [string, number]>> = {
  'README.md': ['readme.long.test.ts', 3],
  'docs/api.md': ['api.long.test.ts', 19],
  'docs/clients.md': ['readme.long.test.ts', 2],
  'docs/cluster.md': ['cluster.long.test.ts', 2],
  'docs/cookbook.md': ['cookbook.long.test.ts', 5],
  'docs/data.md': ['data.test.ts', 15],
  'docs/live.md': ['live.long.test.ts', 1],
};
/** Lines that do not run here, each with the reason. */
const LEFT_OUT: readonly [RegExp, string][] = [
  [/^git clone |^npm (ci|start)\b/, 'makes a clone and its build: .ci/run, test/client'],
  [/^npm (pack|install)\b/, 'needs a registry: test/client/package.long.test.ts'],
  [
    /^npm (run|test)\b|^SOAK_MINUTES=/,
    'is a check or a measurement, of minutes: .ci/run, test/bench',
  ],
  [/\bpip (install|wheel) /, 'needs a package index: npm run test:python'],
  [/^npx tsx bot\.ts |^BOOK_URL=|back_test\.py /, 'an example: test/examples, python/tests'],
  [
    /^useradd |^systemctl |^install -|^cp docs\//,
    'needs root and systemd: test/docs/deploy.test.ts',
  ],
  [/^docker (build|run) /, 'needs Docker: test/debian13.sh'],
  [/^grafana /, 'needs Grafana: test/docs/grafana.long.test.ts'],
  [/^fathom cluster (trim|leave) /, 'needs entries, or a node that stopped: test/cluster'],
  [/^fathom (start|demo) /, 'fills a whole market: test/cli/demo.long.test.ts'],
  [/^fathom collect ~\//, 'has pools, which need chains: test/collect'],
  [/ ln -s /, 'runs first, in the clone'],
  [/^fathom import (binance-stream|clmm-pools) /, 'the excerpts lack such data: test/storage'],
  [/^fathom check --archive/, 'needs an archive with objects: test/archive'],
  [/fathom mcp --url/, 'is for an assistant, which starts it: test/assistants'],
  [/completion zsh/, 'is for zsh'],
];
/** Programs that lines need beside bash and curl: those lines are left out where one is missing. */
const NEEDS: readonly [RegExp, string][] = [
  [/^zstd /, 'zstd'],
  [/\| jq /, 'jq'],
  [/^aws /, 'aws'],
];
/** Lines that go on until a signal, and what they print once they work. */
const ENDLESS: readonly [RegExp, RegExp][] = [
  [/^(?:\.\/)?fathom serve /, /"msg":"listening"/],
  [/^fathom collect .*--data/, /whole[^]*whole[^]*whole/],
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
let s3: S3Server;
let market: ExchangeServer;
/** Where the nodes of a cluster find their log; empty: nowhere. */
let nats = '';

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

/** A message of Kraken, v2, with the checksum of the book's levels: those of asks first, without points. */
const kraken = (type: string, bidSize: number, atS: number) =>
  `{"channel":"book","type":"${type}","data":[{"symbol":"SOL/USD","bids":[{"price":99.9,"qty":${bidSize}}],"asks":[{"price":100.1,"qty":12}],"checksum":${crc32(`100112999${bidSize}`)},"timestamp":"${new Date(atS * 1000).toISOString()}"}]}`;

/** Kraken, Coinbase and Binance at one address, with a book of one level a side. */
async function exchange(): Promise<ExchangeServer> {
  const server = await ExchangeServer.start();
  atEnd(() => server.stop());
  const [bids, asks] = [[['99.9', '10']], [['100.1', '12']]];
  const coinbase = { type: 'snapshot', product_id: 'SOL-USD', bids, asks };
  const update = { e: 'depthUpdate', E: Date.now(), s: 'SOLUSDT', U: 1, u: 2, b: [], a: [] };
  server.onSubscribed = (socket, nth) => {
    const isCoinbase = server.received[nth][0].includes('product_ids');
    socket.send(isCoinbase ? JSON.stringify(coinbase) : kraken('snapshot', 10, Date.now() / 1000));
  };
  server.onRest = () => {
    // To Binance, the only one that is not asked by a message.
    const unasked = server.connections.filter((_, i) => server.received[i].length === 0);
    for (const socket of unasked) socket.send(JSON.stringify({ data: update }));
    return { body: { lastUpdateId: 1, bids, asks } };
  };
  return server;
}

/** `journalctl` of this machine: systemd's line, and the server's log, once as it is, and once with what one looks for. */
async function journal(server: Server): Promise<void> {
  await server.get(`/score/${MINT}`, key);
  await eventually('a request is logged', () => server.logged().includes('"msg":"request"'));
  const log = server.logged();
  const found = log
    .replaceAll('"level":"info"', '"level":"error"')
    .replaceAll(/"ms":[\d.]+/g, '"ms":250.5');
  const bin = path.join(home, '.local/bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(path.join(folder, 'journal'), `Started fathom.service.\n${log}${found}`);
  writeFileSync(path.join(bin, 'journalctl'), `#!/bin/sh\ncat '${folder}/journal'\n`, {
    mode: 0o755,
  });
}

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
  place(
    'kraken_http.log.gz',
    `https://api.kraken.com/0/public/Time -> ${TIMES[0]}.1: {"error":[]}\n`,
  );
  const captured = [10, 11, 12].map((size, i) => {
    const atS = TIMES[0] + 60 * i + 0.5;
    return `${atS}: ${kraken(i === 0 ? 'snapshot' : 'update', size, atS)}\n`;
  });
  place('kraken_ws.log.gz', captured.join(''));

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
  symlinkSync(path.resolve('fathom'), path.join(base, 'fathom'));
  const served = path.join(folder, 'served');
  cpSync(data, served, { recursive: true });
  const server = await serve(served, ['--port', '0', '--as-of', NOW]);
  ({ url } = server);
  await journal(server);
  s3 = await S3Server.start();
  atEnd(() => s3.close());
  market = await exchange();
  if (hasNats) {
    const servers = await NatsServers.start(1);
    atEnd(() => servers.close());
    [nats] = servers.urls;
  }

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
    AWS_ENDPOINT_URL: s3.endpoint,
    AWS_ACCESS_KEY_ID: S3_KEY.accessKeyId,
    AWS_SECRET_ACCESS_KEY: S3_KEY.secretAccessKey,
    AWS_DEFAULT_REGION: 'eu-central-1',
    // The test's server reads no body in chunks.
    AWS_REQUEST_CHECKSUM_CALCULATION: 'when_required',
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
    .replace(/nats:\S+/, nats)
    .replace('s3://bucket/', s3.url.replace(/[^/]*$/, ''))
    // In the container is what is here.
    .replace(/^docker exec \S+ /, '')
    // A filter that lets nothing through shows nothing.
    .replace(/^journalctl .*/, '$& | grep .')
    .replace(/--port 80\d\d|--http \d+/, (flag) => `${flag.split(' ')[0]} 0`)
    // Without a terminal nobody can confirm.
    .replace(/^(fathom (?:delete|prune) (?!.*--(?:yes|dry-run)).*)$/, '$1 --yes');

/** Runs an endless line until it has printed what it prints when it works, and stops it. */
async function stopsAfter(line: string, pattern: RegExp, cwd: string): Promise<void> {
  const child = spawn(
    'bash',
    ['-c', `exec ${line.replace(/ >> .*| &$/, '')}`.replace(/^exec (\w+=\S+) /, '$1 exec ')],
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

/** What runs in one folder, in order: a document's blocks, but in docs/cli.md each for itself. */
const groups = DOCUMENTS.flatMap((document) => {
  const { name } = document;
  const blocks = document.blocks.filter(({ info }) => info === 'sh');
  if (name !== 'docs/cli.md') return [{ title: name, document, lines: shellLines({ blocks }) }];
  return blocks.map((block, i) => ({
    title: `${name}, block ${i + 1}`,
    document,
    lines: shellLines({ blocks: [block] }),
  }));
});
const isLeftOut = (line: string) => LEFT_OUT.some(([pattern]) => pattern.test(line));

/** Writes the files that a document shows: blocks of `json sol.json`. */
function writeShown({ blocks }: Document, folder: string): void {
  for (const { info, text } of blocks) {
    const [, name] = /^json (\S+)$/.exec(info) ?? [];
    if (name === undefined) continue;
    const addresses = `"url": "${market.url}", "rest_url": "${market.restUrl}"`;
    const local = text
      .replaceAll('"kind": "exchange"', `$&, ${addresses}`)
      // Nobody waits for the next minute.
      .replace('"every": "60s"', '"every": "1s"');
    writeFileSync(path.join(folder, name), local);
  }
}

it('every reason for leaving a line out is needed', () => {
  const all = groups.flatMap(({ lines }) => lines);
  const unused = LEFT_OUT.filter(([pattern]) => !all.some((line) => pattern.test(line)));
  expect(unused).toEqual([]);
  expect(all.filter((line) => !isLeftOut(line)).length).toBeGreaterThan(80);
});

it('every block of a shell is run here, or by the test of its document', () => {
  const others = DOCUMENTS.map(({ name, blocks }) => {
    const infos = blocks.map(({ info }) => info);
    expect(infos.filter((info) => /^(bash|shell|console|zsh)\b/.test(info))).toEqual([]);
    return [name, infos.filter((info) => info.startsWith('sh ')).length] as const;
  });
  expect(Object.fromEntries(others.filter(([, count]) => count > 0))).toEqual(
    Object.fromEntries(Object.entries(OWN_TESTS).map(([name, [, count]]) => [name, count])),
  );
  for (const [name, [test]] of Object.entries(OWN_TESTS)) {
    expect(readFileSync(path.join('test/docs', test), 'utf8')).toContain(`'${name}'`);
  }
});

it('files of the clone that lines name are there', () => {
  const named = groups.flatMap(({ lines }) => lines.join(' ').match(/\bdocs\/[\w/.-]+/g) ?? []);
  expect(named.length).toBeGreaterThan(4);
  expect(named.filter((name) => !existsSync(name))).toEqual([]);
});

describe.runIf(hasProgram('bash') && hasProgram('curl'))('the commands of', () => {
  const runnable = groups.filter(({ lines }) => !lines.every(isLeftOut));
  it.for(runnable)('$title run as written', async ({ document, lines }, { skip }) => {
    const cwd = path.join(temporaryDirectory(), 'here');
    // A backup is there where the commands read one.
    const writesBackup = lines.some((line) => line.includes('--out backups/monday'));
    const filter = (name: string) => !writesBackup || path.basename(name) !== 'monday';
    cpSync(base, cwd, { recursive: true, filter });
    // Beside an example's document are its files.
    if (document.name.startsWith('examples/')) {
      cpSync(path.dirname(document.name), cwd, { recursive: true });
    }
    writeShown(document, cwd);
    const isOfCluster = lines.some((line) => line.startsWith('fathom cluster '));
    skip(isOfCluster && nats === '', 'nats-server is missing');
    const node = ['--port', '0', '--cluster', nats, '--node', 'a'];
    const server = isOfCluster ? await serve(path.join(cwd, 'data'), node) : null;
    const shell: string[] = [];
    for (const line of lines.filter((one) => !isLeftOut(one))) {
      const lacksProgram = NEEDS.some(([of, program]) => of.test(line) && !hasProgram(program));
      if (lacksProgram) continue;
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
    await server?.stop();
    expect(status, stderr).toBe(0);
  });
});

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
