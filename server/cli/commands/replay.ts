/** `fathom replay ADDRESS`: a client of a running server. */
import { download, type DownloadResult, type ReplayState } from '../../client/download.js';
import { ReplayError } from '../../client/errors.js';
import { fetchPage } from '../../client/fetch-page.js';
import type { RetryKind } from '../../client/retry.js';
import { Progress, count, printJson, tell } from '../output.js';
import { REPLAY_USAGE, replayOptions, type ReplayOptions } from '../replay-options.js';

export const command = { usage: REPLAY_USAGE, run: replay };

/** What the progress line says while the server lets a client wait. */
const WAITS = { busy: 'waiting, replay is busy', limited: 'waiting for the rate limit' } as const;

/** @throws UsageError | ReplayError */
export async function replay(words: readonly string[]): Promise<void> {
  const options = replayOptions(words);
  const startedMs = performance.now();
  const result = await interruptible((signal) => run(options, signal));
  const seconds = (performance.now() - startedMs) / 1000;
  tell(resultText(options, result, seconds));
  if (options.json) printJson(jsonResult(options, result, seconds));
}

/** The first SIGINT or SIGTERM ends the run in good order, a second one at once. */
async function interruptible<T>(body: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupt = new AbortController();
  const stop = (): void => {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
    interrupt.abort(new ReplayError('interrupted'));
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  try {
    return await body(interrupt.signal);
  } finally {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
  }
}

async function run(options: ReplayOptions, signal: AbortSignal): Promise<DownloadResult> {
  const { request, format, out, key, force, restart } = options;
  const progress = new Progress();
  let state: ReplayState | null = null;
  const onWait = (kind: RetryKind, text: string): void => {
    if (kind !== 'connection') {
      if (state !== null) progress.bar(share(state), `${progressText(state)}; ${WAITS[kind]}`);
      return;
    }
    progress.end();
    tell(text);
  };
  try {
    return await download({
      request,
      format,
      out,
      force,
      restart,
      fetchPage: (url) => fetchPage(url, { key, signal, onWait }),
      onProgress(now) {
        state = now;
        progress.bar(share(now), progressText(now));
      },
    });
  } catch (error) {
    // Whatever fails after the signal fails because of it.
    const cause: unknown = signal.aborted ? signal.reason : error;
    throw cause instanceof ReplayError ? withWayOn(cause, state) : cause;
  } finally {
    progress.end();
  }
}

/** Says how to go on after pages have come in. */
function withWayOn(error: ReplayError, state: ReplayState | null): ReplayError {
  const { totals, rest } = state ?? { totals: null, rest: null };
  if (totals === null || rest === null || !error.resumable) return error;
  return new ReplayError(
    `${error.message}; ${count(totals.pages)} pages are kept, the same command goes on from ${iso(rest.from)}`,
  );
}

/** Share of the window's time that is in. */
function share({ totals, rest, paged }: ReplayState): number {
  if (paged || totals === null || rest === null) return paged ? 1 : 0;
  const { from, to } = totals.head.window;
  return (rest.from - from) / (to - from);
}

function progressText({ totals, rest }: ReplayState): string {
  if (totals === null) return 'first page';
  const upTo = rest === null ? '' : `, up to ${iso(rest.from)}`;
  return `${count(totals.pages)} pages, ${count(totals.cells)} cells${upTo}`;
}

function resultText(
  { format, out }: ReplayOptions,
  { totals, resumedPages }: DownloadResult,
  seconds: number,
): string {
  const { pages, snapshots, cells, head } = totals;
  const notes = [
    ...(resumedPages === 0 ? [] : [`${count(resumedPages)} of the pages from an earlier run`]),
    ...(head.window.clamped ? ['the window was clamped to the last 365 days'] : []),
    ...(snapshots === 0 ? ['no snapshots in the window'] : []),
    ...(totals.venuesNotFound.length === 0
      ? []
      : [`venues not found: ${totals.venuesNotFound.join(', ')}`]),
  ];
  const noted = notes.length === 0 ? '' : ` (${notes.join('; ')})`;
  return `${out}: ${count(snapshots)} snapshots, ${count(cells)} cells of ${count(pages)} pages as ${format} in ${seconds.toFixed(1)} s${noted}`;
}

function jsonResult(
  { format, out }: ReplayOptions,
  { totals, bytes, resumedPages }: DownloadResult,
  seconds: number,
): object {
  const { head, pages, snapshots, cells } = totals;
  const { window } = head;
  return {
    out,
    format,
    bytes,
    token: head.token,
    ...(head.resolved_token === undefined ? {} : { resolved_token: head.resolved_token }),
    chain: head.chain,
    group: head.group,
    from: window.from,
    to: window.to,
    clamped: window.clamped,
    served_from: totals.servedFrom,
    served_to: totals.servedTo,
    venues_not_found: totals.venuesNotFound,
    pages,
    resumed_pages: resumedPages,
    snapshots,
    cells,
    seconds,
  };
}

function iso(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toISOString().replace('.000Z', 'Z');
}
