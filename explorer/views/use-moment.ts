/** What the page knows of the moment that it shows: the score and the ladder, or why there are none. */
import { useMemo } from 'preact/hooks';
import type { AddressClient } from '../../client/address-client.js';
import type { FathomError, Score } from '../../client/index.js';
import { type Ladder, type LadderFilter, newestLadder } from '../ladder/ladder.js';
import { lastChange } from '../state/live.js';
import { leastReloadMs, useDocument, useLast } from '../state/load.js';
import { pause } from '../state/pause.js';

/** The most requests for the score of a new snapshot. */
const SCORE_TRIES = 5;

interface MomentSource {
  address: string;
  /** Epoch seconds; null: now. */
  atS: number | null;
  filter: LadderFilter;
}

/** The answers about the previous moment stay until the new moment's request succeeds or fails. */
export interface ShownMoment {
  /** A score of any moment, for the token's symbol and name. */
  identity: Score | null;
  score: Score | null;
  /** Time of the snapshot on which the score is based; null if there is none. */
  t: number | null;
  ladder: Ladder | null;
  /** The types and venues to choose from, according to the last ladder of any moment. */
  choices: Ladder['choices'] | null;
  /** Venues of the filter that the snapshot does not have. */
  notFound: readonly string[];
  /** Whether the snapshot has those venues, but no depth that matches the filter. */
  matchesNone: boolean;
  /** Whether score and ladder are those of this moment. */
  isKnown: boolean;
  /** Why there is no score. */
  error: FathomError | null;
  /** Why the score or the ladder of this moment is missing; null while it is requested. */
  failure: FathomError | null;
  /** The score of this moment; null if it is not known yet. */
  scored: Score | null;
}

export function useMoment({ address, atS, filter }: MomentSource): ShownMoment {
  const { document: scored, error } = useDocument(
    `score ${address} ${atS}`,
    (client, signal) =>
      atS === null
        ? scoreAfter(lastChange.value?.t ?? 0, client, address, signal)
        : client.getScore({ address, explain: true, at: atS }, { signal }),
    atS === null ? 'by change' : 'never',
  );
  // The reply that refuses a moment does not name the token.
  const { document: named } = useDocument(
    atS !== null && error?.status === 400 ? `name ${address}` : null,
    (client, signal) => client.getScore({ address }, { signal }),
    'never',
  );
  const last = useLast(scored, address);
  const identity = last ?? named;
  const score = error === null ? last : scored;
  const t = score?.data_time ?? null;
  const filterName = JSON.stringify(filter);
  const { document: newest, error: noLadder } = useDocument(
    t === null ? null : `ladder ${address} ${t}`,
    (client, signal) => {
      const from = t ?? 0;
      return client.getReplay({ address, from, to: from + 1, group: 'venue' }, { signal });
    },
    'never',
  );
  const newLadder = useMemo(() => newest && newestLadder(newest, filter), [newest, filterName]);
  const lastLadder = useLast(newLadder, address);
  const ownLadder = useLast(scored && newLadder, `${address} ${atS} ${filterName}`);
  const ladder = t === null ? null : noLadder === null ? lastLadder : ownLadder;
  const notFound = venuesWithout(newLadder, filter);
  return {
    identity,
    score,
    scored,
    t,
    ladder,
    error,
    choices: lastLadder?.choices ?? null,
    notFound,
    matchesNone: notFound.length === 0 && newLadder !== null && hasNoDepth(newLadder, filter),
    isKnown: scored !== null && newLadder !== null,
    failure: scored === null ? error : ladder === null ? noLadder : null,
  };
}

/** The venues of the filter without depth in a snapshot. */
function venuesWithout(ladder: Ladder | null, { venues = [] }: LadderFilter): string[] {
  if (ladder === null) return [];
  return venues.filter((venue) => !ladder.choices.venues.some(({ key }) => key === venue));
}

/** Whether a filter leaves nothing of a snapshot, as a type and a venue of another type do. */
const hasNoDepth = (
  { supportUsd, resistanceUsd }: Pick<Ladder, 'supportUsd' | 'resistanceUsd'>,
  { types, venues, exclude_venues: excluded }: LadderFilter,
): boolean =>
  (types ?? venues ?? excluded) !== undefined &&
  [supportUsd, resistanceUsd].every((side) => !side.some(Boolean));

/** The score once it is based on a snapshot of this time or later: the server needs a moment for that. */
async function scoreAfter(
  t: number,
  client: AddressClient,
  address: string,
  signal: AbortSignal,
): Promise<Score> {
  for (let tries = 1; ; tries++) {
    const score = await client.getScore({ address, explain: true }, { signal });
    if ((score.data_time ?? 0) >= t || tries === SCORE_TRIES) return score;
    await pause(leastReloadMs(), signal);
  }
}
