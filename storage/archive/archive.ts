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
/** Default for how long after a failure further reads fail at once. */
const FAILS_FOR_MS = 2000;

/** Gives the block at a place, verified. @throws ArchiveUnavailableError if it cannot be read */
type ReadBlock = (place: BlockPlace) => Promise<StoredBlock>;

/** Where a segment's block is. */
interface BlockPlace {
  segmentId: number;
  key: string;
  at: number;
  bytes: number;
  crc32: number;
}

export class Archive implements ArchivedBlocks {
  private readonly slots = new Lender(Array.from({ length: MAX_READS }, (_, i) => i));
  /** Blocks that are being read, which several callers may await. */
  private readonly reading = new Map<number, Promise<StoredBlock>>();
  /** The archive's last failure, which answers further reads for a while; null after a success. */
  private lastFailure: { error: ArchiveUnavailableError; untilMs: number } | null = null;
  /** Whether the last read of an object failed, even for that object's sake: a lost bucket has only such failures. */
  isUnreadable = false;
  /** Since the start: ranges read from objects, their bytes, and failures. */
  reads = 0;
  readBytes = 0;
  failures = 0;
  /** Reads every block from its object, and keeps none: what a file beside the store holds says nothing of the object. */
  readonly fromObjects: ArchivedBlocks = {
    blocks: (statements, segmentIds) =>
      readPlaces(statements, segmentIds, (place) => this.read(place)),
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
  blocks(
    statements: Pick<Statements, 'rows'>,
    segmentIds: readonly number[],
  ): Promise<StoredBlock[]> {
    return readPlaces(statements, segmentIds, (place) => this.block(place));
  }

  /** What the archive holds; what waits for it is not its matter. */
  async status(statements: Pick<Statements, 'rows'>): Promise<Omit<ArchiveStatus, 'due'>> {
    const { objects, files, reads, readBytes, failures } = this;
    const [[count, bytes, unused]] = await statements.rows(
      `SELECT count(*) FILTER (WHERE unused_since IS NULL),
         coalesce(sum(bytes) FILTER (WHERE unused_since IS NULL), 0)::BIGINT,
         count(*) FILTER (WHERE unused_since IS NOT NULL) FROM objects`,
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
   * Reads the last byte of the object that was named last: a place that answers may have lost what is in it.
   * @throws ArchiveUnavailableError if it cannot be read
   */
  async tryNewest(statements: Pick<Statements, 'rows'>): Promise<void> {
    const [newest] = await statements.rows(
      'SELECT key, bytes FROM objects WHERE unused_since IS NULL ORDER BY object_id DESC LIMIT 1',
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

  private async block(place: BlockPlace): Promise<StoredBlock> {
    const { segmentId } = place;
    const file = { segmentId, crc32: place.crc32 };
    const kept = (await this.files?.read(file)) ?? null;
    if (kept !== null) {
      this.files?.touch(file);
      return { segmentId, block: kept.content, crc32: place.crc32 };
    }
    let reading = this.reading.get(segmentId);
    if (reading === undefined) {
      reading = this.readAndKeep(place).finally(() => this.reading.delete(segmentId));
      this.reading.set(segmentId, reading);
    }
    const shared = await reading;
    // Callers may transfer the memory of theirs.
    return { ...shared, block: new Uint8Array(shared.block) };
  }

  private async readAndKeep(place: BlockPlace): Promise<StoredBlock> {
    const stored = await this.read(place);
    void this.keep(stored.segmentId, stored.block);
    return stored;
  }

  private async read({
    segmentId,
    key,
    at,
    bytes,
    crc32: checksum,
  }: BlockPlace): Promise<StoredBlock> {
    const { objects } = this;
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
      const block = await this.slots.use(() => objects.read(key, at, bytes));
      this.lastFailure = null;
      if (crc32(block) !== checksum) {
        throw new ObjectFaultError(
          `the object ${key} in ${objects.name} is damaged: the checksum of bytes ${at} to ${at + bytes - 1} does not match`,
        );
      }
      this.isUnreadable = false;
      this.reads++;
      this.readBytes += bytes;
      return { segmentId, block, crc32: checksum };
    } catch (error) {
      this.failures++;
      this.isUnreadable = true;
      const isOfAll =
        error instanceof ArchiveUnavailableError && !(error instanceof ObjectFaultError);
      // What is wrong with one object says that others can be read.
      this.lastFailure = isOfAll ? { error, untilMs: performance.now() + this.failsForMs } : null;
      throw error;
    }
  }
}

/** The blocks of archived segments; those of segments that are gone are left out. */
async function readPlaces(
  statements: Pick<Statements, 'rows'>,
  segmentIds: readonly number[],
  read: ReadBlock,
): Promise<StoredBlock[]> {
  const rows = await statements.rows(
    `SELECT segment_id, key, object_at, object_bytes, crc32
     FROM segments JOIN objects USING (object_id) WHERE ${whereIdIn('segment_id', segmentIds)}`,
  );
  return Promise.all(
    (rows as [number, string, number, number, number][]).map(
      ([segmentId, key, at, bytes, checksum]) =>
        read({ segmentId, key, at, bytes, crc32: checksum }),
    ),
  );
}
