/**
 * S3 servers of others, for tests: the one that the variable FATHOM_TEST_S3 names, such as a MinIO, and moto in a Python
 * environment of its own. What is not there is null, with a message.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { AwsClient } from 'aws4fetch';
import { atEnd } from './folders.js';

export interface ForeignS3 {
  endpoint: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
}

const MOTO = 'moto[server]==5.2.5';
const environment = fileURLToPath(new URL('../archive/.venv', import.meta.url));
/** Holds what is installed. */
const stamp = path.join(environment, 'installed');
const INSTALL_LIMIT_MS = 10 * 60_000;
const BUCKET = 'fathom-test';

function missing(what: string): null {
  console.warn(`The archive is not tested with ${what}`);
  return null;
}

/** The server of FATHOM_TEST_S3: `http://KEY:SECRET@HOST:PORT/BUCKET`, whose bucket may be there already. */
export async function namedServer(): Promise<ForeignS3 | null> {
  const text = process.env.FATHOM_TEST_S3;
  if (text === undefined) return missing('a server of your own: FATHOM_TEST_S3 names none');
  const { protocol, host, pathname, username, password } = new URL(text);
  return withBucket({
    endpoint: `${protocol}//${host}`,
    bucket: pathname.slice(1) || BUCKET,
    accessKeyId: decodeURIComponent(username),
    secretAccessKey: decodeURIComponent(password),
  });
}

/** Installs moto if that is necessary, and starts it; it ends with the tests of the file. */
export async function motoServer(): Promise<ForeignS3 | null> {
  const why = install();
  if (why !== null) return missing(`moto, which needs ${why}`);
  const child = spawn(path.join(environment, 'bin/moto_server'), ['-H', '127.0.0.1', '-p', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  atEnd(async () => {
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  });
  const endpoint = await addressOf(child);
  const keys = { accessKeyId: 'moto', secretAccessKey: 'moto' };
  return withBucket({ endpoint, bucket: BUCKET, ...keys });
}

/** @returns what is missing; null: nothing */
function install(): string | null {
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === MOTO) return null;
  const system = process.env.PYTHON ?? 'python3';
  rmSync(environment, { recursive: true, force: true });
  if (spawnSync(system, ['-m', 'venv', environment]).status !== 0) {
    return `${system} with the modules venv and ensurepip (Debian: apt install python3-venv)`;
  }
  const words = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--retries=2'];
  const python = path.join(environment, 'bin/python');
  const { status } = spawnSync(python, [...words, MOTO], { timeout: INSTALL_LIMIT_MS });
  if (status !== 0) return 'a package index (PyPI), which does not answer';
  writeFileSync(stamp, MOTO);
  return null;
}

async function addressOf({ stderr }: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: stderr! })) {
    const found = /Running on (http:\S+)/.exec(line);
    if (found === null) continue;
    // What it writes about requests must not fill the pipe.
    stderr!.resume();
    return found[1];
  }
  throw new Error('moto has ended before it listened');
}

async function withBucket(server: ForeignS3): Promise<ForeignS3> {
  const { endpoint, bucket, accessKeyId, secretAccessKey } = server;
  const client = new AwsClient({
    accessKeyId,
    secretAccessKey,
    service: 's3',
    region: 'us-east-1',
  });
  const made = await client.fetch(`${endpoint}/${bucket}`, { method: 'PUT' });
  if (!made.ok && made.status !== 409)
    throw new Error(`${endpoint} makes no bucket ${bucket}: ${made.status} ${await made.text()}`);
  return server;
}
