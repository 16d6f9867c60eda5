/** All live connections: their keys, what waits for their clients, and how they end. */
import type { KeyRecord, KeySource } from '../../storage/contract.js';
import { Turns } from '../../storage/turns.js';
import { wallS } from '../../storage/wall-clock.js';
import { validKey } from '../api/routes.js';
import { SOCKET_LIMITS } from '../http/outlet.js';
import { ApiError } from '../http/errors.js';
import { type Limiter, tooMany } from '../limits/limiter.js';
import { LiveConnection, type Wire } from './connection.js';
import { CLOSE_CODES } from './protocol.js';
import type { UnreadBytes } from './unread.js';

const AUTH_LIMIT_MS = 5_000;
/** Messages, pings and pongs between two ticks. A client needs no more than two without a key. */
const MAX_MESSAGES_PER_TICK = { ofConnection: 500, ofKey: 5_000, keyless: 20 } as const;
/** Bytes of messages between two ticks: reading 64 KiB takes the event loop up to 30 ms, whatever they say. */
const MAX_MESSAGE_BYTES_PER_TICK = { ofKey: 256 * 1024, keyless: 4 * 1024 } as const;
/** A client that takes nothing of what waits for this long is cut, whatever it sends. */
const MAX_STALL_MS = SOCKET_LIMITS.silenceS * 1_000;

interface ConnectionsOptions {
  keys: KeySource;
  limiter: Pick<Limiter, 'maxConnections'>;
  unread: UnreadBytes;
  /** Replaces the default. */
  maxStallMs?: number;
}

export class LiveConnections {
  private readonly open = new Set<LiveConnection>();
  private readonly byKey = new Map<string, number>();
  /** What was received since the last tick, of a key or of a connection without one. */
  private readonly received = new Map<
    string | LiveConnection,
    { messages: number; bytes: number }
  >();
  private ticks = 0;
  private isClosed = false;

  constructor(private readonly options: ConnectionsOptions) {}

  get size(): number {
    return this.open.size;
  }

  [Symbol.iterator](): Iterator<LiveConnection> {
    return this.open.values();
  }

  has(connection: LiveConnection): boolean {
    return this.open.has(connection);
  }

  /** Adds a connection that has no key yet. */
  add(wire: Wire): LiveConnection {
    const connection = new LiveConnection(wire, this.options.unread);
    this.open.add(connection);
    if (this.isClosed) this.end(connection, CLOSE_CODES.restart, 'the server is stopping');
    else setTimeout(() => this.endKeyless(connection), AUTH_LIMIT_MS).unref();
    return connection;
  }

  /**
   * Gives a connection its key.
   * @param source of the key, for the error
   * @throws ApiError 401, 429
   */
  authenticate(connection: LiveConnection, text: string, source: string): KeyRecord {
    const { keys, limiter } = this.options;
    const record = validKey(keys, text, source);
    const before = this.byKey.get(record.id) ?? 0;
    const most = limiter.maxConnections(record);
    if (before >= most)
      throw tooMany(`This key has ${most} live connections, as many as its plan allows`, 1, []);
    connection.key = { text, record };
    connection.count();
    this.byKey.set(record.id, before + 1);
    return record;
  }

  /** As authenticate(), but a key that may not connect ends the connection. */
  admit(connection: LiveConnection, text: string, source: string): void {
    try {
      this.authenticate(connection, text, source);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.end(connection, codeOf(error), error.message);
    }
  }

  /**
   * Counts a client's message, ping or pong.
   * @param bytes of a message; 0: a ping or pong, which nobody decodes
   * @returns the limit that it exceeds; null: none
   */
  exceeded(connection: LiveConnection, bytes: number): string | null {
    const { keyId } = connection;
    const sender = keyId ?? connection;
    const sent = this.received.get(sender) ?? { messages: 0, bytes: 0 };
    this.received.set(sender, sent);
    sent.messages++;
    sent.bytes += bytes;
    const who = keyId === null ? 'keyless' : 'ofKey';
    const of = keyId === null ? 'without a key' : 'from all connections of the key';
    if (++connection.messages > MAX_MESSAGES_PER_TICK.ofConnection) {
      return `${MAX_MESSAGES_PER_TICK.ofConnection} messages a second`;
    }
    if (sent.messages > MAX_MESSAGES_PER_TICK[who]) {
      return `${MAX_MESSAGES_PER_TICK[who]} messages a second ${of}`;
    }
    if (sent.bytes <= MAX_MESSAGE_BYTES_PER_TICK[who]) return null;
    return `${MAX_MESSAGE_BYTES_PER_TICK[who] / 1024} KiB of messages a second ${of}`;
  }

  end(connection: LiveConnection, code: number, reason: string): void {
    connection.close(code, reason);
    this.forget(connection);
  }

  /** Removes a connection whose client has gone. */
  forget(connection: LiveConnection): void {
    connection.closed();
    if (!this.open.delete(connection) || connection.key === null) return;
    const { id } = connection.key.record;
    const left = (this.byKey.get(id) ?? 1) - 1;
    if (left === 0) this.byKey.delete(id);
    else this.byKey.set(id, left);
  }

  /** Call after a change of keys: connections of keys that are no longer valid end at once. */
  checkKeys(): void {
    for (const connection of [...this.open]) this.checkKey(connection);
  }

  /** Call once a second. @param onEach called for each connection, in turns */
  async tick(onEach: (connection: LiveConnection) => void): Promise<void> {
    this.ticks++;
    this.received.clear();
    this.options.unread.makeRoom();
    const { maxStallMs = MAX_STALL_MS } = this.options;
    const turns = new Turns();
    const nowS = wallS();
    for (const connection of [...this.open]) {
      await turns.take();
      if (connection.stalledMs >= maxStallMs) {
        connection.cut();
        continue;
      }
      if (connection.mayHaveLostKey(nowS)) this.checkKey(connection);
      connection.keepAlive(this.ticks);
      onEach(connection);
    }
  }

  /** Ends all connections, and each later one at once. @param reasonOf called for each: says farewell */
  close(reasonOf: (connection: LiveConnection) => string): void {
    this.isClosed = true;
    for (const connection of [...this.open]) {
      this.end(connection, CLOSE_CODES.restart, reasonOf(connection));
    }
  }

  private endKeyless(connection: LiveConnection): void {
    if (connection.key !== null || !this.open.has(connection)) return;
    const limitS = AUTH_LIMIT_MS / 1000;
    this.end(connection, CLOSE_CODES.key, `expected a key within ${limitS} seconds`);
  }

  private checkKey(connection: LiveConnection): void {
    if (connection.key === null) return;
    const { keys } = this.options;
    try {
      connection.key.record = validKey(keys, connection.key.text, 'the one of this connection');
    } catch (error) {
      this.end(connection, CLOSE_CODES.key, (error as Error).message);
    }
  }
}

function codeOf({ status }: ApiError): number {
  if (status === 401) return CLOSE_CODES.key;
  return status === 403 ? CLOSE_CODES.tier : CLOSE_CODES.limit;
}
