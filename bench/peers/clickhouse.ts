/** Starts a ClickHouse if it is installed; its HTTP server is the peer, and writes and compresses the JSON. */
import { mkdir, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { Readable } from 'node:stream';
import { treeCpuMs } from '../processes.js';
import { findProgram, freePorts, type RunningProgram, startProgram } from '../programs.js';
import { cellRows, snapshotRows } from './clickhouse-rows.js';
import { parsedJson } from './content.js';
import type { PageSet, PageWindow } from './page-set.js';
import { NotRunError, type Peer, type PeerPlace, type PeerWay } from './peer.js';

const STATEMENT_DEADLINE_MS = 120_000;
/** Of its HTTP compression. */
const ZLIB_LEVEL = 1;
/** One thread per query keeps the rows of a sorted subquery in order; clients keep both cores busy. */
const SETTINGS = `&max_threads=1&use_uncompressed_cache=1&enable_http_compression=1&http_zlib_compression_level=${ZLIB_LEVEL}`;

/** @throws NotRunError if it is not installed */
export async function startClickhouse({ folder, set }: PeerPlace): Promise<Peer> {
  const { url, ...program } = await runClickhouse(path.join(folder, 'clickhouse'));
  try {
    await loadTables(url, set);
    const version = (await ask(url, 'SELECT version()')).trim();
    return {
      name: 'ClickHouse',
      version,
      url,
      headers: {},
      ways: [WAY],
      cpuMs: () => treeCpuMs(program.pid),
      stop: () => program.stop(),
    };
  } catch (error) {
    await program.stop();
    throw error;
  }
}

type Row = [number, number, number[], number[], number[], number[]];

/** One array per snapshot, the cheapest of its ways. */
export const WAY: PeerWay = {
  name: 'groupArray, JSONCompact',
  state: 'cold',
  coding: `JSON, gzip ${ZLIB_LEVEL}`,
  contentCoding: 'gzip',
  pathOf: (window) =>
    `/?query=${encodeURIComponent(`${pageSql(window)} FORMAT JSONCompact`)}${SETTINGS}`,
  snapshotsOf: (body) =>
    (parsedJson(body) as { data: Row[] }).data.map(
      ([t, price_usd, market_idx, bin, support_usd, resistance_usd]) => {
        return { t, price_usd, market_idx, bin, support_usd, resistance_usd };
      },
    ),
};

function pageSql({ token, from, to }: PageWindow): string {
  const where = `WHERE token = ${token} AND t >= ${from} AND t < ${to}`;
  const ordered = `SELECT t, market, bin, support_usd, resistance_usd FROM cells ${where} ORDER BY t, market, bin`;
  const arrays =
    'groupArray(market) AS m, groupArray(bin) AS b, groupArray(support_usd) AS s, groupArray(resistance_usd) AS r';
  const prices = `ANY INNER JOIN (SELECT t, price_usd FROM snapshots ${where}) AS p USING (t)`;
  return `SELECT t, price_usd, m, b, s, r FROM (SELECT t, ${arrays} FROM (${ordered}) AS o GROUP BY t) AS c ${prices} ORDER BY t`;
}

async function loadTables(url: string, set: PageSet): Promise<void> {
  await ask(
    url,
    `CREATE TABLE cells (token UInt16, t UInt32, market UInt16, bin Int16, support_usd Float64, resistance_usd Float64) ENGINE = MergeTree() ORDER BY (token, t, market, bin)`,
  );
  await ask(
    url,
    `CREATE TABLE snapshots (token UInt16, t UInt32, price_usd Float64) ENGINE = MergeTree() ORDER BY (token, t)`,
  );
  await ask(url, `INSERT INTO cells FORMAT RowBinary`, cellRows(set));
  await ask(url, `INSERT INTO snapshots FORMAT RowBinary`, snapshotRows(set));
  await ask(url, `OPTIMIZE TABLE cells FINAL`);
}

/** Runs one statement on `data`. @throws Error with the server's message */
function ask(url: string, sql: string, data?: Iterable<Buffer>): Promise<string> {
  return new Promise((resolve, reject) => {
    // A separate connection: ClickHouse ends connections that were idle for some seconds.
    const options = { agent: false, method: 'POST', timeout: STATEMENT_DEADLINE_MS };
    const request = http.request(`${url}/?query=${encodeURIComponent(sql)}`, options, (reply) => {
      const chunks: Buffer[] = [];
      reply.on('error', reject).on('data', (chunk: Buffer) => chunks.push(chunk));
      reply.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (reply.statusCode === 200) resolve(text);
        else reject(new Error(`ClickHouse: ${text.slice(0, 500)}`));
      });
    });
    request.on('error', reject);
    request.on('timeout', () => request.destroy(new Error('ClickHouse did not answer in time')));
    if (data === undefined) request.end();
    else Readable.from(data).on('error', reject).pipe(request);
  });
}

/**
 * Runs a ClickHouse with a single user without a password.
 * @param home a folder for its files, which must not exist
 * @throws NotRunError if it is not installed
 */
async function runClickhouse(home: string): Promise<RunningProgram & { url: string }> {
  const file = findProgram('clickhouse') ?? findProgram('clickhouse-server');
  if (file === null) throw new NotRunError('not installed: no clickhouse on PATH');
  await mkdir(home);
  const [port] = await freePorts(1);
  const config = path.join(home, 'config.xml');
  await writeFile(config, configOf(home, port));
  const words = [...(path.basename(file) === 'clickhouse' ? ['server'] : [])];
  const url = `http://127.0.0.1:${port}`;
  const isReady = () =>
    ask(url, 'SELECT 1').then(
      () => true,
      () => false,
    );
  const program = await startProgram(
    file,
    [...words, `--config-file=${config}`],
    { cwd: home },
    'SIGTERM',
    isReady,
  );
  return { ...program, url };
}

/** One file, including the users; it listens only on this machine. */
function configOf(home: string, port: number): string {
  return `<?xml version="1.0"?>
<yandex>
  <logger><level>warning</level><console>1</console></logger>
  <listen_host>127.0.0.1</listen_host>
  <http_port>${port}</http_port>
  <path>${home}/data/</path>
  <tmp_path>${home}/tmp/</tmp_path>
  <users_config>config.xml</users_config>
  <mark_cache_size>1073741824</mark_cache_size>
  <uncompressed_cache_size>1073741824</uncompressed_cache_size>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
  <profiles><default></default></profiles>
  <quotas><default></default></quotas>
  <users>
    <default>
      <password></password>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
    </default>
  </users>
</yandex>
`;
}
