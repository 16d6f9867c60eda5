/** Maintenance in the background, after commits. */
import { LargeMap } from '../compute/large-map.js';
import type { Commits } from './commit.js';
import { DamagedSpanError } from './damaged-span.js';
import type { Catalog } from './depth/catalog.js';
import { findSmallSegments } from './depth/compaction.js';
import type { Directories } from './depth/directories.js';
import type { SampleMaker } from './depth/samples.js';
import type { Database } from './duckdb/database.js';
import { Turns } from './turns.js';

/** How often the WAL is checked without a commit: counts of calls grow it too. */
const WAL_CHECK_MS = 60_000;

interface HousekeepingParts {
  database: Database;
  catalog: Catalog;
  directories: Directories;
  commits: Commits;
}

/** Joins small segments, lists old ones, makes samples, and checkpoints a long WAL. */
export class Housekeeping {
  /** Tokens of the commits since the last work. */
  private touched: (readonly number[])[] = [];
  private working: Promise<void> = Promise.resolve();
  private readonly walCheck = setInterval(() => this.after([]), WAL_CHECK_MS).unref();
  private closing = false;
  /** Segments that were found damaged: their neighbours are joined without them. */
  private readonly damaged = new Set<number>();

  constructor(
    private readonly parts: HousekeepingParts,
    private readonly samples: SampleMaker,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Starts the work due after a commit that touched these tokens. */
  after(tokenIds: readonly number[]): void {
    this.touched.push(tokenIds);
    this.working = this.working.then(() => this.work());
  }

  /** Resolves when nothing is left to do. */
  async settled(): Promise<void> {
    for (let last: Promise<void> | null = null; last !== this.working;) {
      last = this.working;
      await last;
    }
  }

  /** Waits for the running step and drops the rest. */
  async close(): Promise<void> {
    this.closing = true;
    clearInterval(this.walCheck);
    await this.working;
  }

  private async work(): Promise<void> {
    const turns = new Turns();
    const tokenIds = new LargeMap<number, true>();
    for (const touched of this.touched.splice(0)) {
      for (const tokenId of touched) {
        tokenIds.set(tokenId, true);
        await turns.take();
      }
    }
    for (const [tokenId] of tokenIds) {
      // Without this, a series of tokens without small segments would block the event loop.
      await turns.take();
      await this.repeat(() => this.joinSmallSegments(tokenId));
    }
    await this.repeat(() => this.listOldSegments());
    await this.makeSamples();
    const { commits, database } = this.parts;
    await this.repeat(async () => {
      await commits.exclusive(() => database.wal.shorten());
      return false;
    });
  }

  /** Repeats a step until it returns false. */
  private async repeat(step: () => Promise<boolean>): Promise<void> {
    try {
      while (!this.closing && (await step()));
    } catch (error) {
      this.onError(error);
    }
  }

  /** @returns whether it joined any segments */
  private async joinSmallSegments(tokenId: number): Promise<boolean> {
    const { catalog, directories, commits } = this.parts;
    const entry = catalog.tokenById(tokenId);
    if (entry === undefined) return false;
    // Checked before opening a transaction: most commits leave nothing to join.
    const { damaged } = this;
    if (findSmallSegments(await directories.get(tokenId), damaged) === null) return false;
    const joined = commits.run(async ({ stage, depth }) => {
      const token = stage.token(entry.row.chain, entry.row.address);
      const small = findSmallSegments(await stage.directory(token), damaged);
      if (small !== null) await depth.join(token, small.tier, small.from, small.to);
      return small !== null;
    });
    try {
      return (await joined).result;
    } catch (error) {
      if (!(error instanceof DamagedSpanError)) throw error;
      this.onError(error);
      for (const id of error.ids) damaged.add(id);
      return true;
    }
  }

  /** Makes some samples; the others wait until newer commits have been processed. */
  private async makeSamples(): Promise<void> {
    const { database, directories, commits } = this.parts;
    await this.repeat(async () => {
      const exclusive = (body: () => Promise<void>): Promise<void> =>
        commits.exclusive(async () => {
          await database.wal.shorten();
          await body();
        });
      const areMore = await this.samples.step(directories.lastSegmentId, exclusive);
      if (areMore) this.after([]);
      return false;
    });
  }

  /** @returns whether it listed any segments */
  private async listOldSegments(): Promise<boolean> {
    const { database, directories, commits } = this.parts;
    const { lists } = directories;
    if (lists.due(directories.lastSegmentId) === null) return false;
    return commits.exclusive(async () => {
      const toId = lists.due(directories.lastSegmentId);
      if (toId === null) return false;
      await database.wal.shorten();
      await database.transaction((tx) => lists.add(tx, toId));
      await directories.publishListed(toId);
      return true;
    });
  }
}
