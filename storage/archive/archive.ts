/** Reads the blocks of archived segments: from files beside the store, or else by ranges of their objects. */
import { crc32 } from 'node:zlib';
import { type Tier, TIERS } from '../../compute/market.js';
import type { StoredBlock } from '../../compute/segment/segment.js';
import { whereIdIn, type Statements } from '../duckdb/statements.js';
import { type ArchivedBlocks, timedSegments } from '../depth/segments.js';
import { Lender } from '../lender.js';
import type { ArchiveStatus } from '../operations.js';
import type { BlockFiles } from './block-files.js';
import { ArchiveUnavailableError, ObjectFaultError, type Objects } from './objects.js';

/** Ranges that are read at once; further ones wait. */
const MAX_READS = 16;
/** Blocks that follow each other in an object are read as one range of at most so many bytes, unless one alone is larger. */
const MAX_RANGE_BYTES = 4 * 1024 * 1024;
/** Default for how long after a failure further reads fail at once. */
const FAILS_FOR_MS = 2000;

/** The block of a segment, by its checksum. */
type SegmentBlock = Omit<StoredBlock, 'block'>;

/** Where a segment's block is. */
interface BlockPlace extends SegmentBlock {
  key: string;
  at: number;
  bytes: number;
}

/** Whether a segment names an object of `objects` now: `unused_since` is noted only by collect(). */
export const IS_NAMED = 'object_id IN (SELECT object_id FROM segments WHERE object_id IS NOT NULL)';

export class Archive implements ArchivedBlocks {
  private readonly slots = new Lender(Array.from({ length: MAX_READS }, (_, i) => i));
  /** Blocks that are being read, which several callers may await. */
  private readonly reading = new Map<number, Promise<StoredBlock>>();
  /** The archive's last failure, which answers further reads for a while; null after a success. */
  private lastFailure: { error: ArchiveUnavailableError; untilMs: number } | null = null;
  /** Whether the last read there failed, even for one object's sake: a lost bucket has only such failures. */
  isUnreadable = false;
  /** Since the start: ranges read from objects, their bytes, and failures. */
  reads = 0;
  readBytes = 0;
  failures = 0;
  /** Reads every block from its object, and keeps none: what a file beside the store holds says nothing of the object. */
  readonly fromObjects: ArchivedBlocks = {
    blocks: async (statements, segments) => {
      const ranges = rangesOf(await placesOf(statements, segments));
      return Promise.all(ranges.flatMap((range) => this.blocksOf(range)));
    },
  };

  constructor(
    /** null: the store has no archive. */
    readonly objects: Objects | null = null,
    /** null: no file is kept. */
    readonly files: BlockFiles | null = null,
    private readonly failsForMs = FAILS_FOR_MS,
  ) {}

  /**
   * The blocks of archived segments, verified, each in a separate ArrayBuffer. Segments that are gone are left out.
   * @throws ArchiveUnavailableError if one cannot be read
   */
  async blocks(
    statements: Pick<Statements, 'rows'>,
    segments: readonly SegmentBlock[],
  ): Promise<StoredBlock[]> {
    const isAtHand = (one: SegmentBlock): boolean =>
      this.reading.has(one.segmentId) || this.files?.has(one) === true;
    const places = await placesOf(
      statements,
      segments.filter((one) => !isAtHand(one)),
    );
    // Others may have read some meanwhile.
    this.begin(places.filter((place) => !isAtHand(place)));
    const blocks = await Promise.all(segments.map((one) => this.block(statements, one)));
    return blocks.filter((block) => block !== null);
  }

  /** What the archive holds; what waits for it, or fails, is not its matter. */
  async status(
    statements: Pick<Statements, 'rows'>,
  ): Promise<Omit<ArchiveStatus, 'due' | 'lastError'>> {
    const { objects, files, reads, readBytes, failures } = this;
    const [[count, bytes, unused]] = await statements.rows(
      `SELECT count(*) FILTER (WHERE is_named), coalesce(sum(bytes) FILTER (WHERE is_named), 0)::BIGINT,
         count(*) FILTER (WHERE NOT is_named) FROM (SELECT bytes, ${IS_NAMED} AS is_named FROM objects)`,
    );
    return {
      place: objects?.name ?? null,
      objects: Number(count),
      bytes: Number(bytes),
      unused: Number(unused),
      reads,
      readBytes,
      failures,
      files: files?.count ?? 0,
      fileBytes: files?.bytes ?? 0,
    };
  }

  /**
   * Reads the last byte of the newest object that a segment names: a place that answers may have lost what is in it.
   * @throws ArchiveUnavailableError if it cannot be read
   */
  async tryNewest(statements: Pick<Statements, 'rows'>): Promise<void> {
    const [newest] = await statements.rows(
      `SELECT key, bytes FROM objects WHERE ${IS_NAMED} ORDER BY object_id DESC LIMIT 1`,
    );
    if (newest === undefined) return;
    const [key, bytes] = newest as [string, number];
    await this.objects?.read(key, Number(bytes) - 1, 1).catch((error: unknown) => {
      if (!(error instanceof ObjectFaultError)) throw error;
      throw new ObjectFaultError(
        `the place answers, but has lost the newest object: ${error.message}; fathom check --archive looks for the others`,
      );
    });
  }

