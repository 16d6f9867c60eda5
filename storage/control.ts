/** The data directory's socket, over which a running server gives commands access to its store. */
import { type FileHandle, open, rm } from 'node:fs/promises';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { FrameReader, MAX_FRAME_BYTES, packFrame, unpackBody } from './bundle.js';
import type { StoreOperations } from './contract.js';
import {
  InputError,
  LossError,
  PendingError,
  StoreChangedError,
  StoreUnavailableError,
} from './errors.js';

/** The socket's name within a data directory. */
export const SOCKET_FILE = 'fathom.sock';
/** Longest socket path that every system accepts, in bytes. */
const MAX_SOCKET_PATH_BYTES = 100;
/** Commands connected at once. */
const MAX_CONNECTIONS = 64;
/** Longest request: keys of snapshots to look up, never data. */
const MAX_REQUEST_BYTES = 64 * 1024 * 1024;
/** When the server ends, a command that has its reply gets this long to hang up. */
const HANG_UP_MS = 1000;

/** The operations of a store that commands may call over the socket. */
const OPERATIONS = [
  'commit',
  'rehearse',
  'snapshotPrices',
  'snapshotTimes',
  'tokensBefore',
  'bytes',
  'holdFile',
  'checkStep',
  'shrink',
  'summary',
  'createKey',
  'listKeys',
  'rotateKey',
  'revokeKey',
  'leaveLog',
  'allowRetention',
  'listQueue',
] as const satisfies readonly (keyof StoreOperations)[];
type Operation = (typeof OPERATIONS)[number];

interface Request {
  operation: Operation;
  args: unknown[];
}

type Response =
  | { ok: true; result: unknown }
  | {
      ok: false;
      kind: 'input' | 'loss' | 'changed' | 'unavailable' | 'pending' | 'internal';
      message: string;
      t: number;
    };

/** An error as the command gets it; the text of an internal one stays in the server's log. */
function failure(error: unknown): Response {
  if (error instanceof LossError) {
    return { ok: false, kind: 'loss', message: error.message, t: 0 };
  }
  if (error instanceof InputError)
    return { ok: false, kind: 'input', message: error.message, t: 0 };
  if (error instanceof StoreChangedError) {
    return { ok: false, kind: 'changed', message: error.message, t: error.t };
  }
  if (error instanceof PendingError) {
    return { ok: false, kind: 'pending', message: error.message, t: 0 };
  }
  if (error instanceof StoreUnavailableError) {
    return { ok: false, kind: 'unavailable', message: error.message, t: 0 };
  }
  return {
    ok: false,
    kind: 'internal',
    message: 'the server could not do it; its log says why',
    t: 0,
  };
}

/** The error of a failed response. */
function errorOf(response: Extract<Response, { ok: false }>): Error {
  switch (response.kind) {
    case 'input':
      return new InputError(response.message);
    case 'loss':
      return new LossError(response.message.split('\n'));
    case 'changed':
      return new StoreChangedError(response.t);
    case 'unavailable':
      return new StoreUnavailableError(response.message);
    case 'pending':
      return new PendingError(response.message);
    case 'internal':
      return new Error(response.message);
  }
}

/**
 * A path to the directory's socket that is short enough to bind. A long path goes through an open
 * handle of the directory, which must stay open while the path is used.
 */
async function socketPath(directory: string): Promise<{ path: string; handle: FileHandle | null }> {
  const plain = path.join(directory, SOCKET_FILE);
  if (Buffer.byteLength(plain) <= MAX_SOCKET_PATH_BYTES) return { path: plain, handle: null };
  const handle = await open(directory, 'r');
  return { path: `/proc/self/fd/${handle.fd}/${SOCKET_FILE}`, handle };
}

/** The store of a running server, over a connection to it. */
interface RemoteStore extends StoreOperations {
  close(): void;
}

