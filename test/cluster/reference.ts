/** The expected contents after each entry of the log, computed from the changes with plain maps. */
import { JetStreamApiError } from '@nats-io/jetstream';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { decodeSegment } from '../../compute/segment/segment.js';
import { after, retired } from '../crash/contents.js';
import { HOUR, type Operation } from '../crash/operations.js';
import { botAddress } from '../../bench/data/bots.js';
import { type Frame, framesOf } from '../../storage/bundle.js';
import { type Entry, unpackEntry } from '../../storage/log/entry.js';
import { JetStreamLog, LogUnreachableError } from '../../storage/log/jetstream.js';
import type { LogMessage } from '../../storage/log/log-reader.js';
import { eventually, PATIENCE_MS } from '../support/waiting.js';

/** Longest time of one attempt to read the log. */
const READ_MS = 30_000;
/** The token whose markets are merged and deleted; retention keeps all of its times. */
export const LADDER_TOKEN = botAddress(9);
export const LADDER_T = HOUR * 3600;

/** By time: the price, and each market's amount. */
export type Ladders = Map<number, { price: number; amounts: Map<string, number> }>;
export type LadderChange = { kind: 'ladder'; isMerge: boolean; ladders: Ladders };

interface Expected {
  rows: Map<string, number>;
  ladders: Ladders;
}

export class Reference {
  /** The expected contents by position; the first are those of the empty log. */
  readonly states: Expected[] = [{ rows: new Map(), ladders: new Map() }];
  /** How often each file, prune or key change is in the log, without refused merges. */
  readonly counts = new Map<string, number>();
  /** Entries of each kind. */
  readonly kinds: Record<string, number> = {};

  /**
   * Reads the log, again until JetStream answers: a server that has just come back may know no leader yet.
   * @param files by the number in their names
   */
  static async read(
    urls: string[],
    files: ReadonlyMap<number, Operation | LadderChange>,
  ): Promise<Reference> {
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
    files: ReadonlyMap<number, Operation | LadderChange>,
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

  get last(): Expected {
    return this.states[this.states.length - 1];
  }

  private count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  private next(
    entry: Entry,
    frames: readonly Frame[],
    files: ReadonlyMap<number, Operation | LadderChange>,
  ): Expected {
    const { rows, ladders } = this.last;
    if (entry.kind === 'key') {
      if (entry.isNew) this.count(`key ${entry.stored.record.id}`);
      return this.last;
    }
    if (entry.kind === 'retirement') {
      const { token, cutoffs, made } = entry;
      return { rows: retired(rows, token.address, cutoffs.raw, made), ladders };
    }
    const [header] = frames;
    if (header?.kind !== 'header') return this.last;
    const name = path.basename(header.file, '.ndjson');
    if (name === 'prune' || name === 'delete') {
      return frames.reduce<Expected>((state, frame) => this.without(state, frame), this.last);
    }
    const isLadder = name.startsWith('ladder-');
    const number = isLadder
      ? -Number(name.slice('ladder-'.length))
      : Number(name.slice('file-'.length));
    const change = files.get(number);
    if (change?.kind === 'ingest') {
      this.count(name);
      return { rows: after(rows, change), ladders };
    }
    if (change?.kind !== 'ladder') throw new Error(`the log has ${name}, which nobody sent`);
    const merged = change.isMerge ? this.merged(change, frames) : null;
    if (change.isMerge && merged === null) return this.last;
    this.count(name);
    return { rows, ladders: merged ?? new Map([...ladders, ...change.ladders]) };
  }

  /** null if the merge was binned against a price that has changed since. */
  private merged({ ladders: given }: LadderChange, frames: readonly Frame[]): Ladders | null {
    const { ladders } = this.last;
    const prices = new Map<number, number>();
    for (const frame of frames) {
      if (frame.kind !== 'segment') continue;
      const run = decodeSegment(frame.segment.block);
      run.t.forEach((t, i) => prices.set(t, run.priceUsd[i]));
    }
    const merged: Ladders = new Map(ladders);
    for (const [t, { amounts }] of given) {
      const price = prices.get(t) as number;
      const existing = ladders.get(t);
      if (existing !== undefined && existing.price !== price) return null;
      merged.set(t, { price, amounts: new Map([...(existing?.amounts ?? []), ...amounts]) });
    }
    return merged;
  }

  private without({ rows, ladders }: Expected, frame: Frame): Expected {
    if (frame.kind !== 'delete') return { rows, ladders };
    const { address, fromS, toS, markets } = frame;
    const isIn = (t: number): boolean => t >= fromS && t < toS;
    if (address !== LADDER_TOKEN) {
      this.count(`prune ${address} ${toS}`);
      const isKept = (name: string): boolean => {
        const [kind, of, t] = name.split(' ');
        return kind !== 'depth' || of !== address || !isIn(Number(t));
      };
      return { rows: new Map([...rows].filter(([name]) => isKept(name))), ladders };
    }
    const left: Ladders = new Map();
    for (const [t, { price, amounts }] of ladders) {
      const kept = new Map(
        [...amounts].filter(
          ([market]) => !isIn(t) || markets?.includes(`Orca/${market}`) === false,
        ),
      );
      if (kept.size > 0) left.set(t, { price, amounts: kept });
    }
    return { rows, ladders: left };
  }
}

async function framesIn({ readBundle }: LogMessage, entry: Entry): Promise<Frame[]> {
  const frames: Frame[] = [];
  if (entry.kind !== 'bundle' && entry.kind !== 'large-bundle') return frames;
  const bundle = entry.kind === 'bundle' ? entry.bundle : await buffer(readBundle!());
  for await (const frame of framesOf(bundle)) frames.push(frame);
  return frames;
}
