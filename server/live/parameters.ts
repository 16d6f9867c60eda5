/** The parameters of a depth subscription: those of the event stream, and of a message that subscribes. */
import Type, { type Static } from '../api/type.js';
import { CHAINS } from '../../compute/market.js';
import { instantOf, isoOf, HOUR_S } from '../../compute/time.js';
import { BASE_PATH, defineEndpoint } from '../api/endpoint.js';
import { invalidParameter } from '../api/errors.js';
import { instant } from '../api/schemas.js';
import { oldestServedS, viewParameters } from '../replay/parameters.js';

export const SOCKET_PATH = `${BASE_PATH}/stream`;
const MAX_CURSOR_CHARS = 200;
/** How far `from` may lie ahead: clocks differ, but a later time is a mistake, and nothing would ever be sent. */
const MAX_AHEAD_S = HOUR_S;

export const getStream = defineEndpoint({
  operationId: 'getStream',
  method: 'GET',
  path: '/stream/:address',
  tag: 'Depth',
  summary: 'Depth of one token as it changes',
  description: 'Server-Sent Events of history, revisions and new snapshots; see docs/live.md.',
  chain: { kind: 'none', at: { in: 'path', name: 'address' }, supported: CHAINS },
  query: Type.Object({
    from: instant(
      'Start of the history to send first, at most 365 days ago; an earlier time is raised to that, and `subscribed` then has `clamped`. Default: no history.',
      '-1h',
    ),
    cursor: Type.Optional(
      Type.String({
        maxLength: MAX_CURSOR_CHARS,
        description: 'Continues after the message with this cursor; not together with `from`.',
      }),
    ),
    ...viewParameters,
  }),
  response: Type.Object({}),
  errors: ['window_out_of_range'],
});

/** Where a subscription begins. */
export interface Beginning {
  fromS: number | null;
  /** Whether the client asked for an earlier time than `fromS`. */
  isClamped: boolean;
  cursor: string | null;
}

/** @throws ApiError 400 */
export function beginningOf(
  { from, cursor }: Pick<Static<(typeof getStream)['query']>, 'from' | 'cursor'>,
  nowS: number,
): Beginning {
  if (from === undefined) return { fromS: null, isClamped: false, cursor: cursor ?? null };
  if (cursor !== undefined) throw invalidParameter('cursor', 'cannot be combined with `from`');
  const askedS = Math.ceil(instantOf(from, nowS));
  if (askedS > nowS + MAX_AHEAD_S) {
    const expected = 'expected a time at most an hour ahead of now';
    throw invalidParameter('from', `${expected} (${isoOf(nowS)}); was ${isoOf(askedS)}`);
  }
  const fromS = clampedTime(askedS, nowS);
  return { fromS, isClamped: askedS < fromS, cursor: null };
}

/** Whether a cursor's time is within the limits of `from`. */
export const isInReach = (nextFromS: number, nowS: number): boolean =>
  nextFromS <= nowS + MAX_AHEAD_S;

/** A time, or the oldest one that is served. */
export const clampedTime = (timeS: number, nowS: number): number =>
  Math.max(timeS, oldestServedS(nowS), 0);
