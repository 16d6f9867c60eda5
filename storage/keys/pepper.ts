/**
 * The pepper: the secret with which a store makes the digests of its keys. The store keeps a digest of it, to recognize
 * the pepper of another store.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { PEPPER_FILE } from '../data-directory.js';
import { writeWhole } from '../disk.js';
import type { Database } from '../duckdb/database.js';
import { absent, InputError } from '../errors.js';
import { type Meta, readMeta, writeMeta } from '../meta.js';

const PEPPER_BYTES = 32;
/** The key of `meta` for the pepper's digest. */
const META_KEY = 'pepper_digest';

function digestOf(pepper: Uint8Array): string {
  return createHmac('sha256', pepper).update('the pepper of a store').digest('hex');
}

/** The key of `meta` for the digest of the first pepper, if that of a store without keys was lost. */
const FIRST_META_KEY = 'first_pepper_digest';

/** A text that a store, its backups and all nodes of its cluster have in common, and that is no secret. */
export function identityOf(meta: Meta): string {
  const digest = meta.get(FIRST_META_KEY) ?? meta.get(META_KEY) ?? '';
  return createHash('sha256').update(`the store of ${digest}`).digest('hex').slice(0, 32);
}

/**
 * What is wrong with a pepper, or null.
 * @param pepper the file's bytes; null if it is missing
 */
export function pepperFault(pepper: Uint8Array | null, meta: Meta): string | null {
  if (pepper === null) return 'missing';
  if (pepper.length !== PEPPER_BYTES) return 'damaged';
  const digest = meta.get(META_KEY);
  return digest === undefined || digest === digestOf(pepper) ? null : "another store's";
}

/**
 * Reads a directory's pepper. While no key depends on it (`required` is false), creates it if it is missing or damaged,
 * and accepts any other.
 * @throws InputError if it is required and cannot be read, or is not this store's
 */
export async function loadPepper(
  database: Database,
  directory: string,
  required: boolean,
): Promise<Uint8Array> {
  const file = path.join(directory, PEPPER_FILE);
  const found = await readFile(file)
    .catch(absent)
    .catch((error: NodeJS.ErrnoException) => {
      throw new InputError(`${file} cannot be read (${error.code ?? 'unknown'})`);
    });
  const meta = await readMeta(database);
  const fault = pepperFault(found, meta);
  if (fault !== null && required) {
    throw new InputError(
      `${file} is ${fault}: without this store's pepper none of its keys can be checked; restore it from a backup`,
    );
  }
  const isWhole = found?.length === PEPPER_BYTES;
  const pepper = isWhole ? found : randomBytes(PEPPER_BYTES);
  if (isWhole && meta.get(META_KEY) === digestOf(found)) return found;
  // It is still the same store.
  const first = meta.get(FIRST_META_KEY) ?? meta.get(META_KEY) ?? null;
  await writeMeta(database, FIRST_META_KEY, first);
  if (!isWhole) await writeWhole(path.join(directory, PEPPER_FILE), pepper);
  await writeMeta(database, META_KEY, digestOf(pepper));
  return pepper;
}

/** Gives a store without keys the pepper of its cluster, and so the cluster's identity. */
export async function replacePepper(
  database: Database,
  directory: string,
  pepper: Uint8Array,
): Promise<Uint8Array> {
  await writeWhole(path.join(directory, PEPPER_FILE), pepper);
  await writeMeta(database, META_KEY, digestOf(pepper));
  await writeMeta(database, FIRST_META_KEY, null);
  return pepper;
}
