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

/** A text that a store, its backups and all nodes of its cluster have in common, and that is no secret. */
export function identityOf(meta: Meta): string {
  const digest = meta.get(META_KEY) ?? '';
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
  if (found?.length !== PEPPER_BYTES)
    return replacePepper(database, directory, randomBytes(PEPPER_BYTES));
  if (meta.get(META_KEY) !== digestOf(found)) await writeMeta(database, META_KEY, digestOf(found));
  return found;
}

/** Gives a store without keys another pepper. */
export async function replacePepper(
  database: Database,
  directory: string,
  pepper: Uint8Array,
): Promise<Uint8Array> {
  await writeWhole(path.join(directory, PEPPER_FILE), pepper);
  await writeMeta(database, META_KEY, digestOf(pepper));
  return pepper;
}
