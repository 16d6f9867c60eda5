/** The running server's end of the control socket. */
import { chmod, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { FRAME_HEAD_BYTES, frameLength, packFrame, unpackBody } from '../bundle/codec.js';
import type { StoreOperations } from '../operations.js';
import {
  OPERATIONS,
  SOCKET_FILE,
  failure,
  socketPath,
  type Request,
  type Response,
} from './protocol.js';

/** Commands connected at once. */
const MAX_CONNECTIONS = 64;
/** A request's greatest length: keys of snapshots to look up, never data. */
const MAX_REQUEST_BYTES = 64 * 1024 * 1024;

export interface ControlServer {
  /** Stops accepting, waits for running requests, removes the socket. */
  close(): Promise<void>;
}

/**
 * Listens on the data directory's socket (mode 0600). The caller holds the store, so a socket that
 * is found there belongs to nobody and is removed.
 */
export async function listenForCommands(
  directory: string,
  store: StoreOperations,
  onError: (error: unknown) => void,
): Promise<ControlServer> {
  const file = path.join(directory, SOCKET_FILE);
  await rm(file, { force: true });
  const bound = await socketPath(directory);
  const running = new Set<Promise<void>>();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    serveSocket(socket, (request) => {
      const work = answer(store, request, onError).then((response) => {
        if (!socket.destroyed) socket.write(packFrame(response));
      });
      running.add(work);
      return work.finally(() => running.delete(work));
    });
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, bound.path);
  await chmod(file, 0o600);
  return {
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.allSettled(running);
      for (const socket of sockets) socket.end();
      await closed;
      await bound.handle?.close();
      await rm(file, { force: true });
    },
  };
}

function listen(server: Server, file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(file, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Cuts what arrives into requests and serves them one after the other. */
function serveSocket(socket: Socket, serve: (request: Request) => Promise<void>): void {
  let buffered: Buffer = Buffer.alloc(0);
  let busy = false;
  const next = (): void => {
    if (busy || buffered.length < FRAME_HEAD_BYTES) return;
    const length = frameLength(buffered);
    if (length > MAX_REQUEST_BYTES) {
      socket.destroy();
      return;
    }
    if (buffered.length < FRAME_HEAD_BYTES + length) return;
    const body = buffered.subarray(FRAME_HEAD_BYTES, FRAME_HEAD_BYTES + length);
    buffered = buffered.subarray(FRAME_HEAD_BYTES + length);
    busy = true;
    socket.pause();
    void serve(unpackBody(body) as Request).finally(() => {
      busy = false;
      socket.resume();
      next();
    });
  };
  socket.on('data', (chunk) => {
    buffered = Buffer.concat([buffered, chunk]);
    try {
      next();
    } catch {
      socket.destroy();
    }
  });
}

async function answer(
  store: StoreOperations,
  request: Request,
  onError: (error: unknown) => void,
): Promise<Response> {
  try {
    if (!OPERATIONS.includes(request.operation)) throw new Error('an unknown operation');
    const operation = store[request.operation].bind(store) as (
      ...args: unknown[]
    ) => Promise<unknown>;
    return { ok: true, result: await operation(...request.args) };
  } catch (error) {
    const response = failure(error);
    if (!response.ok && response.kind === 'internal') onError(error);
    return response;
  }
}
