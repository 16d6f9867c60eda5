/** Log lines and metrics about the store's disk. */
import type { DiskFigures, RoomListener, WaitsForRoom } from '../../storage/duckdb/disk-room.js';
import type { Logger } from '../logger.js';
import type { Gauges } from './metrics.js';

const LINES: Readonly<Record<WaitsForRoom, { began: string; over: string }>> = {
  checkpoints: {
    began: 'checkpoints are postponed: the disk has too little space',
    over: 'checkpoints are no longer postponed',
  },
  commits: { began: 'commits are refused: the disk is full', over: 'commits are accepted again' },
};

/** Logs once when checkpoints or commits find too little space, and once when they find enough again. */
export function shortageLines(logger: Logger): NonNullable<RoomListener['onShortage']> {
  return (what, shortage) => {
    const { began, over } = LINES[what];
    if (shortage === null) logger.info(over);
    else {
      const { freeBytes, walBytes, neededBytes } = shortage;
      logger.warn(began, {
        free_bytes: freeBytes,
        wal_bytes: walBytes,
        checkpoint_needs_bytes: neededBytes,
      });
    }
  };
}

/** Logs once when fragments can no longer be written to files, and once when they can again. */
export function fragmentTroubleLines(logger: Logger): (error: unknown) => void {
  return (error) => {
    if (error === null) logger.info('fragments are written to disk again');
    else {
      const cause = error instanceof Error ? error.message : 'unknown';
      logger.warn('fragments are no longer written to disk: pages are made without', { cause });
    }
  };
}

export function diskGauges(disk: () => Promise<DiskFigures>) {
  const figure = (name: keyof DiskFigures) => async () => (await disk())[name];
  return {
    diskFreeBytes: figure('freeBytes'),
    diskBytes: figure('totalBytes'),
    storeWalBytes: figure('walBytes'),
    checkpointsPostponed: figure('checkpointsPostponed'),
    commitsRefused: figure('commitsRefused'),
  } satisfies Partial<Gauges>;
}
