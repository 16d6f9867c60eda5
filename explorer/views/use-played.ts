/** Which ladder the page shows: that of the view's moment, or the one that playback has reached. */
import { useEffect, useState } from 'preact/hooks';
import type { Score } from '../../client/index.js';
import type { Ladder } from '../ladder/ladder.js';
import type { Played } from '../playback/playback.js';
import type { ShownMoment } from './use-moment.js';

export interface PlayedMoment {
  ladder: Ladder | null;
  /** Its time if it is pinned or played, epoch seconds; null: now. */
  t: number | null;
  /** Whether playback is running, or a step has not come to rest. */
  isMoving: boolean;
  /** Whether the ladder is playback's. */
  isPlayed: boolean;
  /** The ladder with the score of its snapshot, if that is known; null if there is no ladder. */
  moment: { ladder: Ladder; scored: Score | null } | null;
  onPlay: (played: Played | null) => void;
}

/** @param atS the view's moment, epoch seconds; null: now */
export function usePlayed(requested: ShownMoment, atS: number | null): PlayedMoment {
  const [played, onPlay] = useState<Played | null>(null);
  const { scored, isKnown, failure } = requested;
  const isMoving = played?.isMoving === true;
  // When playback ends at now, the last frame stays until the current data arrives.
  const isLast = played !== null && !isMoving && atS === null;
  const isOver = isKnown || failure !== null;
  useEffect(() => {
    if (isLast && isOver) onPlay(null);
  }, [isLast, isOver]);
  const isPlayed = played !== null && (isMoving || isLast || played.ladder.t === atS);
  const ladder = isPlayed ? played.ladder : requested.ladder;
  const t = isMoving ? played.ladder.t : atS;
  const isScored = !isMoving && scored !== null && scored.data_time === ladder?.t;
  const moment = ladder && { ladder, scored: isScored ? scored : null };
  return { ladder, t, isMoving, isPlayed, moment, onPlay };
}
