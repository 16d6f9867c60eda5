/** Reads the log's entries by their positions. */
import { EventEmitter, once } from 'node:events';
import type { JetStreamManager, MsgRequest } from '@nats-io/jetstream';
import { NO_MESSAGE, nullWith } from './jetstream-errors.js';

/** Entries that a node requests at once. */
const MAX_REQUESTED = 64;
/** A node looks for new entries at least this often: the message about one may be lost. */
const LOOK_EVERY_MS = 1000;
const MOVED = 'moved';

export interface LogMessage {
  position: number;
  id: string;
  /** When the log received it. */
  timeMs: number;
  data: Uint8Array;
}

export class LogReader {
  /** Position of the last entry, as far as this process knows. */
  private end = 0;
  /** Emits MOVED when it is time to look for new entries. */
  private readonly news = new EventEmitter();

  constructor(
    private readonly open: () => Promise<JetStreamManager>,
    private readonly stream: string,
  ) {}

  /** Call it when the log reports its end. */
  endsAt(position: number): void {
    this.end = position;
  }

  /** Call it when the log has a new entry. @param position untrusted: it may come from another program */
  moved(position: unknown): void {
    if (!Number.isSafeInteger(position)) return;
    this.end = Math.max(this.end, position as number);
    this.news.emit(MOVED);
  }

  /**
   * Yields the entries from a position on, in batches, until `stop`. It waits while the log lacks the next one.
   * @throws Error if JetStream does not answer
   */
  async *follow(from: number, stop: AbortSignal): AsyncGenerator<LogMessage[]> {
    for (let next = from; !stop.aborted;) {
      const known = this.end;
      const messages = await this.read(next);
      next += messages.length;
      if (messages.length > 0) yield messages;
      // Otherwise an entry may have come after it was requested.
      else if (this.end <= known) await this.untilMoved(stop);
    }
  }

  /** The entry that a request finds; null if the log lacks it. */
  async find(request: MsgRequest): Promise<LogMessage | null> {
    return find(await this.open(), this.stream, request);
  }

  /** The entries from a position on, up to a missing one; at least the first is looked for. */
  private async read(from: number): Promise<LogMessage[]> {
    const manager = await this.open();
    const most = Math.max(1, Math.min(MAX_REQUESTED, this.end + 1 - from));
    const found = await Promise.all(
      Array.from({ length: most }, (_, i) => find(manager, this.stream, { seq: from + i })),
    );
    const missing = found.indexOf(null);
    return (missing < 0 ? found : found.slice(0, missing)) as LogMessage[];
  }

  /** Resolves when this process learns of a new entry, and after LOOK_EVERY_MS at the latest. */
  private async untilMoved(signal: AbortSignal): Promise<void> {
    const timer = setTimeout(() => this.news.emit(MOVED), LOOK_EVERY_MS);
    await once(this.news, MOVED, { signal }).catch(() => undefined);
    clearTimeout(timer);
  }
}

async function find(
  manager: JetStreamManager,
  stream: string,
  request: MsgRequest,
): Promise<LogMessage | null> {
  const found = await manager.streams.getMessage(stream, request).catch(nullWith(NO_MESSAGE));
  if (found === null) return null;
  const { seq, header, time, data } = found;
  return { position: seq, id: header.get('Nats-Msg-Id'), timeMs: time.getTime(), data };
}
