/** A command's end of the control socket. */
import { createConnection, type Socket } from 'node:net';
import { FRAME_HEAD_BYTES, frameLength, packFrame, unpackBody } from '../bundle/codec.js';
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
    close: () => caller.close(),
  };
}

/** Sends one request at a time and waits for its response. */
class Caller {
  private buffered: Buffer = Buffer.alloc(0);
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
      if (this.socket.destroyed) this.fail();
      else this.socket.write(packFrame({ operation, args }));
    });
  }

  close(): void {
    this.socket.end();
    this.socket.unref();
  }

  private receive(chunk: Buffer): void {
    this.buffered = Buffer.concat([this.buffered, chunk]);
    if (this.buffered.length < FRAME_HEAD_BYTES) return;
    const end = FRAME_HEAD_BYTES + frameLength(this.buffered);
    if (this.buffered.length < end) return;
    const response = unpackBody(this.buffered.subarray(FRAME_HEAD_BYTES, end)) as Response;
    this.buffered = this.buffered.subarray(end);
    const waiting = this.waiting;
    this.waiting = null;
    if (response.ok) waiting?.resolve(response.result);
    else waiting?.reject(errorOf(response));
  }

  private fail(): void {
    this.waiting?.reject(new Error('the server went away before it answered'));
    this.waiting = null;
  }
}
