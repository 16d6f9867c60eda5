/** Fastify with DuckDB and with PostgreSQL, each as one server whose ways are measured. */
import { readFileSync } from 'node:fs';
import { treeCpuMs } from '../processes.js';
import { arrowSnapshots, parsedJson, type PlainSnapshot } from './content.js';
import { DUCKDB_ARROW_WAY, DUCKDB_WAYS } from './duckdb-pages.js';
import { startFastify, type FastifyProcess } from './fastify-process.js';
import type { PageSet } from './page-set.js';
import type { Peer, PeerPlace, PeerWay } from './peer.js';
import { POSTGRES_WAYS } from './postgres-pages.js';
import { startPostgres } from './postgres-server.js';

/** Every way to JSON at zlib's fastest level; the way with the least work in JavaScript also at its default level. */
const FAST = 1;
const DEFAULT = 6;
/** Without a content coding. */
const PLAIN = 0;

function jsonWays(names: readonly string[]): PeerWay[] {
  const last = names[names.length - 1];
  return [...names.map((name) => jsonWay(name, FAST)), jsonWay(last, DEFAULT)];
}

function jsonWay(name: string, level: number): PeerWay {
  return {
    ...wayOf(name, level),
    format: 'JSON',
    snapshotsOf: (body) => (parsedJson(body) as { snapshots: PlainSnapshot[] }).snapshots,
  };
}

function arrowWay(name: string, level: number): PeerWay {
  return { ...wayOf(name, level), format: 'Arrow', snapshotsOf: arrowSnapshots };
}

function wayOf(name: string, level: number): Omit<PeerWay, 'format' | 'snapshotsOf'> {
  return {
    name,
    state: 'cold',
    coding: level === PLAIN ? 'identity' : `gzip ${level}`,
    contentCoding: level === PLAIN ? 'identity' : 'gzip',
    pathOf: ({ address, from, to }) =>
      `/${encodeURIComponent(name)}/${level}/${address}?from=${from}&to=${to}`,
  };
}

function addressesOf({ histories }: PageSet): string[] {
  return histories.map(({ run }) => run.address);
}

export async function startFastifyDuckdb({ folder, files, set }: PeerPlace): Promise<Peer> {
  const fastify = await startFastify({
    database: 'duckdb',
    addresses: addressesOf(set),
    folder,
    files,
  });
  return {
    name: 'Fastify + DuckDB',
    version: `${fastifyVersion()}, DuckDB ${fastify.version}`,
    url: fastify.url,
    headers: {},
    ways: [
      ...jsonWays(DUCKDB_WAYS),
      arrowWay(DUCKDB_ARROW_WAY, PLAIN),
      arrowWay(DUCKDB_ARROW_WAY, FAST),
    ],
    cpuMs: () => treeCpuMs(fastify.pid),
    stop: () => fastify.stop(),
  };
}

/** @throws NotRunError if PostgreSQL is not installed or can't run here */
export async function startFastifyPostgres({ folder, files, set }: PeerPlace): Promise<Peer> {
  const postgres = await startPostgres(folder, files);
  let fastify: FastifyProcess;
  try {
    const addresses = addressesOf(set);
    fastify = await startFastify({ database: 'postgres', addresses, place: postgres.place });
  } catch (error) {
    await postgres.stop();
    throw error;
  }
  return {
    name: 'Fastify + PostgreSQL',
    version: `${fastifyVersion()}, PostgreSQL ${fastify.version}`,
    url: fastify.url,
    headers: {},
    ways: jsonWays(POSTGRES_WAYS),
    cpuMs: () => sumOrNull(treeCpuMs(fastify.pid), treeCpuMs(postgres.pid)),
    async stop() {
      await fastify.stop();
      await postgres.stop();
    },
  };
}

function sumOrNull(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}

function fastifyVersion(): string {
  const file = new URL(import.meta.resolve('fastify/package.json'));
  return `Fastify ${(JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version}`;
}
