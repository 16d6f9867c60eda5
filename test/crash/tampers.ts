/** Tampers with DuckDB's WAL of a store whose processes are dead. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { WAL_FILE } from '../../storage/data-directory.js';
import { WAL_TAMPERS } from '../support/wal-tampers.js';

const NAMES = Object.keys(WAL_TAMPERS);

/** The WAL of a directory; empty if there is none. */
export function walIn(directory: string): Buffer {
  const wal = path.join(directory, WAL_FILE);
  return existsSync(wal) ? readFileSync(wal) : Buffer.alloc(0);
}

/** @param older an earlier WAL of the store @returns how it was tampered with; null if there is none */
export function tamperWithWal(
  directory: string,
  older: Uint8Array,
  random: () => number,
): string | null {
  const wal = path.join(directory, WAL_FILE);
  if (!existsSync(wal)) return null;
  const name = NAMES[Math.floor(random() * NAMES.length)];
  WAL_TAMPERS[name](wal, random, older);
  return name;
}
