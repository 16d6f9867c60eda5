/** Follows the token in sight: when its depth changes, and whether the server responds. */
import { FathomError } from '../../client/index.js';
import { pause } from './pause.js';
import { currentClient, tryAgain } from './session.js';
import { Value } from './value.js';

/** The server sends a heartbeat after 5 s: a follower that receives nothing for this long is not live. */
const SILENCE_MS = 12_000;
/** Time between two loads while changes are reported, for data that changes without a snapshot. */
const HEARD_RELOAD_MS = 120_000;

/**
 * `none`: no token is followed; `silent`: heartbeats are missing, or the server refuses to be followed; `heard`: all is
 * well.
 */
export type Connection = 'none' | 'silent' | 'heard';
export const connection = new Value<Connection>('none');

/** Whether the newest snapshot of the token in sight is older than usual. */
export const hasOldData = new Value(false);

/** The newest change: the time of its snapshot, epoch seconds. Each change is a new object. */
export const lastChange = new Value<{ t: number } | null>(null);

/**
 * Follows a token until the signal is aborted. It never fails: if no stream is available, the page polls.
 *
 * @param what the token's changes, or only whether the server responds
 */
export async function followToken(
  address: string,
  signal: AbortSignal,
  what: 'changes' | 'server' = 'changes',
): Promise<void> {
  const client = currentClient();
  if (client === null) return;
  let silence: ReturnType<typeof setTimeout> | undefined;
  const listen = (): void => {
    clearTimeout(silence);
    silence = setTimeout(() => connection.set('silent'), SILENCE_MS);
  };
  lastChange.set(null);
  listen();
  try {
    for await (const message of client.follow(
      address,
      { group: 'all' },
      { heartbeats: true, signal },
    )) {
      connection.set('heard');
      listen();
      if (message.type === 'snapshots' || message.type === 'revised') {
        lastChange.set({ t: Math.max(...message.snapshots.map(({ t }) => t)) });
      } else if (message.type !== 'heartbeat') lastChange.set({ t: message.next_from - 1 });
    }
  } catch (error) {
    // A wrong address says nothing about the server, and a refusal only that it responds.
    const status = error instanceof FathomError ? error.status : null;
    const isAnswer = status === 400 || (what === 'server' && status !== null);
    if (!signal.aborted) connection.set(isAnswer ? 'none' : 'silent');
    retryIfRefused(error, signal);
  } finally {
    clearTimeout(silence);
    if (signal.aborted) connection.set('none');
  }
}

/** If the key has ended, the next request says why. @param error that ended a stream */
function retryIfRefused(error: unknown, signal: AbortSignal): void {
  if (!signal.aborted && error instanceof FathomError && error.status === 401) tryAgain();
}

/** Runs `work` while the page is visible, again each time it becomes visible. @returns a function that ends it */
export function whileVisible(work: (signal: AbortSignal) => Promise<void>): () => void {
  let stopped = new AbortController();
  const begin = (): void => {
    stopped.abort();
    stopped = new AbortController();
    if (document.visibilityState === 'visible') void work(stopped.signal);
  };
  begin();
  document.addEventListener('visibilitychange', begin);
  return () => {
    document.removeEventListener('visibilitychange', begin);
    stopped.abort();
  };
}

/**
 * Waits for the next change of the token in sight, or for the next poll.
 *
 * @param leastMs the least time between two loads
 * @param pollMs the time between two polls if no change is reported
 * @throws the signal's reason
 */
export async function changed(leastMs: number, pollMs: number, signal: AbortSignal): Promise<void> {
  const seen = lastChange.value;
  await pause(leastMs, signal);
  if (lastChange.value !== seen) return;
  const waiting = new AbortController();
  const wake = (): void => waiting.abort();
  const stops = [lastChange.follow(wake), connection.follow(wake)];
  const restMs = connection.value === 'heard' ? HEARD_RELOAD_MS : pollMs;
  try {
    await pause(Math.max(0, restMs - leastMs), AbortSignal.any([signal, waiting.signal]));
  } catch {
    signal.throwIfAborted();
  } finally {
    for (const stop of stops) stop();
  }
}
