/** Starts a PostgreSQL: a new cluster in a folder, a socket beside it, and loaded tables. */
import { chmod, chown, mkdir } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { NotRunError } from './peer.js';
import type { PostgresPlace } from './postgres-pages.js';
import { findProgram, outputOf, startProgram, type RunningProgram } from '../programs.js';
import type { TableFiles } from './tables.js';

const run = promisify(execFile);

const USER = 'bench';
/** Time to make a new cluster. */
const INITDB_DEADLINE_MS = 60_000;
/** Users with which a root process runs PostgreSQL, because PostgreSQL refuses to run as root. */
const LESSER_USERS = ['postgres', 'nobody'];

/**
 * For a store that is only read and fits into memory: everything in shared memory, no just-in-time compilation and no
 * parallel workers for queries of some 20 ms, and no syncing while loading.
 */
const SETTINGS = {
  listen_addresses: '',
  shared_buffers: '1GB',
  work_mem: '64MB',
  maintenance_work_mem: '256MB',
  effective_cache_size: '4GB',
  random_page_cost: '1.1',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_wal_size: '4GB',
  autovacuum: 'off',
};

interface RunningPostgres extends RunningProgram {
  place: PostgresPlace;
}

/** @throws NotRunError if it is not installed, or this process may not run it */
export async function startPostgres(folder: string, files: TableFiles): Promise<RunningPostgres> {
  const folders = outputOf('pg_config', ['--bindir']) ?? '';
  const initdb = findProgram('initdb', [folders]);
  const postgres = findProgram('postgres', [folders]);
  if (initdb === null || postgres === null) {
    throw new NotRunError('not installed: neither on PATH nor where pg_config says');
  }
  const identity = allowedIdentity();
  const home = await homeOf(folder, identity, files);
  const data = path.join(home, 'data');
  const words = ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  forgetOtherClusters();
  const options = { ...identity, cwd: home };
  await run(initdb, words, { ...options, timeout: INITDB_DEADLINE_MS });
  const settings = Object.entries({ ...SETTINGS, unix_socket_directories: home });
  const flags = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const place = { host: home, user: USER };
  // SIGQUIT ends it and its children at once; nothing of the cluster is kept.
  const program = await startProgram(postgres, ['-D', data, ...flags], options, 'SIGQUIT', () =>
    answers(place),
  );
  try {
    await loadTables(place, files);
    return { ...program, place };
  } catch (error) {
    await program.stop();
    throw error;
  }
}

/** Removes variables about other clusters from the environment: programs and clients would use them. */
function forgetOtherClusters(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('PG')) delete process.env[name];
}

/** The user with which a program runs; empty: the user of this process. */
interface Identity {
  uid?: number;
  gid?: number;
}

/** The identity of this process, or of a user with which PostgreSQL runs. */
function allowedIdentity(): Identity {
  if (process.getuid?.() !== 0) return {};
  for (const name of LESSER_USERS) {
    const uid = outputOf('id', ['-u', name]);
    const gid = outputOf('id', ['-g', name]);
    if (uid !== null && gid !== null) return { uid: Number(uid), gid: Number(gid) };
  }
  const users = LESSER_USERS.join(' nor ');
  throw new NotRunError(`it does not run as root, and there is neither user ${users}`);
}

/** Makes a folder owned by the identity, and gives it access to this folder and to the tables' files. */
async function homeOf(folder: string, { uid, gid }: Identity, files: TableFiles): Promise<string> {
  const home = path.join(folder, 'postgres');
  await mkdir(home, { mode: 0o700 });
  if (uid === undefined || gid === undefined) return home;
  await chown(home, uid, gid);
  await chmod(folder, 0o711);
  // A process that has opened a store creates files that only its own user can read.
  for (const file of [files.cells, files.snapshots]) await chmod(file, 0o644);
  if (outputOf('ls', [home], { uid, gid }) === null) {
    throw new NotRunError(
      'it does not run as root, and no other user can reach the folder of temporary files',
    );
  }
  return home;
}

async function answers(place: PostgresPlace): Promise<boolean> {
  const client = clientOf(place);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end();
  }
}

function clientOf({ host, user }: PostgresPlace): pg.Client {
  const client = new pg.Client({ host, user, database: 'postgres' });
  client.on('error', () => undefined);
  return client;
}

/** The files already have the order of the index, as after CLUSTER. */
async function loadTables(place: PostgresPlace, { cells, snapshots }: TableFiles): Promise<void> {
  const client = clientOf(place);
  await client.connect();
  try {
    await client.query(
      `CREATE UNLOGGED TABLE cells (token smallint, t integer, market smallint, bin smallint,
        support_usd double precision, resistance_usd double precision)`,
    );
    await client.query(
      'CREATE UNLOGGED TABLE snapshots (token smallint, t integer, price_usd double precision)',
    );
    await client.query(`COPY cells FROM '${cells}' (FORMAT csv)`);
    await client.query(`COPY snapshots FROM '${snapshots}' (FORMAT csv)`);
    await client.query('CREATE UNIQUE INDEX ON cells (token, t, market, bin)');
    await client.query('CREATE UNIQUE INDEX ON snapshots (token, t)');
    await client.query('VACUUM ANALYZE');
  } finally {
    await client.end();
  }
}
