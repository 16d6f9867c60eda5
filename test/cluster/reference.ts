/** The expected contents after each entry of the log, computed from the changes with plain maps. */
import { JetStreamApiError } from '@nats-io/jetstream';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type Frame, framesOf } from '../../storage/bundle.js';
import { type Entry, unpackEntry } from '../../storage/log/entry.js';
import { JetStreamLog, LogUnreachableError } from '../../storage/log/jetstream.js';
import type { LogMessage } from '../../storage/log/log-reader.js';
import { eventually, PATIENCE_MS } from '../support/waiting.js';
import { after, isRefused, type Operation, retired, type Rows } from '../walk/model.js';

/** Longest time of one attempt to read the log. */
const READ_MS = 30_000;
export class Reference {
  /** The expected contents by position; the first are those of the empty log. */
  readonly states: Rows[] = [new Map()];
  /** How often each file, prune or key change is in the log, without refused merges. */
  readonly counts = new Map<string, number>();
  /** Entries of each kind. */
  readonly kinds: Record<string, number> = {};

  /**
   * Reads the log, again until JetStream answers: a server that has just come back may know no leader yet.
   * @param files by the number in their names
   */
  static async read(urls: string[], files: ReadonlyMap<number, Operation>): Promise<Reference> {
    let reference: Reference | null = null;
    await eventually('a reply of JetStream', async () => {
      reference = await Reference.readOnce(urls, files).catch((error: unknown) => {
        if (error instanceof JetStreamApiError || error instanceof LogUnreachableError) return null;
        throw error;
      });
      return reference !== null;
    });
    return reference as unknown as Reference;
  }

  private static async readOnce(
    urls: string[],
    files: ReadonlyMap<number, Operation>,
  ): Promise<Reference> {
    const reference = new Reference();
    const log = new JetStreamLog({ servers: urls, name: 'reference', replicas: 3 });
    const stop = new AbortController();
    // The copy of a server that has just come back may end earlier.
    const ending = AbortSignal.any([stop.signal, AbortSignal.timeout(READ_MS)]);
    try {
      await log.connected(PATIENCE_MS);
      const last = (await log.state())?.last ?? 0;
      for await (const messages of log.follow(1, ending)) {
        for (const message of messages) {
          const { position } = message;
          if (position < reference.states.length)
            throw new Error(`entry ${position} is out of order`);
          const entry = unpackEntry(message.data);
          const frames = await framesIn(message, entry);
          reference.kinds[entry.kind] = (reference.kinds[entry.kind] ?? 0) + 1;
          // Parts of large bundles change nothing.
          while (reference.states.length < position) reference.states.push(reference.last);
          reference.states.push(reference.next(entry, frames, files));
          if (position === last) stop.abort();
        }
      }
      if (!stop.signal.aborted) throw new LogUnreachableError(`the log ends before ${last}`);
      return reference;
    } finally {
      await log.close();
    }
  }

  get last(): Rows {
    return this.states[this.states.length - 1];
  }

  private count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  /** The rows after an entry. */
  private next(
    entry: Entry,
    frames: readonly Frame[],
    files: ReadonlyMap<number, Operation>,
  ): Rows {
    const { last } = this;
    if (entry.kind === 'key') {
      const { id, name } = entry.stored.record;
      if (!entry.isNew || name === null) return last;
      this.count(`key ${id}`);
      return after(last, { kind: 'create', number: 0, name });
    }
    if (entry.kind === 'revocation') {
      return after(last, { kind: 'revoke', number: 0, id: entry.revocation.id });
    }
    if (entry.kind === 'retirement') {
      const { token, cutoffs, made } = entry;
      return retired(last, token.address, cutoffs.raw, made);
    }
    const [header] = frames;
    if (header?.kind !== 'header') return last;
    const name = path.basename(header.file, '.ndjson');
    if (name === 'prune' || name === 'delete') {
      return frames.reduce<Rows>((rows, frame) => this.without(rows, frame, name), last);
    }
    const change = files.get(Number(name.slice('file-'.length)));
    if (change === undefined) throw new Error(`the log has ${name}, which nobody sent`);
    // All nodes refuse a merge that was binned against a price that has changed since.
    if (isRefused(last, change)) return last;
    this.count(name);
    return after(last, change);
  }

  private without(rows: Rows, frame: Frame, name: 'prune' | 'delete'): Rows {
    if (frame.kind !== 'delete') return rows;
    const { address: token, fromS, toS, markets } = frame;
    if (name === 'prune') this.count(`prune ${token} ${toS}`);
    const market = markets?.[0] ?? null;
    return after(rows, { kind: 'delete', number: 0, token, fromS, toS, market });
  }
}

async function framesIn({ readBundle }: LogMessage, entry: Entry): Promise<Frame[]> {
  const frames: Frame[] = [];
  if (entry.kind !== 'bundle' && entry.kind !== 'large-bundle') return frames;
  const bundle = entry.kind === 'bundle' ? entry.bundle : await buffer(readBundle!());
  for await (const frame of framesOf(bundle)) frames.push(frame);
  return frames;
}
