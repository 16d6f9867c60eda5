/** What waits for live clients to read: counted like the replies of pages, against bounds of its own. */
import { BytesInFlight, type BytesInFlightLimits } from '../http/budget.js';

/** A client must have taken nothing for this long before it is cut to make room for others. */
const LEAST_STALL_MS = 1_000;

/** The limits of live messages that may take `liveBytes` of memory: a quarter of it is kept for further clients. */
export function liveLimits(liveBytes: number): BytesInFlightLimits & { maxKeptBytes: number } {
  const eighth = Math.floor(liveBytes / 8);
  return {
    maxBytesInFlight: 5 * eighth,
    maxBytesInFlightPerKey: Math.floor(2.5 * eighth),
    maxKeylessBytesInFlight: eighth,
    maxKeptBytes: 2 * eighth,
  };
}

/** A connection for which bytes may wait. */
export interface Reader {
  readonly keyId: string | null;
  /** How long the client has taken nothing of what waits; 0: nothing waits. */
  readonly stalledMs: number;
  /** Tries again to send. */
  wake(): void;
  /** Ends the connection at once. */
  cut(): void;
}

/**
 * Counts what waits after each message. A message is sent only while no bound is reached, so that the last one of all
 * clients, or of a key, may exceed it.
 */
export class UnreadBytes {
  private readonly bytes: BytesInFlight;
  private readonly counted = new Map<Reader, { keyId: string | null; bytes: number }>();
  /** Connections that have messages to send, and wait for others to read. */
  private readonly blocked = new Set<Reader>();

  constructor(limits: BytesInFlightLimits) {
    this.bytes = new BytesInFlight(limits);
  }

  /** Whether nothing may be sent to the clients of a key; null: to those without one. */
  isFull(keyId: string | null): boolean {
    return this.bytes.fullness(keyId) !== 'none';
  }

  /** Counts what waits for a connection now. */
  count(reader: Reader, bytes: number): void {
    const before = this.counted.get(reader);
    if (before?.bytes === bytes && before.keyId === reader.keyId) return;
    if (before === undefined && bytes === 0) return;
    if (before !== undefined) this.bytes.give(before.keyId, before.bytes);
    const { keyId } = reader;
    this.bytes.add(keyId, bytes);
    if (bytes === 0) this.counted.delete(reader);
    else this.counted.set(reader, { keyId, bytes });
    if (bytes < (before?.bytes ?? 0)) this.wakeNext();
  }

  /** Has a connection woken once there may be room. */
  block(reader: Reader): void {
    this.blocked.add(reader);
  }

  /** Call when a connection has ended. */
  forget(reader: Reader): void {
    this.blocked.delete(reader);
    this.count(reader, 0);
  }

  /** Cuts the slowest clients that are in the way of others. Call it once a second. */
  makeRoom(): void {
    if (this.blocked.size === 0) return;
    const slowest = [...this.counted.keys()]
      .map((reader) => ({ reader, stalledMs: reader.stalledMs }))
      .filter(({ stalledMs }) => stalledMs >= LEAST_STALL_MS)
      .sort((a, b) => b.stalledMs - a.stalledMs);
    const waiting = [...this.blocked];
    for (const keyId of new Set(waiting.map((reader) => reader.keyId))) {
      for (const { reader } of slowest) {
        const fullness = this.bytes.fullness(keyId);
        if (fullness === 'none') break;
        if (fullness === 'full' || reader.keyId === keyId) reader.cut();
      }
    }
    for (const reader of waiting) if (!this.isFull(reader.keyId)) this.wake(reader);
  }

  private wakeNext(): void {
    const [first] = this.blocked;
    if (first !== undefined) this.wake(first);
  }

  private wake(reader: Reader): void {
    this.blocked.delete(reader);
    reader.wake();
  }
}
