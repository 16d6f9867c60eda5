/**
 * The data directory's socket, over which a running server gives commands of its own version access to its store:
 * MessagePack over HTTP.
 */
import { once } from 'node:events';
import { type FileHandle, open, rm } from 'node:fs/promises';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request as post,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createConnection, type Socket } from 'node:net';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { DamageError, isDamage } from '../compute/damage.js';
import { pack, unpack } from '../compute/messagepack.js';
import { identityOf } from './disk.js';
import {
  isChange,
  isOperation,
  type OperationName,
  operationsBy,
  type StoreOperations,
} from './operations.js';
import {
  adviceInDoubt,
  InputError,
  RefusalError,
  LossError,
  PendingError,
  StoreChangedError,
  StoreUnavailableError,
  UsageError,
} from './errors.js';
import { VERSION } from './version.js';

/** The socket's name within a data directory. */
export const SOCKET_FILE = 'fathom.sock';
/** Requests and replies have a header with the version of the program that sends them. */
const VERSION_HEADER = 'fathom-version';
const VERSION_REMEDY = "use the server's version, and restart the server after an upgrade";
/** How often a server checks that its socket is still there. */
const SOCKET_CHECK_MS = 1000;
/** Longest socket path that every system accepts, in bytes. */
const MAX_SOCKET_PATH_BYTES = 100;
/** Commands connected at once. */
const MAX_CONNECTIONS = 64;
/** Longest request: keys of snapshots to look up, never data. */
const MAX_REQUEST_BYTES = 64 * 1024 * 1024;
/** When the server ends, a command gets this long to take its reply. */
const TAKE_REPLY_MS = 1000;

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
  refusal: { type: RefusalError, again: ({ message }: Failure) => new RefusalError(message) },
  usage: { type: UsageError, again: ({ message }: Failure) => new UsageError(message) },
  input: { type: InputError, again: ({ message }: Failure) => new InputError(message) },
  damage: { type: DamageError, again: ({ message }: Failure) => new DamageError(message) },
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
    return socket === null ? null : remoteStore(socket);
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

function remoteStore(socket: Socket): RemoteStore {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agent.createConnection = () => socket;
  // Between two requests nothing else listens.
  socket.on('error', () => undefined);
  const ask = async (operation: OperationName, args: unknown[]): Promise<Response> => {
    if (socket.destroyed) throw new Error('the connection has ended');
    return send(agent, pack({ operation, args }));
  };
  let greeting: Promise<Response> | null = null;
  const call = async (operation: OperationName, args: unknown[]): Promise<unknown> => {
    // A server of another version rejects the first request, which changes nothing.
    greeting ??= ask('isNode', []);
    const greeted = await greeting.catch(() => {
      throw new StoreUnavailableError(
        `the server did not give its version: nothing more was stored; if it was stopping, run the command again; if its version is not that of this command, ${VERSION}, ${VERSION_REMEDY}`,
      );
    });
    const isNode = resultOf(greeted) === true;
    const response = await ask(operation, args).catch(() => {
      throw wentAway(operation, isNode);
    });
    return resultOf(response);
  };
  return {
    ...operationsBy(
      (name) =>
        (...args: unknown[]) =>
          call(name, args),
    ),
    close: () => socket.destroy(),
  };
}

async function send(agent: Agent, body: Buffer): Promise<Response> {
  const headers = { 'Content-Length': body.length, [VERSION_HEADER]: VERSION };
  const sent = post({ agent, method: 'POST', headers }).end(body);
  // One that comes after the reply has begun ends the reply's body, too.
  sent.on('error', () => undefined);
  const [received] = (await once(sent, 'response')) as [IncomingMessage];
  if (received.headers[VERSION_HEADER] === undefined) throw new Error('a reply without a version');
  return unpack(await buffer(received)) as Response;
}

/** @throws the error of a failed response */
function resultOf(response: Response): unknown {
  if (response.ok) return response.result;
  throw errorOf(response);
}

/** The error of an operation that was sent, and whose reply did not come. */
function wentAway(operation: OperationName, isNode: boolean): Error {
  const gone = 'the server went away before it answered';
  if (!isChange(operation)) return new Error(gone);
  const advice = adviceInDoubt(operation !== 'commit');
  return isNode
    ? new PendingError(`${gone}: the log may or may not have taken the change; ${advice}`)
    : new Error(`${gone}: the change may or may not have been stored; ${advice}`);
}

interface ControlServer {
  /** Stops accepting connections, waits for running requests, removes the socket. */
  close(): Promise<void>;
}

interface ControlOptions {
  /** Told of rejected commands, and of a socket that another program removed or replaced. */
  onNotice?: (text: string) => void;
  /** Whether this process still holds the store: otherwise the socket may be another server's. */
  isHeld?: () => Promise<boolean>;
}

