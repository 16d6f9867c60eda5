/** Fastify with DuckDB and with PostgreSQL, each as one server whose ways are measured. */
import { readFileSync } from 'node:fs';
import { benchAddress } from '../data/pages.js';
import { treeCpuMs } from '../processes.js';
import type { PlainSnapshot } from './content.js';
import { DUCKDB_WAYS } from './duckdb-pages.js';
import { startFastify, type FastifyProcess } from './fastify-process.js';
import type { Peer, PeerPlace, PeerWay } from './peer.js';
import { POSTGRES_WAYS } from './postgres-pages.js';
import { startPostgres } from './postgres-server.js';

/** Every way at zlib's fastest level; the one with the least work in JavaScript also at its default. */
const FAST = 1;
const DEFAULT = 6;

function waysOf(names: readonly string[]): PeerWay[] {
  const last = names[names.length - 1];
  return [...names.map((name) => wayOf(name, FAST)), wayOf(last, DEFAULT)];
}

function wayOf(name: string, level: number): PeerWay {
  return {
    name,
    state: 'cold',
    coding: `gzip ${level}`,
    acceptEncoding: 'gzip',
    pathOf: ({ token, from, to }) =>
      `/${encodeURIComponent(name)}/${level}/${benchAddress(token)}?from=${from}&to=${to}`,
    snapshotsOf: (document) => (document as { snapshots: PlainSnapshot[] }).snapshots,
  };
}

export async function startFastifyDuckdb({ folder, files, tokens }: PeerPlace): Promise<Peer> {
  const fastify = await startFastify({ database: 'duckdb', tokens, folder, files });
  return {
    name: 'Fastify + DuckDB',
    version: `${fastifyVersion()}, DuckDB ${fastify.version}`,
    url: fastify.url,
    headers: {},
    ways: waysOf(DUCKDB_WAYS),
    cpuMs: () => treeCpuMs(fastify.pid),
    stop: () => fastify.stop(),
  };
}

/** @throws NotRunError where PostgreSQL is not installed or can't run here */
export async function startFastifyPostgres({ folder, files, tokens }: PeerPlace): Promise<Peer> {
  const postgres = await startPostgres(folder, files);
  let fastify: FastifyProcess;
  try {
    fastify = await startFastify({ database: 'postgres', tokens, place: postgres.place });
  } catch (error) {
    await postgres.stop();
    throw error;
  }
  return {
    name: 'Fastify + PostgreSQL',
    version: `${fastifyVersion()}, PostgreSQL ${fastify.version}`,
    url: fastify.url,
    headers: {},
    ways: waysOf(POSTGRES_WAYS),
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
