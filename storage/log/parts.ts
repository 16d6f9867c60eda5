/**
 * Bundles that are too large for an entry. The log has them as parts: messages of the same stream, with other subjects
 * than entries. Parts of several bundles and entries may come between each other. A bundle's entry comes after its parts,
 * and its message names their positions. If a publisher ends before that, nobody reads the parts.
 */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import type { JetStreamManager, MsgRequest } from '@nats-io/jetstream';
import { InputError } from '../errors.js';

/** Subjects of parts: each attempt to send a bundle has one. */
export const PART_SUBJECTS = 'fathom-parts.';
/** Header of an entry's message: the last word of the parts' subject, then their positions as in packPositions(). */
const PARTS_HEADER = 'Fathom-Parts';
export const BUNDLE_PART_BYTES = 512 * 1024;
/** Parts of one bundle that a process sends, or reads, at the same time. */
const MAX_MOVING_BYTES = 4 * 1024 * 1024;
const MOVING_PARTS = MAX_MOVING_BYTES / BUNDLE_PART_BYTES;
/** The positions of its parts must fit in a header, and JetStream takes 64 KiB of headers. */
const MAX_BUNDLE_BYTES = 4 * 1024 * 1024 * 1024;

/** Where the log has a bundle. */
export interface Parts {
  /** Distinguishes this attempt to send the bundle from any other. */
  upload: string;
  /** In the order of the bundle's bytes; not ascending if a part was sent again. */
  positions: readonly number[];
}

/** Sends one part. @returns its position */
type SendPart = (subject: string, data: Uint8Array, id: string) => Promise<number>;

/**
 * Sends a bundle's file to the log, many parts at a time.
 * @throws InputError if the bundle is too large | whatever `send` throws
 */
export async function sendParts(file: string, bytes: number, send: SendPart): Promise<Parts> {
  if (bytes > MAX_BUNDLE_BYTES) {
    throw new InputError(
      `the change has ${mebibytes(bytes)} MiB, and a cluster's log takes at most ${mebibytes(MAX_BUNDLE_BYTES)} MiB at once: load the data in several files`,
    );
  }
  const upload = randomUUID();
  const sending: Promise<number>[] = [];
  for await (const chunk of createReadStream(file, { highWaterMark: BUNDLE_PART_BYTES })) {
    const id = `${upload} ${sending.length}`;
    const sent = send(`${PART_SUBJECTS}${upload}`, chunk as Buffer, id);
    sent.catch(() => undefined);
    sending.push(sent);
    await sending.at(-MOVING_PARTS);
  }
  return { upload, positions: await Promise.all(sending) };
}

const mebibytes = (bytes: number): number => Math.ceil(bytes / 1024 ** 2);

/** The bytes of a bundle. @throws Error if the log lacks a part of it, or JetStream does not answer */
export async function* readParts(
  open: () => Promise<JetStreamManager>,
  stream: string,
  { upload, positions }: Parts,
): AsyncGenerator<Uint8Array> {
  const { streams } = await open();
  const read = async (position: number): Promise<Uint8Array> => {
    const found = await streams.getMessage(stream, { seq: position });
    if (found?.subject !== `${PART_SUBJECTS}${upload}`) throw missingPosition(position);
    return found.data;
  };
  const reading: Promise<Uint8Array>[] = [];
  for (const position of positions) {
    const part = read(position);
    part.catch(() => undefined);
    reading.push(part);
    if (reading.length === MOVING_PARTS) yield (await reading.shift()) as Uint8Array;
  }
  for (const part of reading) yield await part;
}

/** A request for the first message of some subjects from a position on. */
export function nextOf(subjects: string, from: number): MsgRequest {
  // JetStream has known this request since version 2.9; the library's type does not.
  const request = { seq: from, next_by_subj: subjects };
  return request;
}

/** The log lacks a message that a node needs: it is not passed over, since no node could tell what it was. */
export function missingPosition(position: number): Error {
  return new Error(
    `position ${position} of the log is missing, deleted or lost by JetStream: start this node with a backup of a node that is past it`,
  );
}

export function headersOf({ upload, positions }: Parts): MsgHdrs {
  const made = headers();
  made.set(PARTS_HEADER, `${upload} ${packPositions(positions)}`);
  return made;
}

/** The parts that an entry's message names; null if it names none. */
export function partsOf(of: MsgHdrs): Parts | null {
  const [, upload, packed] = /^([\w-]+)((?: -?\d+\+\d+)+)$/.exec(of.get(PARTS_HEADER)) ?? [];
  if (upload === undefined) return null;
  const parts = { upload, positions: unpackPositions(packed) };
  return firstOf(parts) > 0 ? parts : null;
}

/**
 * Positions as runs of consecutive ones: `7+128 2+60` is 7 to 134 and, after 2 that belong to others, 137 to 196. That is
 * short even if other nodes' messages come after each part.
 */
function packPositions(positions: readonly number[]): string {
  const runs: { skip: number; count: number }[] = [];
  let next = 0;
  for (const position of positions) {
    const last = runs.at(-1);
    if (last !== undefined && position === next) last.count++;
    else runs.push({ skip: position - next, count: 1 });
    next = position + 1;
  }
  return runs.map(({ skip, count }) => `${skip}+${count}`).join(' ');
}

function unpackPositions(packed: string): number[] {
  const positions: number[] = [];
  let next = 0;
  for (const run of packed.trim().split(' ')) {
    const [skip, count] = run.split('+').map(Number);
    // A header from another program must not fill the memory.
    const taken = Math.min(count, MAX_BUNDLE_BYTES / BUNDLE_PART_BYTES - positions.length);
    for (let i = 0; i < taken; i++) positions.push(next + skip + i);
    next += skip + count;
  }
  return positions;
}

/**
 * The last position up to which a log may be trimmed: no bundle loses parts whose entry stays, or may still come.
 * @param to the position up to which it should be trimmed
 * @param large the subject of entries that have parts
 * @param sentBeforeMs a bundle without an entry is abandoned if its last part came earlier, in epoch milliseconds
 */
export async function trimmableTo(
  { streams }: JetStreamManager,
  stream: string,
  { to, large, sentBeforeMs }: { to: number; large: string; sentBeforeMs: number },
): Promise<number> {
  const { state } = await streams.info(stream, { subjects_filter: `${PART_SUBJECTS}*` });
  const waiting = new Set(Object.keys(state.subjects ?? {}));
  let last = to;
  for (let next = 1; waiting.size > 0;) {
    const found = await streams.getMessage(stream, nextOf(large, next));
    if (found === null) break;
    next = found.seq + 1;
    const parts = partsOf(found.header);
    if (parts === null) continue;
    waiting.delete(`${PART_SUBJECTS}${parts.upload}`);
    if (found.seq > to) last = Math.min(last, firstOf(parts) - 1);
  }
  for (const subject of waiting) {
    const first = await streams.getMessage(stream, nextOf(subject, 1));
    const latest = await streams.getMessage(stream, { last_by_subj: subject });
    const isAbandoned = latest === null || latest.time.getTime() < sentBeforeMs;
    if (first !== null && !isAbandoned) last = Math.min(last, first.seq - 1);
  }
  return last;
}

export function firstOf({ positions }: Parts): number {
  return positions.reduce((first, position) => Math.min(first, position), Infinity);
}