/**
 * Listens on the data directory's socket (mode 0600), and again if the socket is removed or replaced. The caller has the
 * store open, so a socket found there is stale and is removed.
 */
export async function listenForCommands(
  directory: string,
  store: StoreOperations,
  onError: (error: unknown) => void,
  { onNotice, isHeld }: ControlOptions = {},
): Promise<ControlServer> {
  const bound = await socketPath(directory);
  const running = new Set<Promise<void>>();
  let isClosing = false;
  const server = createServer({ requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request);
    if (isClosing) throw new Error('the server is closing');
    const fault = versionFault(request);
    if (fault !== null) onNotice?.(`a command was rejected: ${fault.message}`);
    const answered =
      fault === null
        ? answer(store, unpack(body) as Request, onError, request.socket)
        : Promise.resolve(failure(fault));
    const replied = reply(response, answered);
    running.add(replied);
    await replied.finally(() => running.delete(replied));
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    // Not one of our commands, or one that has gone.
    serve(request, response).catch(() => request.socket.destroy());
  });
  server.on('clientError', (_, socket) => socket.destroy());
  server.maxConnections = MAX_CONNECTIONS;
  let identity: string | null = null;
  const begin = async (): Promise<void> => {
    await rm(bound.path, { force: true });
    await listen(server, bound.path, onError);
    identity = identityOf(bound.path);
  };
  await begin().catch(async (error: unknown) => {
    await bound.handle?.close();
    throw error;
  });
  const beginAgain = async (): Promise<void> => {
    const isThere = identity !== null && identityOf(bound.path) === identity;
    if (isClosing || isThere || (await isHeld?.()) === false) return;
    const found = `${path.join(directory, SOCKET_FILE)} was removed or replaced`;
    const wasListening = server.listening;
    server.close();
    await begin().then(
      () => onNotice?.(`${found}: the server made it again and takes commands`),
      ({ message }: Error) => {
        if (wasListening) onNotice?.(`${found}, and the server takes no commands: ${message}`);
      },
    );
  };
  let checking = Promise.resolve();
  const check = (): unknown => (checking = checking.then(beginAgain).catch(onError));
  const timer = setInterval(check, SOCKET_CHECK_MS).unref();
  return {
    async close() {
      isClosing = true;
      clearInterval(timer);
      await checking;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.allSettled(running);
      server.closeAllConnections();
      await closed;
      await rm(bound.path, { force: true });
      await bound.handle?.close();
    },
  };
}

/** Listens with mode 0600 from the first moment on. */
function listen(server: Server, file: string, onError: (error: unknown) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    server.off('error', onError).once('error', reject);
    const before = process.umask(0o177);
    try {
      server.listen(file, () => {
        server.off('error', reject).on('error', onError);
        resolve();
      });
    } finally {
      process.umask(before);
    }
  });
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const length = Number(request.headers['content-length']);
  if (!(length <= MAX_REQUEST_BYTES)) throw new Error('a request without a length, or too long');
  return buffer(request);
}

/** Why a command is rejected for its version; null if it is not. */
function versionFault({ headers }: IncomingMessage): InputError | null {
  const version = headers[VERSION_HEADER] ?? 'unknown';
  if (version === VERSION) return null;
  return new InputError(
    `the command's version is ${version}, the server's ${VERSION}: ${VERSION_REMEDY}`,
  );
}

/** Resolves once the command has its reply, or has had the time to take it. */
async function reply(response: ServerResponse, answered: Promise<Response>): Promise<void> {
  const body = pack(await answered);
  response.setHeader(VERSION_HEADER, VERSION);
  response.setHeader('Content-Length', body.length);
  const late = sleep(TAKE_REPLY_MS, undefined, { ref: false });
  await Promise.race([finished(response.end(body)), late]);
}

async function answer(
  store: StoreOperations,
  request: Request,
  onError: (error: unknown) => void,
  caller: Socket,
): Promise<Response> {
  try {
    const { operation, args } = request;
    if (!isOperation(operation)) throw new Error('an unknown operation');
    const run = store[operation].bind(store) as (...args: unknown[]) => Promise<unknown>;
    // The file is held until the caller has gone.
    const given = operation === 'holdFile' ? [endOf(caller)] : args;
    return { ok: true, result: await run(...given) };
  } catch (error) {
    const response = failure(error);
    if (response.kind === 'internal' || isDamage(error)) onError(error);
    return response;
  }
}

/** Aborts when a connection ends. */
function endOf(connection: Socket): AbortSignal {
  const end = new AbortController();
  connection.once('close', () => end.abort());
  if (connection.destroyed) end.abort();
  return end.signal;
}
