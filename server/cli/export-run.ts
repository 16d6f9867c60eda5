/** What `fathom export` and `fathom sql` share: the window, and a run into a folder. */
import { MAX_T_S } from '../../compute/ingest/fields.js';
import { DEFAULT_MAX_PCT, DEFAULT_MIN_PCT } from '../../compute/ladder.js';
import { UsageError } from '../../storage/errors.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { exportStore, Seen } from '../../storage/export/export.js';
import type { ExportCounts, ExportRequest } from '../../storage/export/job.js';
import { ExportFolder } from '../../storage/export/folder.js';
import type { ExportView } from '../../storage/export/layout.js';
import type { UseStore } from '../../storage/operations.js';
import { systemClock } from '../clock.js';

/** What `/replay` shows by default. */
export const VIEW_OF_REPLAY: ExportView = {
  group: 'market',
  min_pct: DEFAULT_MIN_PCT,
  max_pct: DEFAULT_MAX_PCT,
  step_s: null,
};

type Window = Pick<ExportRequest, 'fromS' | 'toS' | 'nowS'>;

interface WindowFlags {
  /** Times at a `nowS`; see instantBy(). */
  from: ((nowS: number) => number) | undefined;
  to: ((nowS: number) => number) | undefined;
  /** Default: the system's clock. */
  'as-of'?: number | undefined;
}

/**
 * The window of --from and --to, by default up to now.
 * @param defaultLengthS its length without --from; default: everything
 * @throws UsageError
 */
export function windowOf(
  { from, to, 'as-of': asOfS }: WindowFlags,
  defaultLengthS = Infinity,
): Window {
  const nowS = Math.floor(asOfS ?? systemClock.nowS());
  const toS = Math.min(Math.ceil(to?.(nowS) ?? nowS + 1), MAX_T_S + 1);
  const fromS = Math.ceil(from?.(nowS) ?? Math.max(0, toS - defaultLengthS));
  if (fromS >= toS) throw new UsageError('--from: expected a time before --to');
  return { fromS, toS, nowS };
}

/** How often an export that follows looks for changes. */
const FOLLOW_EVERY_MS = 5000;

/**
 * Brings a folder up to date again and again, until `stop` aborts. Each round looks only at what has changed.
 * @param requestNow the request at a moment
 * @param onRound called after a round that has changed something
 * @throws what the first round throws; later failures go to `onFailure`, and the next round tries again
 */
export async function followStore(
  useStore: UseStore,
  out: string,
  requestNow: () => Omit<ExportRequest, 'folder'>,
  onRound: (counts: ExportCounts) => void,
  onFailure: (error: unknown) => void,
  stop: AbortSignal | undefined,
): Promise<void> {
  const folder = await ExportFolder.open(out, requestNow().view);
  const seen = new Seen();
  const isStopped = (): boolean => stop?.aborted === true;
  try {
    for (let isFirst = true; !isStopped(); isFirst = false) {
      try {
        const request = { folder, ...requestNow() };
        const counts = await useStore((store) => exportStore(request, store, seen));
        if (isFirst || counts.written + counts.removed > 0) onRound(counts);
      } catch (error) {
        if (isFirst || isStopped()) throw error;
        onFailure(error);
      }
      await sleep(FOLLOW_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
    }
  } finally {
    await folder.close();
  }
}

/** Opens a folder and brings it up to date once. */
export async function exportDepth(
  useStore: UseStore,
  out: string,
  request: Omit<ExportRequest, 'folder'>,
): Promise<ExportCounts> {
  const folder = await ExportFolder.open(out, request.view);
  return useStore((store) => exportStore({ folder, ...request }, store)).finally(() =>
    folder.close(),
  );
}
