/** An archive whose objects fail as a test asks: in a bucket of S3Server, and in a folder. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { crc32 } from 'node:zlib';
import { temporaryDirectory } from '../support/folders.js';
import { S3_KEY, type S3Fault, S3Server } from '../support/s3-server.js';

/** How the objects of some days fail, or of all. */
export const FAULTS = ['missing', 'short', 'flip', 'cut', 'slow', 'busy', 'refused'] as const;
export type FaultKind = (typeof FAULTS)[number];
export interface Fault {
  kind: FaultKind;
  /** Of 4 parts of the objects, how many fail. */
  quarters: number;
}

export interface FaultyArchive {
  /** Flags of the server. */
  flags: readonly string[];
  environment: Record<string, string>;
  begin(fault: Fault): void;
  end(): void;
  /** Calls back once an object is asked for or written, after so many others. */
  after(requests: number, call: () => void): void;
  close(): Promise<void>;
}

const fails = (key: string, { quarters }: Fault): boolean => crc32(key) % 4 < quarters;

const OF_S3: Readonly<Record<FaultKind, S3Fault>> = {
  missing: { status: 404, code: 'NoSuchKey' },
  busy: { status: 503, code: 'SlowDown' },
  refused: { status: 403, code: 'AccessDenied' },
  short: 'short',
  flip: 'flip',
  cut: 'cut',
  slow: 'slow',
};

/** Objects in a bucket. */
export async function faultyBucket(): Promise<FaultyArchive> {
  const server = await S3Server.start();
  let left = Infinity;
  let called = (): void => undefined;
  let current: Fault | null = null;
  server.fault = (method, key) => {
    if (--left === 0) called();
    const isFailing = current !== null && fails(key, current);
    // Whoever writes an object that is missing makes it.
    const isWritten = method === 'PUT' && current?.kind === 'missing';
    return isFailing && !isWritten ? OF_S3[current!.kind] : null;
  };
  return {
    flags: ['--archive-url', server.url, '--archive-endpoint', server.endpoint],
    environment: {
      AWS_ACCESS_KEY_ID: S3_KEY.accessKeyId,
      AWS_SECRET_ACCESS_KEY: S3_KEY.secretAccessKey,
    },
    begin: (fault) => (current = fault),
    end: () => (current = null),
    after: (requests, call) => ([left, called] = [requests, call]),
    close: () => server.close(),
  };
}

/** Objects in a folder, whose files are really damaged. Of slowness and refusals it knows nothing: their objects are gone. */
export function faultyFolder(): FaultyArchive {
  const folder = temporaryDirectory();
  const kept = new Map<string, Buffer>();
  const damage = (file: string, bytes: Buffer, kind: FaultKind): void => {
    if (kind === 'short' || kind === 'cut') {
      writeFileSync(file, bytes.subarray(0, bytes.length >> 1));
    } else if (kind === 'flip') {
      const other = Buffer.from(bytes);
      other[other.length >> 1] ^= 1;
      writeFileSync(file, other);
    } else rmSync(file);
  };
  return {
    flags: ['--archive-url', pathToFileURL(folder).href],
    environment: {},
    begin(fault) {
      for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
        const file = path.join(entry.parentPath, entry.name);
        if (!entry.isFile() || !fails(path.relative(folder, file), fault)) continue;
        kept.set(file, readFileSync(file));
        damage(file, kept.get(file)!, fault.kind);
      }
    },
    end() {
      for (const [file, bytes] of kept) writeFileSync(file, bytes);
      kept.clear();
    },
    after: (_, call) => call(),
    close: () => Promise.resolve(),
  };
}
