/** Starts a ClickHouse, where it is installed; its HTTP server is the peer. */
import { createReadStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { treeCpuMs } from '../processes.js';
import { CLICKHOUSE_WAYS } from './clickhouse-ways.js';
import { NotRunError, type Peer, type PeerPlace } from './peer.js';
import { findProgram, freePorts, startProgram } from '../programs.js';

const LOAD_DEADLINE_MS = 120_000;

/** @throws NotRunError where it is not installed */
export async function startClickhouse({ folder, files }: PeerPlace): Promise<Peer> {
  const file = findProgram('clickhouse') ?? findProgram('clickhouse-server');
  if (file === null) throw new NotRunError('not installed: no clickhouse on PATH');
  const home = path.join(folder, 'clickhouse');
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
  try {
    await ask(
      url,
      'CREATE TABLE cells (token UInt16, t UInt32, market UInt16, bin Int16, support_usd Float64, resistance_usd Float64) ENGINE = MergeTree() ORDER BY (token, t, market, bin)',
    );
    await ask(
      url,
      'CREATE TABLE snapshots (token UInt16, t UInt32, price_usd Float64) ENGINE = MergeTree() ORDER BY (token, t)',
    );
    await ask(url, 'INSERT INTO cells FORMAT CSV', files.cells);
    await ask(url, 'INSERT INTO snapshots FORMAT CSV', files.snapshots);
    await ask(url, 'OPTIMIZE TABLE cells FINAL');
    const version = (await ask(url, 'SELECT version()')).trim();
    return {
      name: 'ClickHouse',
      version,
      url,
      headers: {},
      ways: CLICKHOUSE_WAYS,
      cpuMs: () => treeCpuMs(program.pid),
      stop: () => program.stop(),
    };
  } catch (error) {
    await program.stop();
    throw error;
  }
}

/** One file, with the users; it listens only on this machine. */
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
  <profiles><default><use_uncompressed_cache>1</use_uncompressed_cache></default></profiles>
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

/** Runs one statement, a file's bytes as its data. @throws Error with the server's message */
function ask(url: string, sql: string, dataFile?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', timeout: LOAD_DEADLINE_MS };
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
    if (dataFile === undefined) request.end();
    else createReadStream(dataFile).on('error', reject).pipe(request);
  });
}
