/** Work that ends in time. */

/**
 * Runs `work` with a signal that aborts with `stop`, or after `timeoutMs`; then it is waited for no longer.
 * `AbortSignal.any` with `AbortSignal.timeout` would not do: Node 20 may collect the timeout before it fires.
 * @throws what `work` throws; the reason of `stop`; a TimeoutError
 */
export async function withTimeout<T>(
  stop: AbortSignal,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  stop.throwIfAborted();
  const over = new AbortController();
  const end = (): void => over.abort(stop.reason);
  stop.addEventListener('abort', end, { once: true });
  const late = new DOMException(`no answer within ${timeoutMs / 1000} s`, 'TimeoutError');
  const timer = setTimeout(() => over.abort(late), timeoutMs);
  const ended = new Promise<never>((_, fail) => {
    over.signal.addEventListener('abort', () => fail(over.signal.reason as Error));
  });
  try {
    return await Promise.race([work(over.signal), ended]);
  } finally {
    clearTimeout(timer);
    stop.removeEventListener('abort', end);
  }
}
