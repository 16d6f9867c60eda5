/** Reads the log's entries by their positions. */
import { EventEmitter, once } from 'node:events';
import type { JetStreamManager, MsgRequest, StreamState } from '@nats-io/jetstream';
import { NO_MESSAGE, nullWith } from './jetstream-errors.js';
import { missingPosition, nextOf, type Parts, partsOf, readParts } from './parts.js';

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
  /** The bytes of the entry's large bundle, which the log has apart from the entry; absent if it has none. */
  readBundle?: () => AsyncIterable<Uint8Array>;
}

export class LogReader {
  /** Position of the last entry, as far as this process knows. */
  private end = 0;
  /** The last entry that endOf() found, and the stream's state then. */
  private found = { state: '', position: 0 };
  /** Emits MOVED when it is time to look for new entries. */
  private readonly news = new EventEmitter();

  constructor(
    private readonly open: () => Promise<JetStreamManager>,
    private readonly stream: string,
    /** Subjects of entries; the stream's other messages are parts of large bundles. */
    private readonly entries: string,
  ) {}

  /**
   * Position of the last entry, for a state that JetStream reports: parts may follow it whose entry has not come yet, or
   * never will.
   */
  async endOf({ first_seq, last_seq, last_ts }: StreamState): Promise<number> {
    const state = `${first_seq} ${last_seq} ${String(last_ts)}`;
    if (last_seq > 0 && state !== this.found.state) {
      const last = await this.find({ last_by_subj: this.entries });
      this.found = { state, position: last?.position ?? first_seq - 1 };
    }
    return (this.end = last_seq > 0 ? this.found.position : 0);
  }

  /** Call it when the log has a new entry. @param position untrusted: it may come from another program */
  moved(position: unknown): void {
    if (!Number.isSafeInteger(position)) return;
    this.end = Math.max(this.end, position as number);
    this.news.emit(MOVED);
  }

  /**
   * Yields the entries from a position on, in batches, until `stop`. It waits while the log lacks the next one. It passes
   * over parts of large bundles, and over nothing else.
   * @throws Error if JetStream does not answer, or has lost a message
   */
  async *follow(from: number, stop: AbortSignal): AsyncGenerator<LogMessage[]> {
    // Each request for a part gets the same entry after it: after such requests a node asks for less at once.
    let most = 1;
    for (let next = from; !stop.aborted;) {
      const known = this.end;
      const asked = Math.max(1, Math.min(most, this.end + 1 - next));
      const messages = await this.read(next, asked);
      next = (messages.at(-1)?.position ?? next - 1) + 1;
      if (messages.length > 0) {
        most = Math.min(MAX_REQUESTED, messages.length * (messages.length < asked ? 1 : 2));
        yield messages;
      }
      // Otherwise an entry may have come after it was requested.
      else if (this.end <= known) await this.untilMoved(stop);
    }
  }

  /** The message that a request finds; null if the log lacks it. */
  async find(request: MsgRequest): Promise<LogMessage | null> {
    const { streams } = await this.open();
    const found = await streams.getMessage(this.stream, request).catch(nullWith(NO_MESSAGE));
    if (found === null) return null;
    const { seq, header, time, data } = found;
    const id = header.get('Nats-Msg-Id');
    const message = { position: seq, id, timeMs: time.getTime(), data };
    const parts = partsOf(header);
    return parts === null ? message : { ...message, readBundle: () => this.bundleOf(parts) };
  }

  private bundleOf(parts: Parts): AsyncIterable<Uint8Array> {
    return readParts(this.open, this.stream, parts);
  }

  /**
   * The entries that requests for consecutive positions find, up to one that is not there yet.
   * @throws Error if the first of them comes after a message that JetStream has lost
   */
  private async read(from: number, requests: number): Promise<LogMessage[]> {
    const found = await Promise.all(
      Array.from({ length: requests }, (_, i) => this.find(nextOf(this.entries, from + i))),
    );
    const messages: LogMessage[] = [];
    let next = from;
    for (const message of found) {
      if (message === null) break;
      // Requests for the parts before it found it, too.
      if (message.position < next) continue;
      const missing = message.position === next ? null : await this.missing(next, message.position);
      if (missing !== null && messages.length > 0) break;
      if (missing !== null) throw missingPosition(missing);
      messages.push(message);
      next = message.position + 1;
    }
    return messages;
  }

  /** The first position between others of which the log has no message; null if it has all. */
  private async missing(from: number, to: number): Promise<number | null> {
    const { streams } = await this.open();
    const { first_seq, last_seq, messages } = (await streams.info(this.stream)).state;
    if (first_seq > from) return from;
    if (messages === last_seq - first_seq + 1) return null;
    // JetStream lists what was deleted, but not everything that it has lost.
    for (let position = from; position < to; position++) {
      if ((await this.find({ seq: position })) === null) return position;
    }
    return null;
  }

  /** Resolves when this process learns of a new entry, and after LOOK_EVERY_MS at the latest. */
  private async untilMoved(signal: AbortSignal): Promise<void> {
    const timer = setTimeout(() => this.news.emit(MOVED), LOOK_EVERY_MS);
    await once(this.news, MOVED, { signal }).catch(() => undefined);
    clearTimeout(timer);
  }
}
