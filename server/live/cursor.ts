/** The progress of a depth subscription, and its text: the `cursor` of every message. */
import { crc32 } from 'node:zlib';
import type { TokenName } from '../../storage/contract.js';

/** The times of a subscription: it is about `fromS` and later, and has snapshots before `nextFromS`. */
export type Span = Pick<Progress, 'fromS' | 'nextFromS'>;

/** A client has every snapshot `fromS <= t < nextFromS` as of commit `position`, except those of `pending`. */
export interface Progress {
  /** The history of commits that positions count: FollowedDepth.commitHistory. */
  history: string;
  /** The client has received the changes of all commits up to this one. */
  position: number;
  nextFromS: number;
  /** The subscription is about this time and later: the client gets no revisions of earlier snapshots. */
  fromS: number;
  /**
   * The client is receiving revisions of the commits after `position` up to `upTo`: it has those of times up to `doneT`,
   * and of the times up to `deletedT` it has the deletions.
   */
  pending: { upTo: number; doneT: number; deletedT: number } | null;
}

const VERSION = '1';
const RADIX = 36;

/** Writes and reads cursors of one token. */
export class Cursors {
  private readonly token: string;

  constructor({ chain, address }: TokenName) {
    this.token = nameOf(`${chain}:${address}`);
  }

  write(progress: Progress): string {
    return textOfParts([VERSION, nameOf(progress.history), this.token], progress);
  }

  /**
   * @param commitHistory the store's
   * @returns the progress; `other` if the cursor belongs to another token or another history of commits; null if no
   * server can have written it. Anyone can write its check: what a cursor says is a client's word, and its times have
   * limits like any other time that a client sends.
   */
  read(
    cursor: string,
    commitHistory: string,
  ): Progress | (Span & { other: 'token' | 'history' }) | null {
    const [version, history, token, ...rest] = cursor.split('.').slice(0, -1);
    const numbers = rest.map((part) => parseInt(part, RADIX));
    if (version !== VERSION || ![3, 5, 6].includes(numbers.length)) return null;
    if (!numbers.every((number) => Number.isSafeInteger(number) && number >= 0)) return null;
    const [position, nextFromS, fromS, ahead, doneT, deletedT = doneT] = numbers;
    const pending = numbers.length === 3 ? null : { upTo: position + ahead, doneT, deletedT };
    const progress = { history: commitHistory, position, nextFromS, fromS, pending };
    const isPossible =
      fromS <= nextFromS &&
      (pending === null ||
        // If deletions are ahead, the first snapshot may wait for them.
        (ahead > 0 && doneT >= (deletedT > doneT ? fromS - 1 : fromS) && deletedT < nextFromS));
    if (!isPossible || textOfParts([VERSION, history, token], progress) !== cursor) return null;
    if (token !== this.token) return { other: 'token', nextFromS, fromS };
    if (history !== nameOf(commitHistory)) return { other: 'history', nextFromS, fromS };
    return progress;
  }
}

/** The text of a progress, with its check. */
function textOfParts(
  names: readonly string[],
  { position, nextFromS, fromS, pending }: Omit<Progress, 'history'>,
): string {
  const numbers = [position, nextFromS, fromS];
  if (pending !== null) {
    const { upTo, doneT, deletedT } = pending;
    numbers.push(upTo - position, doneT);
    if (deletedT > doneT) numbers.push(deletedT);
  }
  const text = [...names, ...numbers.map(textOf)].join('.');
  return `${text}.${textOf(crc32(text))}`;
}

const textOf = (value: number): string => value.toString(RADIX);
const nameOf = (name: string): string => textOf(crc32(name));
