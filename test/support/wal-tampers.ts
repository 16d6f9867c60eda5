/** What may happen to DuckDB's WAL of a store: the log makes up for all of it. */
import { readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';

/** Bytes added to a WAL at most. */
const MOST_APPENDED_BYTES = 64 * 1024;

/** @param random 0 to 1 */
type Tamper = (wal: string, random: () => number, older: Uint8Array) => void;

const below = (random: () => number, end: number): number => Math.floor(random() * end);

/** Changes the bytes in place: a process that has the file open sees it. */
const changed =
  (change: (bytes: Buffer, random: () => number) => Buffer): Tamper =>
  (wal, random) =>
    writeFileSync(wal, change(readFileSync(wal), random));

const noise = (bytes: number, random: () => number): Buffer =>
  Buffer.from(Array.from({ length: bytes }, () => below(random, 256)));

export const WAL_TAMPERS: Readonly<Record<string, Tamper>> = {
  removed: (wal) => rmSync(wal),
  emptied: (wal) => truncateSync(wal),
  'cut short': (wal, random) => truncateSync(wal, below(random, readFileSync(wal).length)),
  'with a flipped bit': changed((bytes, random) => {
    if (bytes.length > 0) bytes[below(random, bytes.length)] ^= 1 << below(random, 8);
    return bytes;
  }),
  'with noise inside': changed((bytes, random) => {
    const from = below(random, bytes.length);
    noise(Math.min(bytes.length - from, 4096), random).copy(bytes, from);
    return bytes;
  }),
  zeroed: changed((bytes) => bytes.fill(0)),
  'zeroed from some byte on': changed((bytes, random) =>
    bytes.fill(0, below(random, bytes.length)),
  ),
  'padded with zeros': changed((bytes, random) =>
    Buffer.concat([bytes, Buffer.alloc(1 + below(random, MOST_APPENDED_BYTES))]),
  ),
  'padded with noise': changed((bytes, random) =>
    Buffer.concat([bytes, noise(1 + below(random, MOST_APPENDED_BYTES), random)]),
  ),
  'replaced by an older one': (wal, _, older) => {
    writeFileSync(`${wal}.older`, older);
    renameSync(`${wal}.older`, wal);
  },
  'replaced by another file': (wal) => {
    writeFileSync(`${wal}.other`, 'no log '.repeat(10_000));
    renameSync(`${wal}.other`, wal);
  },
};
