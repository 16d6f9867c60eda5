/** A command's end of the control socket. */
import { createConnection, type Socket } from 'node:net';
import { FrameReader, MAX_FRAME_BYTES, packFrame, unpackBody } from '../bundle/codec.js';
import type { StoreOperations } from '../operations.js';
import { errorOf, socketPath, type Operation, type Response } from './protocol.js';

/** A store that a running server keeps, and the connection to it. */
export interface RemoteStore extends StoreOperations {
  close(): void;
}

/** Connects to the server that keeps the directory's store; null where none listens. */
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
      // No socket, or one that a killed server left behind: nobody keeps the store.
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(null);
      else reject(error);
    });
  });
}

function remoteStore(caller: Caller): RemoteStore {
  const remote =
    <K extends Operation>(operation: K) =>
    (...args: Parameters<StoreOperations[K]>): ReturnType<StoreOperations[K]> =>
      caller.call(operation, args) as ReturnType<StoreOperations[K]>;
  return {
    commit: remote('commit'),
    snapshotPrices: remote('snapshotPrices'),
    snapshotTimes: remote('snapshotTimes'),
    summary: remote('summary'),
    createKey: remote('createKey'),
    listKeys: remote('listKeys'),
    rotateKey: remote('rotateKey'),
    revokeKey: remote('revokeKey'),
    listQueue: remote('listQueue'),
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
