/** What a command and a running server say to each other over the data directory's socket. */
import path from 'node:path';
import { open, type FileHandle } from 'node:fs/promises';
import { InputError, StoreBusyError, StoreChangedError } from '../errors.js';
import type { StoreOperations } from '../operations.js';

/** The socket's name within a data directory. */
export const SOCKET_FILE = 'fathom.sock';
/** Longest socket path that every system takes, in bytes. */
const MAX_SOCKET_PATH_BYTES = 100;

/** The operations of a store that may be asked for over the socket. */
export const OPERATIONS = [
  'commit',
  'snapshotPrices',
  'snapshotTimes',
  'summary',
  'createKey',
  'listKeys',
  'rotateKey',
  'revokeKey',
  'listQueue',
] as const satisfies readonly (keyof StoreOperations)[];
export type Operation = (typeof OPERATIONS)[number];

export interface Request {
  operation: Operation;
  args: unknown[];
}

export type ErrorKind = 'input' | 'changed' | 'busy' | 'internal';

export type Response =
  { ok: true; result: unknown } | { ok: false; kind: ErrorKind; message: string; t: number };

/** An error as the other side gets it. Internal ones keep their text to this side. */
export function failure(error: unknown): Response {
  if (error instanceof InputError)
    return { ok: false, kind: 'input', message: error.message, t: 0 };
  if (error instanceof StoreChangedError) {
    return { ok: false, kind: 'changed', message: error.message, t: error.t };
  }
  return {
    ok: false,
    kind: 'internal',
    message: 'the server could not do it; its log says why',
    t: 0,
  };
}

/** The error that a failed response stands for. */
export function errorOf(response: Extract<Response, { ok: false }>): Error {
  switch (response.kind) {
    case 'input':
      return new InputError(response.message);
    case 'changed':
      return new StoreChangedError(response.t);
    case 'busy':
      return new StoreBusyError(response.message);
    case 'internal':
      return new Error(response.message);
  }
}

/**
 * A path to the directory's socket that is short enough to bind. A long directory is named by an
 * open handle, which must stay open as long as the path is used.
 */
export async function socketPath(
  directory: string,
): Promise<{ path: string; handle: FileHandle | null }> {
  const plain = path.join(directory, SOCKET_FILE);
  if (Buffer.byteLength(plain) <= MAX_SOCKET_PATH_BYTES) return { path: plain, handle: null };
  const handle = await open(directory, 'r');
  return { path: `/proc/self/fd/${handle.fd}/${SOCKET_FILE}`, handle };
}
