/** Runs the archive in a server, with lines about what it does. */
import { isoOf } from '../compute/time.js';
import { ArchiveWorker } from '../storage/archive/archive-worker.js';
import type { LogNode } from '../storage/log/node.js';
import type { Store } from '../storage/store.js';
import type { Logger } from './logger.js';

/** Starts moving closed days into the archive; null if none is configured. */
export async function startArchiving({
  store,
  node,
  logger,
}: {
  store: Store;
  /** The server's cluster node and its name; null: a single server. */
  node: { log: LogNode; name: string } | null;
  logger: Logger;
}): Promise<ArchiveWorker | null> {
  const { archiver } = store;
  if (archiver === null) {
    const { objects, place } = await store.archiveStatus();
    if (objects > 0) {
      const read = place === null ? 'they cannot be read' : `they are read in ${place}`;
      logger.warn(
        `${objects} archived days, but no archive is configured: ${read}, and no further day is archived; give --archive-url`,
      );
    }
    return null;
  }
  return new ArchiveWorker({
    archiver,
    submit: (day) => (node?.log ?? store).archive(day),
    mayCollect: () =>
      (node?.log.checkCurrent() ?? namesAll(store)).then(
        () => true,
        () => false,
      ),
    node: node?.name ?? null,
    onArchived: ({ days, bytes }) => logger.info('days archived', { days, bytes }),
    onCollected: (objects) => logger.info('objects of the archive removed', { objects }),
    onNotOwner: ({ message }) => logger.warn(message),
    onError: (error, { tokenId, tier, dayS }) =>
      logger.error(
        'a day cannot be archived',
        { token_id: tokenId, tier, day: isoOf(dayS).slice(0, 10) },
        error,
      ),
    onTrouble: (error) => logger.error('archiving fails and is tried again', {}, error),
    onResume: () => logger.info('archiving resumes'),
  });
}

/**
 * Warns if the archive cannot be read: its address may be mistyped, or its disk not mounted.
 * @returns what silences it
 */
export function tryArchive(store: Store, logger: Logger): () => void {
  let isClosing = false;
  void store.archiveProblem().then((cause) => {
    if (cause !== null && !isClosing) logger.warn('the archive cannot be read', { cause });
  });
  return () => {
    isClosing = true;
  };
}

async function namesAll(store: Store): Promise<void> {
  await Promise.resolve();
  store.checkNamesAll();
}
