/** Deletes depth of a token, by the commit that an ingest uses. */
import type { Removed } from '../compute/segment/remove.js';
import type { DeleteFrame } from './bundle.js';
import { commitOrRehearse, type UseStore } from './ingest/ingest.js';
import { withBundle } from './ingest/prepared.js';

interface DeleteRequest extends Omit<DeleteFrame, 'kind'> {
  /** The data directory; it holds a store. */
  directory: string;
  useStore: UseStore;
  /** Counts what would be deleted, and leaves it. */
  dryRun: boolean;
}

/** @throws InputError if the store does not know the token, or a market | StoreBusyError */
export async function deleteDepth(request: DeleteRequest): Promise<Removed> {
  const { directory, useStore, dryRun, ...what } = request;
  const { bundle } = await withBundle({ directory, file: 'delete', mode: 'replace' }, (writer) =>
    writer.write({ kind: 'delete', ...what }),
  );
  try {
    const { deleted } = await commitOrRehearse(useStore, bundle.name, dryRun);
    return deleted;
  } finally {
    await bundle.discard();
  }
}
