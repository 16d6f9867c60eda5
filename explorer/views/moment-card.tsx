/** Says which moment the panels below show if it is not now, or why they show none. */
import type { FathomError } from '../../client/index.js';
import { absoluteTime } from '../state/format.js';
import { currentS } from '../state/clock.js';
import { REACH_S, TOO_OLD } from '../state/requests.js';
import { isTransient, messageOf, tryAgain } from '../state/session.js';

interface MomentCardProps {
  /** The moment pinned or played; null: now. */
  shownT: number | null;
  /** Time of its snapshot; null if there is none. */
  dataT: number | null;
  /** Whether playback shows it. */
  isMoving: boolean;
  /** Whether the moment's answer is here. */
  isAnswered: boolean;
  failure: FathomError | null;
  onNow: () => void;
}

export function MomentCard(props: MomentCardProps) {
  const { shownT, dataT, isMoving, isAnswered, failure, onNow } = props;
  if (shownT === null && failure === null) return null;
  const isFailed = !isMoving && failure !== null;
  const isTooOld = failure?.status === 400 && shownT !== null && shownT < currentS() - REACH_S;
  return (
    // Screen readers announce the moment only once playback has stopped.
    <p class="card pinned" role={isMoving ? undefined : 'status'}>
      <span>
        {isFailed ? (
          <>
            {shownT !== null && (
              <>
                Nothing at <b>{absoluteTime(shownT)}</b>:{' '}
              </>
            )}
            {isTooOld ? TOO_OLD : messageOf(failure)}
          </>
        ) : (
          shownT !== null && (
            <>
              {isAnswered && dataT === null && !isMoving ? 'No snapshot until' : 'At'}{' '}
              <b>{absoluteTime(isMoving ? shownT : (dataT ?? shownT))}</b>
            </>
          )
        )}
      </span>
      {isFailed && isTransient(failure) && (
        <button type="button" class="tool" onClick={tryAgain}>
          Try again
        </button>
      )}
      {shownT !== null && (
        <button type="button" class="tool" onClick={onNow}>
          Back to now
        </button>
      )}
    </p>
  );
}
