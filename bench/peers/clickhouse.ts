/** Starts a ClickHouse if it is installed; its HTTP server is the peer. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { treeCpuMs } from '../processes.js';
import { findProgram, freePorts, type RunningProgram, startProgram } from '../programs.js';
import { ask, clickhouseAt, type ClickhouseServer, clickhousePeer } from './clickhouse-server.js';
import { NotRunError, type Peer, type PeerPlace } from './peer.js';

/** @throws NotRunError if it is not installed */
export async function startClickhouse({ folder, set }: PeerPlace): Promise<Peer> {
  const running = await runClickhouse(path.join(folder, 'clickhouse'));
  try {
    const peer = await clickhousePeer(running.server, 'ClickHouse', set);
    return { ...peer, cpuMs: () => treeCpuMs(running.pid), stop: () => running.stop() };
  } catch (error) {
    await running.stop();
    throw error;
  }
}

/**
 * Runs a ClickHouse with a single user without a password.
 * @param home a folder for its files, which must not exist
 * @throws NotRunError if it is not installed
 */
export async function runClickhouse(
  home: string,
): Promise<RunningProgram & { server: ClickhouseServer }> {
  const file = findProgram('clickhouse') ?? findProgram('clickhouse-server');
  if (file === null) throw new NotRunError('not installed: no clickhouse on PATH');
  await mkdir(home);
  const [port] = await freePorts(1);
  const config = path.join(home, 'config.xml');
  await writeFile(config, configOf(home, port));
  const words = [...(path.basename(file) === 'clickhouse' ? ['server'] : [])];
  const server = clickhouseAt(new URL(`http://127.0.0.1:${port}`));
  const isReady = () =>
    ask(server, 'SELECT 1').then(
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
  return { ...program, server };
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
