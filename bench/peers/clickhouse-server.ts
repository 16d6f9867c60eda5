/** A running ClickHouse, whoever started it: its statements, its tables, its ways to make pages. */
import http from 'node:http';
import { Readable } from 'node:stream';
import { BenchFailure, messageOf } from '../errors.js';
import { CLICKHOUSE_DATABASE, CLICKHOUSE_WAYS } from './clickhouse-ways.js';
import { cellRows, snapshotRows } from './clickhouse-rows.js';
import type { PageSet } from './page-set.js';
import type { Peer } from './peer.js';

const STATEMENT_DEADLINE_MS = 120_000;

/** Its HTTP interface, without a user's name in the address. */
export interface ClickhouseServer {
  url: string;
  headers: Record<string, string>;
}

/** @param address with user and password if needed: `http://user:password@host:8123` */
export function clickhouseAt(address: URL): ClickhouseServer {
  const { origin, username, password } = address;
  const login = [username, password].map(decodeURIComponent).join(':');
  const authorization = `Basic ${Buffer.from(login).toString('base64')}`;
  return { url: origin, headers: username === '' ? {} : { authorization } };
}

/** @throws BenchFailure if no ClickHouse answers */
export async function versionOf(server: ClickhouseServer): Promise<string> {
  try {
    return (await ask(server, 'SELECT version()')).trim();
  } catch (error) {
    throw new BenchFailure(`no use of a ClickHouse at ${server.url}: ${messageOf(error).trim()}`);
  }
}

/** Loads the set into a new database, and measures the server by its own counters. */
export async function clickhousePeer(
  server: ClickhouseServer,
  name: string,
  set: PageSet,
): Promise<Peer> {
  const version = await versionOf(server);
  // An interrupted run may have left it.
  await dropDatabase(server);
  await ask(server, `CREATE DATABASE ${CLICKHOUSE_DATABASE}`);
  try {
    await loadTables(server, set);
  } catch (error) {
    await dropDatabase(server);
    throw error;
  }
  const { url, headers } = server;
  const ways = CLICKHOUSE_WAYS;
  const stop = () => dropDatabase(server);
  return { name, version, url, headers, ways, cpuMs: () => ownCpuMs(server), stop };
}

async function loadTables(server: ClickhouseServer, set: PageSet): Promise<void> {
  const [cells, snapshots] = ['cells', 'snapshots'].map((name) => `${CLICKHOUSE_DATABASE}.${name}`);
  await ask(
    server,
    `CREATE TABLE ${cells} (token UInt16, t UInt32, market UInt16, bin Int16, support_usd Float64, resistance_usd Float64) ENGINE = MergeTree() ORDER BY (token, t, market, bin)`,
  );
  await ask(
    server,
    `CREATE TABLE ${snapshots} (token UInt16, t UInt32, price_usd Float64) ENGINE = MergeTree() ORDER BY (token, t)`,
  );
  await ask(server, `INSERT INTO ${cells} FORMAT RowBinary`, cellRows(set));
  await ask(server, `INSERT INTO ${snapshots} FORMAT RowBinary`, snapshotRows(set));
  await ask(server, `OPTIMIZE TABLE ${cells} FINAL`);
}

async function dropDatabase(server: ClickhouseServer): Promise<void> {
  await ask(server, `DROP DATABASE IF EXISTS ${CLICKHOUSE_DATABASE}`);
}

/** CPU time of all queries since the server's start; null if the server does not report it. */
async function ownCpuMs(server: ClickhouseServer): Promise<number | null> {
  const sql = "SELECT value FROM system.events WHERE event = 'OSCPUVirtualTimeMicroseconds'";
  const answer = await ask(server, sql).catch(() => '');
  return answer === '' ? null : Number(answer) / 1000;
}

/** Runs one statement on `data`. @throws Error with the server's message */
export function ask(
  { url, headers }: ClickhouseServer,
  sql: string,
  data?: Iterable<Buffer>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    // A separate connection: ClickHouse ends connections that were idle for some seconds.
    const options = { agent: false, method: 'POST', headers, timeout: STATEMENT_DEADLINE_MS };
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
