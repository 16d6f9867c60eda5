/** Where a depth subscription stands among the store's changes, and its text: the `cursor` of every message. */
import { crc32 } from 'node:zlib';
import type { TokenName } from '../../storage/contract.js';

/** A client has every snapshot `fromS <= t < nextFromS` as of commit `position`, except those of `pending`. */
export interface Standing {
  /** The client has had all commits up to this one. */
  position: number;
  nextFromS: number;
  /** The client gets no revisions of earlier snapshots. */
  fromS: number;
  /** Revisions of the commits after `position` up to `upTo`, of which the client has had those up to `doneT`; else null. */
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

  write({ position, nextFromS, fromS, pending }: Standing): string {
    const numbers = [position, nextFromS, fromS];
    if (pending !== null) numbers.push(pending.upTo - position, pending.doneT);
    const text = [VERSION, this.names, ...numbers.map(textOf)].join('.');
    return `${text}.${textOf(crc32(text))}`;
  }

  /**
   * @returns the standing; `other` where the cursor is of another token, or of another history of commits, with the
   * time from which new snapshots go on; null where this server has never written it
   */
  read(cursor: string): Standing | { other: 'token' | 'history'; nextFromS: number } | null {
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