  /** The archived windows with a snapshot in `fromS <= t < toS`, of one token or of all, the oldest first. */
  async windows(
    statements: Pick<Statements, 'rows'>,
    tokenId: number | null,
    [fromS, toS]: readonly [number, number],
  ): Promise<{ tokenId: number; tier: Tier; fromS: number; toS: number }[]> {
    const ofToken = tokenId === null ? '' : ` AND token_id = ${tokenId}`;
    const where = `object_id IS NOT NULL${ofToken}`;
    const rows = await statements.rows(
      `SELECT token_id, tier, min(first_t)::BIGINT, (max(last_t) + 1)::BIGINT FROM (${timedSegments(where)})
       WHERE first_t < ${toS} AND last_t >= ${fromS}
       GROUP BY token_id, tier, object_id ORDER BY 3, 1, 2`,
    );
    return (rows as [number, number, number, number][]).map(([id, tier, first, end]) => ({
      tokenId: id,
      tier: TIERS[tier],
      fromS: Number(first),
      toS: Number(end),
    }));
  }

  /** Keeps the block of a segment that was just archived: readers need not read its object. */
  async keep(segmentId: number, block: Uint8Array): Promise<void> {
    await this.files?.write({ segmentId, crc32: crc32(block) }, block);
  }

  /** Ends what is being read. */
  close(): void {
    this.objects?.close();
  }

  /** null: the segment is gone. */
  private async block(
    statements: Pick<Statements, 'rows'>,
    segment: SegmentBlock,
  ): Promise<StoredBlock | null> {
    const { segmentId, crc32: checksum } = segment;
    if (!this.reading.has(segmentId)) {
      const kept = (await this.files?.read(segment)) ?? null;
      if (kept !== null) {
        this.files?.touch(segment);
        return { segmentId, block: kept.content, crc32: checksum };
      }
      // Its file has just gone or is damaged, or the segment is gone.
      const places = await placesOf(statements, [segment]);
      this.begin(places.filter(() => !this.reading.has(segmentId)));
    }
    const shared = await this.reading.get(segmentId);
    // Callers may transfer the memory of theirs.
    return shared === undefined ? null : { ...shared, block: new Uint8Array(shared.block) };
  }

  /** Begins to read blocks. @param places in the order of keys and places */
  private begin(places: readonly BlockPlace[]): void {
    for (const range of rangesOf(places)) {
      for (const [i, block] of this.blocksOf(range).entries()) {
        const { segmentId } = range[i];
        this.reading.set(segmentId, block);
        void block
          // Until then, the file cannot be found.
          .then((read) => this.keep(segmentId, read.block))
          .catch(() => undefined)
          .finally(() => this.reading.delete(segmentId));
      }
    }
  }

  /** Reads blocks that follow each other in an object; each is verified for itself. */
  private blocksOf(range: readonly BlockPlace[]): Promise<StoredBlock>[] {
    const reading = this.read(range);
    return range.map((place) => reading.then((bytes) => this.verified(place, bytes, range[0].at)));
  }

  /** The bytes of blocks that follow each other in an object. */
  private async read(range: readonly BlockPlace[]): Promise<Uint8Array> {
    const { objects } = this;
    const [{ segmentId, key, at }] = range;
    const last = range.at(-1)!;
    if (objects === null) {
      throw new ArchiveUnavailableError(
        `segment ${segmentId} is archived, and this process has no archive: give --archive-url`,
      );
    }
    // Others need not wait for what has just failed.
    if (this.lastFailure !== null && performance.now() < this.lastFailure.untilMs) {
      throw this.lastFailure.error;
    }
    try {
      const length = last.at + last.bytes - at;
      const bytes = await this.slots.use(() => objects.read(key, at, length));
      this.lastFailure = null;
      this.isUnreadable = false;
      this.reads++;
      this.readBytes += length;
      return bytes;
    } catch (error) {
      this.note(error);
      throw error;
    }
  }

  /** A block of what was read from `fromAt` on, in a separate ArrayBuffer. */
  private verified(place: BlockPlace, bytes: Uint8Array, fromAt: number): StoredBlock {
    const { segmentId, key, at, crc32: checksum } = place;
    const from = at - fromAt;
    const block = new Uint8Array(bytes.subarray(from, from + place.bytes));
    if (crc32(block) === checksum) return { segmentId, block, crc32: checksum };
    const error = new ObjectFaultError(
      `the object ${key} in ${this.objects?.name} is damaged: the checksum of bytes ${at} to ${at + place.bytes - 1} does not match`,
    );
    this.note(error);
    throw error;
  }

  /** Notes a failure. */
  private note(error: unknown): void {
    this.failures++;
    this.isUnreadable = true;
    const isOfAll =
      error instanceof ArchiveUnavailableError && !(error instanceof ObjectFaultError);
    // What is wrong with one object says that others can be read.
    this.lastFailure = isOfAll ? { error, untilMs: performance.now() + this.failsForMs } : null;
  }
}

/** Where the blocks of segments are, in the order of keys and places; segments that are gone are left out. */
async function placesOf(
  statements: Pick<Statements, 'rows'>,
  segments: readonly SegmentBlock[],
): Promise<BlockPlace[]> {
  if (segments.length === 0) return [];
  const ids = segments.map(({ segmentId }) => segmentId);
  const rows = await statements.rows(
    `SELECT segment_id, key, object_at, object_bytes, crc32
     FROM segments JOIN objects USING (object_id) WHERE ${whereIdIn('segment_id', ids)}
     ORDER BY key, object_at`,
  );
  return (rows as [number, string, number, number, number][]).map(
    ([segmentId, key, at, bytes, checksum]) => ({ segmentId, key, at, bytes, crc32: checksum }),
  );
}

/** Joins blocks that follow each other in an object. */
function rangesOf(places: readonly BlockPlace[]): BlockPlace[][] {
  const ranges: BlockPlace[][] = [];
  for (const place of places) {
    const range = ranges.at(-1);
    const last = range?.at(-1);
    const follows = last?.key === place.key && last.at + last.bytes === place.at;
    const end = place.at + place.bytes;
    if (range !== undefined && follows && end - range[0].at <= MAX_RANGE_BYTES) range.push(place);
    else ranges.push([place]);
  }
  return ranges;
}
