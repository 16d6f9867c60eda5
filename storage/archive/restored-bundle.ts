/** Bundles that bring archived segments back into the store. */
import type { Tier } from '../../compute/market.js';
import { DAY_S, isoOf } from '../../compute/time.js';
import { BUNDLE_VERSION, BundleWriter, type RestoredFrame } from '../bundle.js';
import { type Catalog, tokenKey } from '../depth/catalog.js';
import { firstT, lastT } from '../depth/directory.js';
import { readStoredBlocks, storedSegments } from '../depth/segments.js';
import type { Database } from '../duckdb/database.js';
import { ArchivedSegmentsError, DiskFullError, InputError, isDiskFull } from '../errors.js';
import { shellWord } from '../shell-word.js';
import type { Archive } from './archive.js';
import type { ArchivedNeed } from './archived-needs.js';
import { ObjectFaultError } from './objects.js';

interface RestoredSource {
  directory: string;
  database: Database;
  catalog: Catalog;
  archive: Archive;
}

/**
 * Reads the blocks of archived segments, verified, into a finished bundle of the staging folder.
 * @throws ArchiveUnavailableError if an object cannot be read
 * @throws InputError with the ways out if one is gone or damaged
 * @throws ArchivedSegmentsError if a commit has removed one of them meanwhile
 */
export async function bundleOfArchived(
  needs: readonly ArchivedNeed[],
  source: RestoredSource,
): Promise<BundleWriter> {
  const { directory, database, archive } = source;
  const ids = needs.map(({ ref }) => ref.segmentId);
  const blocks = await readStoredBlocks(database, ids, archive).catch(async (error: unknown) => {
    throw await lostObject(error, needs, source);
  });
  if (blocks.size < ids.length) {
    const stored = await storedSegments(database, ids);
    const gone = needs.find(({ ref }) => !stored.has(ref.segmentId)) ?? needs[0];
    throw new ArchivedSegmentsError(`${textOf(gone)} have changed meanwhile: try again`);
  }
  const frames = new Map<
    string,
    RestoredFrame & { segments: { firstS: number; block: Uint8Array }[] }
  >();
  for (const { token, tier, ref } of needs) {
    const name = `${tokenKey(token.chain, token.address)} ${tier}`;
    const frame = frames.get(name) ?? { kind: 'restored' as const, ...token, tier, segments: [] };
    frames.set(name, frame);
    frame.segments.push({ firstS: firstT(ref), block: blocks.get(ref.segmentId)!.block });
  }
  const bundle = await BundleWriter.create(directory);
  try {
    await bundle.write({
      kind: 'header',
      version: BUNDLE_VERSION,
      file: 'archive',
      mode: 'replace',
    });
    for (const frame of frames.values()) await bundle.write(frame);
    await bundle.finish();
    return bundle;
  } catch (error) {
    await bundle.discard();
    throw isDiskFull(error) ? new DiskFullError(directory) : error;
  }
}

/**
 * The error to throw after a failure to read the blocks of archived segments: for an object that is gone or damaged, one
 * that names its snapshots and the ways out.
 */
export async function lostObject(
  error: unknown,
  needs: readonly ArchivedNeed[],
  { directory, database, catalog, archive }: RestoredSource,
): Promise<unknown> {
  if (!(error instanceof ObjectFaultError)) return error;
  for (const need of needs) {
    try {
      await readStoredBlocks(database, [need.ref.segmentId], archive);
    } catch (fault) {
      if (!(fault instanceof ObjectFaultError)) return fault;
      const { token, tier, ref } = need;
      const tokenId = catalog.token(token.chain, token.address)?.tokenId ?? null;
      // All segments of the object are lost.
      const dayS = firstT(ref) - (firstT(ref) % DAY_S);
      const windows = await archive.windows(database, tokenId, [dayS, dayS + DAY_S]);
      const isOfObject = (own: { tier: Tier; fromS: number; toS: number }): boolean =>
        own.tier === tier && own.fromS <= firstT(ref) && own.toS > firstT(ref);
      const { fromS, toS } = windows.find(isOfObject) ?? {
        fromS: firstT(ref),
        toS: lastT(ref) + 1,
      };
      return new InputError(
        `${fault.message}; this change needs ${textOf(need)}, so nothing was stored: put the object back from a copy of the archive, or delete its snapshots, then load them again: fathom delete --data ${shellWord(directory)} --token ${tokenKey(token.chain, token.address)} --tier ${tier} --from ${isoOf(fromS)} --to ${isoOf(toS)}`,
      );
    }
  }
  return error;
}

function textOf({ token, tier, ref }: ArchivedNeed): string {
  return `the ${tier} snapshots of ${tokenKey(token.chain, token.address)} from ${isoOf(firstT(ref))} to ${isoOf(lastT(ref))}`;
}
