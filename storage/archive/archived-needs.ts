/**
 * Finds the archived segments whose blocks a change reads. They come back into the store before the change enters the log:
 * so no entry needs the archive, and the nodes of a cluster take it alike wherever its objects are.
 */
import { type Tier, TIERS } from '../../compute/market.js';
import { firstFrom } from '../../compute/search.js';
import type { Frame } from '../bundle.js';
import type { TokenName } from '../contract.js';
import { withRemedy } from '../damaged-span.js';
import type { Catalog } from '../depth/catalog.js';
import { isInside } from '../depth/depth-commit.js';
import type { Directories } from '../depth/directories.js';
import {
  type Directory,
  EMPTY_DIRECTORY,
  firstT,
  lastT,
  overlapping,
  type SegmentRef,
} from '../depth/directory.js';
import type { Cutoffs, RetentionStep } from '../depth/retention-steps.js';
import type { ArchiveWindow } from './archived-day.js';

/** Segments that come back in one transaction: their blocks are in memory together. */
const MAX_SEGMENTS_AT_ONCE = 64;

/** An archived segment whose block a change reads. */
export interface ArchivedNeed {
  token: TokenName;
  tier: Tier;
  ref: SegmentRef;
}

export class ArchivedNeeds {
  /** By segment id. */
  private readonly found = new Map<number, ArchivedNeed>();

  constructor(
    private readonly catalog: Catalog,
    private readonly directories: Directories,
  ) {}

  /** Adds what a bundle's frame reads. */
  async addFrame(frame: Frame): Promise<void> {
    if (frame.kind === 'segment') {
      const { times } = frame.segment;
      const isTouched = (ref: SegmentRef): boolean =>
        times[firstFrom(times, firstT(ref))] <= lastT(ref);
      const window = { fromS: times[0], toS: times[times.length - 1] + 1 };
      this.add(frame, await this.directory(frame), frame.tier, window, isTouched);
    } else if (frame.kind === 'delete') {
      const { fromS, toS } = frame;
      const removal = { fromS, toS, markets: frame.markets && new Uint8Array(0) };
      const directory = await this.directory(frame);
      for (const tier of frame.tier === null ? TIERS : [frame.tier]) {
        this.add(frame, directory, tier, { fromS, toS }, (ref) => !isInside(ref, removal));
      }
    }
  }

  /** Adds what a step of retention reads, when it is taken up to `cutoffs`. */
  async addRetirement(
    token: TokenName,
    { copies }: RetentionStep,
    cutoffs: Cutoffs,
  ): Promise<void> {
    const directory = await this.directory(token);
    for (const { from, tier, t } of copies) {
      this.add(token, directory, 'raw', spanOf(from), (ref) => ref === from);
      this.add(token, directory, tier, { fromS: t, toS: t + 1 });
    }
    for (const tier of TIERS) this.addSpanning(token, directory, tier, cutoffs[tier]);
  }

  /** Adds what putting an object in the place of a window reads. */
  async addEnds({ token, tier, fromS, toS }: ArchiveWindow): Promise<void> {
    const directory = await this.directory(token);
    for (const t of [fromS, toS]) this.addSpanning(token, directory, tier, t);
  }

  /** Adds all segments with a snapshot in a window, or in their span. */
  async addWindow({ token, tier, ...window }: ArchiveWindow): Promise<void> {
    this.add(token, await this.directory(token), tier, window);
  }

  /** The segments in groups, each of which comes back in one transaction. */
  *groups(): Generator<ArchivedNeed[]> {
    const all = [...this.found.values()];
    for (let at = 0; at < all.length; at += MAX_SEGMENTS_AT_ONCE) {
      yield all.slice(at, at + MAX_SEGMENTS_AT_ONCE);
    }
  }

  private async directory({ chain, address }: TokenName): Promise<Directory> {
    const token = this.catalog.token(chain, address);
    if (token === undefined) return EMPTY_DIRECTORY;
    return this.directories.get(token.tokenId).catch(withRemedy);
  }

  /** Adds the segment that a cut before `t` would divide. */
  private addSpanning(token: TokenName, directory: Directory, tier: Tier, t: number): void {
    this.add(token, directory, tier, { fromS: t, toS: t + 1 }, (ref) => firstT(ref) < t);
  }

  private add(
    { chain, address }: TokenName,
    directory: Directory,
    tier: Tier,
    { fromS, toS }: { fromS: number; toS: number },
    isNeeded: (ref: SegmentRef) => boolean = () => true,
  ): void {
    const { from, to } = overlapping(directory[tier], fromS, toS - 1);
    for (const ref of directory[tier].slice(from, to)) {
      if (!ref.isArchived || !isNeeded(ref)) continue;
      this.found.set(ref.segmentId, { token: { chain, address }, tier, ref });
    }
  }
}

const spanOf = (ref: SegmentRef): { fromS: number; toS: number } => ({
  fromS: firstT(ref),
  toS: lastT(ref) + 1,
});