/** Connects to the server that has the directory's store open; null if there is none. */
export async function connectToServer(directory: string): Promise<RemoteStore | null> {
  const bound = await socketPath(directory).catch(() => null);
  if (bound === null) return null;
  try {
    const socket = await connect(bound.path);
    return socket === null ? null : remoteStore(new Caller(socket));
  } finally {
    await bound.handle?.close();
  }
}

function connect(file: string): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(file);
    socket.once('connect', () => resolve(socket));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      // No socket, or that of a server that was killed, maybe just now.
      const { code = '' } = error;
      if (['ENOENT', 'ECONNREFUSED', 'ECONNRESET'].includes(code)) resolve(null);
      else reject(error);
    });
  });
}

function remoteStore(caller: Caller): RemoteStore {
  const operations = OPERATIONS.map((operation) => [
    operation,
    (...args: unknown[]) => caller.call(operation, args),
  ]);
  return {
    ...(Object.fromEntries(operations) as StoreOperations),
    close: () => caller.close(),
  };
}

/** Sends one request at a time and waits for its response. */
class Caller {
  private readonly frames = new FrameReader(MAX_FRAME_BYTES);
  private waiting: { resolve: (value: unknown) => void; reject: (error: Error) => void } | null =
    null;

  constructor(private readonly socket: Socket) {
    socket.on('data', (chunk) => this.receive(chunk));
    socket.on('error', () => this.fail());
    socket.on('close', () => this.fail());
  }

  call(operation: Operation, args: unknown[]): Promise<unknown> {
    if (this.waiting !== null) throw new Error('one request at a time');
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      if (this.socket.destroyed || this.socket.readableEnded) this.fail();
      else this.socket.write(packFrame({ operation, args }));
    });
  }

  close(): void {
    this.socket.end();
    this.socket.unref();
  }

  private receive(chunk: Buffer): void {
    try {
      this.frames.push(chunk);
      const body = this.frames.take();
      if (body === null) return;
      const response = unpackBody(body) as Response;
      const waiting = this.waiting;
      this.waiting = null;
      if (response.ok) waiting?.resolve(response.result);
      else waiting?.reject(errorOf(response));
    } catch {
      this.socket.destroy();
      this.fail();
    }
  }

  private fail(): void {
    this.waiting?.reject(new Error('the server went away before it answered'));
    this.waiting = null;
  }
}

/** The store of this process; it holds its file until the caller has gone. */
type ServedStore = Omit<StoreOperations, 'holdFile'> & {
  holdFile(released: AbortSignal): Promise<number | null>;
};

interface ControlServer {
  /** Stops accepting connections, waits for running requests, removes the socket. */
  close(): Promise<void>;
}

/**
 * Listens on the data directory's socket (mode 0600). The caller has the store open, so a socket
 * found there is stale and is removed.
 */
export async function listenForCommands(
  directory: string,
  store: ServedStore,
  onError: (error: unknown) => void,
): Promise<ControlServer> {
  const file = path.join(directory, SOCKET_FILE);
  await rm(file, { force: true });
  const bound = await socketPath(directory);
  const conversations = new Set<Conversation>();
  const server = createServer((socket) => {
    const gone = new AbortController();
    const conversation = new Conversation(socket, (request) =>
      answer(store, request, onError, gone.signal),
    );
    conversations.add(conversation);
    socket.on('close', () => {
      conversations.delete(conversation);
      gone.abort();
    });
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, bound.path).catch(async (error: unknown) => {
    await bound.handle?.close();
    throw error;
  });
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

/** One command's connection; serves its requests one after the other. */
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

  /** Waits for the running request, accepts no more, and hangs up. */
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
      // Not one of our commands.
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
  store: ServedStore,
  request: Request,
  onError: (error: unknown) => void,
  gone: AbortSignal,
): Promise<Response> {
  try {
    if (request.operation === 'holdFile') {
      return { ok: true, result: await store.holdFile(gone) };
    }
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
