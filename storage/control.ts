/** The data directory's socket, over which a running server gives commands access to its store. */
import { type FileHandle, open, rm } from 'node:fs/promises';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { FrameReader, MAX_FRAME_BYTES, packFrame } from './bundle.js';
import {
  isOperation,
  type OperationName,
  operationsBy,
  type StoreOperations,
} from './operations.js';
import {
  InputError,
  LossError,
  PendingError,
  StoreChangedError,
  StoreUnavailableError,
  UsageError,
} from './errors.js';
import { unpack } from './messagepack.js';

/** The socket's name within a data directory. */
export const SOCKET_FILE = 'fathom.sock';
/** Longest socket path that every system accepts, in bytes. */
const MAX_SOCKET_PATH_BYTES = 100;
/** Commands connected at once. */
const MAX_CONNECTIONS = 64;
/** Longest request: keys of snapshots to look up, never data. */
const MAX_REQUEST_BYTES = 64 * 1024 * 1024;
/** When the server ends, a command that has its reply gets this long to disconnect. */
const HANG_UP_MS = 1000;

interface Request {
  operation: OperationName;
  args: unknown[];
}

type Response =
  | { ok: true; result: unknown }
  | { ok: false; kind: FailureKind; message: string; t: number };
type Failure = Extract<Response, { ok: false }>;

/** Errors that a command receives unchanged; the first matching class counts. */
const FAILURES = {
  loss: { type: LossError, again: ({ message }: Failure) => new LossError(message.split('\n')) },
  usage: { type: UsageError, again: ({ message }: Failure) => new UsageError(message) },
  input: { type: InputError, again: ({ message }: Failure) => new InputError(message) },
  changed: { type: StoreChangedError, again: ({ t }: Failure) => new StoreChangedError(t) },
  pending: { type: PendingError, again: ({ message }: Failure) => new PendingError(message) },
  unavailable: {
    type: StoreUnavailableError,
    again: ({ message }: Failure) => new StoreUnavailableError(message),
  },
};
type FailureKind = keyof typeof FAILURES | 'internal';

/** An error as a command receives it; the text of an internal error stays in the server's log. */
function failure(error: unknown): Failure {
  for (const [kind, { type }] of Object.entries(FAILURES)) {
    if (!(error instanceof type)) continue;
    const t = error instanceof StoreChangedError ? error.t : 0;
    return { ok: false, kind: kind as FailureKind, message: error.message, t };
  }
  const message = 'the command failed in the server; its log says why';
  return { ok: false, kind: 'internal', message, t: 0 };
}

/** The error of a failed response. */
function errorOf(response: Failure): Error {
  const { kind, message } = response;
  return kind === 'internal' ? new Error(message) : FAILURES[kind].again(response);
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
      // There is no socket, or it is that of a killed server.
      const { code = '' } = error;
      if (['ENOENT', 'ECONNREFUSED', 'ECONNRESET'].includes(code)) resolve(null);
      else reject(error);
    });
  });
}

function remoteStore(caller: Caller): RemoteStore {
  return {
    ...operationsBy(
      (name) =>
        (...args: unknown[]) =>
          caller.call(name, args),
    ),
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

  call(operation: OperationName, args: unknown[]): Promise<unknown> {
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
      const response = unpack(body) as Response;
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
  store: StoreOperations,
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

  /** Waits for the running request, accepts no more, and disconnects. */
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
      const request = unpack(body) as Request;
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
  store: StoreOperations,
  request: Request,
  onError: (error: unknown) => void,
  gone: AbortSignal,
): Promise<Response> {
  try {
    const { operation, args } = request;
    if (!isOperation(operation)) throw new Error('an unknown operation');
    const run = store[operation].bind(store) as (...args: unknown[]) => Promise<unknown>;
    // The file is held until the caller has gone.
    return { ok: true, result: await run(...(operation === 'holdFile' ? [gone] : args)) };
  } catch (error) {
    const response = failure(error);
    if (response.kind === 'internal') onError(error);
    return response;
  }
}
