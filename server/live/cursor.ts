/** The progress of a depth subscription, and its text: the `cursor` of every message. */
import { crc32 } from 'node:zlib';
import type { TokenName } from '../../storage/contract.js';

/** A client has every snapshot `fromS <= t < nextFromS` as of commit `position`, except those of `pending`. */
export interface Progress {
  /** The client has received the changes of all commits up to this one. */
  position: number;
  nextFromS: number;
  /** The client gets no revisions of earlier snapshots. */
  fromS: number;
  /** The client is receiving revisions of the commits after `position` up to `upTo`, and has those of times up to `doneT`. */
  pending: { upTo: number; doneT: number } | null;
}

const VERSION = '1';
const RADIX = 36;

/** Writes and reads cursors of one token in one history of commits. */
export class Cursors {
  private readonly names: string;

  constructor(commitHistory: string, { chain, address }: TokenName) {
    this.names = [commitHistory, `${chain}:${address}`]
      .map((name) => textOf(crc32(name)))
      .join('.');
  }

  write({ position, nextFromS, fromS, pending }: Progress): string {
    const numbers = [position, nextFromS, fromS];
    if (pending !== null) numbers.push(pending.upTo - position, pending.doneT);
    const text = [VERSION, this.names, ...numbers.map(textOf)].join('.');
    return `${text}.${textOf(crc32(text))}`;
  }

  /**
   * @returns the progress; `other` if the cursor belongs to another token or another history of commits; null if no
   * server wrote it
   */
  read(cursor: string): Progress | { other: 'token' | 'history'; nextFromS: number } | null {
    const end = cursor.lastIndexOf('.');
    const text = cursor.slice(0, end);
    if (end < 0 || textOf(crc32(text)) !== cursor.slice(end + 1)) return null;
    const [version, history, token, ...rest] = text.split('.');
    const numbers = rest.map((part) => parseInt(part, RADIX));
    if (version !== VERSION || (numbers.length !== 3 && numbers.length !== 5)) return null;
    const [position, nextFromS, fromS, ahead, doneT] = numbers;
    const [ownHistory, ownToken] = this.names.split('.');
    if (token !== ownToken) return { other: 'token', nextFromS };
    if (history !== ownHistory) return { other: 'history', nextFromS };
    const pending = numbers.length === 3 ? null : { upTo: position + ahead, doneT };
    return { position, nextFromS, fromS, pending };
  }
}

const textOf = (value: number): string => value.toString(RADIX);
