/** The running server's end of the control socket. */
import { rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { FrameReader, packFrame, unpackBody } from '../bundle/codec.js';
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
/** A command that has its answer may take this long to hang up once the server ends. */
const HANG_UP_MS = 1000;

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
  const conversations = new Set<Conversation>();
  const server = createServer((socket) => {
    const conversation = new Conversation(socket, (request) => answer(store, request, onError));
    conversations.add(conversation);
    socket.on('close', () => conversations.delete(conversation));
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, bound.path);
  server.on('error', onError);
  return {
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.all(Array.from(conversations, (conversation) => conversation.end()));
      await closed;
      await bound.handle?.close();
      await rm(file, { force: true });
    },
  };
}

/** Listens with mode 0600 from the first moment on. */
function listen(server: Server, file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const before = process.umask(0o177);
    try {
      server.listen(file, () => {
        server.off('error', reject);
        resolve();
      });
    } finally {
      process.umask(before);
    }
  });
}

/** One command's connection: its requests are served one after the other. */
class Conversation {
  private readonly frames = new FrameReader(MAX_REQUEST_BYTES);
  private working: Promise<void> | null = null;
  private ending = false;

  constructor(
    private readonly socket: Socket,
    private readonly serve: (request: Request) => Promise<Response>,
  ) {
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      this.frames.push(chunk);
      this.next();
    });
  }

  /** Lets a running request end, takes no more, and hangs up. */
  async end(): Promise<void> {
    this.ending = true;
    await this.working;
    this.socket.end();
    const timer = setTimeout(() => this.socket.destroy(), HANG_UP_MS);
    this.socket.once('close', () => clearTimeout(timer));
  }

  private next(): void {
    if (this.working !== null || this.ending) return;
    try {
      const body = this.frames.take();
      if (body === null) return;
      const request = unpackBody(body) as Request;
      this.socket.pause();
      this.working = this.reply(request).then(() => {
        this.working = null;
        this.socket.resume();
        this.next();
      });
    } catch {
      // Not one of our commands: there is nothing to be said to it.
      this.socket.destroy();
    }
  }

  private async reply(request: Request): Promise<void> {
    try {
      const response = packFrame(await this.serve(request));
      if (!this.socket.destroyed) this.socket.write(response);
    } catch {
      this.socket.destroy();
    }
  }
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
