/** Compares a store's mark with its log, before the node follows the log. */
import { StoppedError } from './applier.js';
import type { JetStreamLog, LogState } from './jetstream.js';
import type { LogMark } from './mark.js';

/**
 * The log lacks entries that the store has applied, or has others in their places. It may become whole again: a server
 * that came back without its last entries gets them from the others.
 */
export class ShortLogError extends Error {}

/**
 * The position from which a store follows the log.
 * @param state of the log; null if JetStream has none
 * @param mark of the store; null if it has followed no log yet
 * @throws StoppedError if the log is not the one that the store has followed, or lacks what comes next
 * @throws ShortLogError
 */
export async function positionToFollow(
  log: JetStreamLog,
  state: LogState | null,
  mark: LogMark | null,
): Promise<number> {
  if (state !== null && state.fault !== null) throw new StoppedError(state.fault, true);
  if (mark === null) {
    const first = state?.first ?? 1;
    if (first <= 1) return 1;
    throw new StoppedError(`the log begins at entry ${first}: begin with a backup of a node`);
  }
  const { id, first, last } = state ?? { id: mark.logId, first: 1, last: 0 };
  const { position, entryId } = mark;
  if (mark.logId !== id) {
    throw new StoppedError('this is not the log that the store has followed');
  }
  const found = first <= position && last >= position ? await log.idAt(position) : entryId;
  // A server that lags behind the others may answer without having the entry yet.
  if (last < position || found === null) {
    throw new ShortLogError(
      `the log ends at entry ${Math.min(last, position - 1)}, and this node has applied ${position}`,
    );
  }
  if (first > position + 1) {
    throw new StoppedError(
      `the log begins at entry ${first}, and this node has applied ${position}: begin with a newer backup`,
    );
  }
  if (found !== entryId) {
    throw new ShortLogError(
      `the log's entry ${position} is not the one that this node has applied`,
    );
  }
  return position + 1;
}
