/** Commits: transactions that readers see all at once. `applied-log.ts` runs them for entries, `housekeeping.ts` for joins. */
import type { EventEmitter } from 'node:events';
import { rewriteHolderBlocks } from '../compute/holders/rewrite.js';
import type { Archive } from './archive/archive.js';
import type { StoreChange } from './contract.js';
import { withRemedy } from './damaged-span.js';
import type { Catalog } from './depth/catalog.js';
import { DepthCommit, type Rewrite } from './depth/depth-commit.js';
import type { Directories } from './depth/directories.js';
import type { Revisions } from './depth/revisions.js';
import { Stage } from './depth/stage.js';
import type { Database } from './duckdb/database.js';
import { Mutex } from './lender.js';
import type { Statements } from './duckdb/statements.js';
import { FlatCommit } from './flat-tables.js';
import { HolderCommit, type RewriteHolders } from './holders/holder-commit.js';
import type { HolderTokens } from './holders/holder-tokens.js';
import { type LogMark, writeMark } from './log/mark.js';
import type { CollectorReport } from './operations.js';
import type { WaitingTokens } from './queue.js';
import { Turns } from './turns.js';

export interface CommitOptions {
  /** Runs compute's rewriteSegments. */
  rewrite: Rewrite;
  /** Runs compute's rewriteHolderBlocks; on this thread by default. */
  rewriteHolders?: RewriteHolders;
}

/** Rows and cells that a bundle added. */
export interface Added {
  /** By dataset; `snapshots` counts those of `cells` too. */
  rows: Record<string, number>;
  cells: number;
}

/** What listeners of an open store get. */
export interface StoreEvents {
  /** What a commit changed, once readers see the change. */
  change: [change: StoreChange];
  /** Ids of the segments that a commit or a background join removed. */
  segments: [removed: readonly number[]];
  /** How the sources of a collector do. */
  sources: [report: CollectorReport];
  /** What a bundle added, and how long its commit took. */
  commit: [added: Added, tookMs: number];
}

/** What a transaction uses to change the store. */
export interface CommitTools {
  stage: Stage;
  depth: DepthCommit;
  flat: FlatCommit;
  holders: HolderCommit;
}

/** Tokens in one call of a listener. */
const TOKENS_AT_ONCE = 256;
const NO_CHANGE: StoreChange = {
  tokenIds: [],
  dcaTokens: [],
  limitTokens: [],
  holderTokens: [],
  dlmmPools: false,
  dlmmHours: false,
  tokenHours: false,
};

const rewriteHere: RewriteHolders = (input) => Promise.resolve(rewriteHolderBlocks(input));

/** What commits change besides the database's rows. */
interface CommitParts {
  database: Database;
  archive: Archive;
  catalog: Catalog;
  directories: Directories;
  holderTokens: HolderTokens;
  revisions: Revisions;
  queue: WaitingTokens;
  events: EventEmitter<StoreEvents>;
  /** Called after each change of a log with the tokens that it touched. */
  onChanged: (tokenIds: readonly number[]) => void;
}

/** Runs one transaction at a time. Readers see all of its changes at once. */
export class Commits {
  private readonly mutex = new Mutex();

  constructor(
    private readonly parts: CommitParts,
    private readonly options: CommitOptions,
  ) {}

  /**
   * Makes a change of a log: listeners, too, know of it before this resolves.
   * @param mark of its last entry, written with it
   * @throws as run()
   */
  async change<T>(
    body: (tools: CommitTools) => Promise<T>,
    mark: LogMark,
  ): Promise<{ result: T; tokens: number }> {
    const { result, change } = await this.run(body, mark);
    const { catalog, events, queue, onChanged } = this.parts;
    const turns = new Turns();
    for (const part of changesInTurns(change)) {
      events.emit('change', part);
      queue.settle(part.tokenIds.flatMap((id) => catalog.tokenById(id)?.row ?? []));
      await turns.take();
    }
    onChanged(change.tokenIds);
    return { result, tokens: change.tokenIds.length };
  }

  /**
   * Runs `body` in one transaction; readers see its changes as soon as this resolves. If it throws, the store is
   * unchanged.
   * @param mark written with the changes; without one they change nothing that a client can see
   * @throws DamagedSpanError if it needs damaged snapshots
   */
  run<T>(
    body: (tools: CommitTools) => Promise<T>,
    mark?: LogMark,
  ): Promise<{ result: T; change: StoreChange }> {
    return this.exclusive(async () => {
      const { wal } = this.parts.database;
      await wal.shorten();
      const done = await this.transaction(body, mark).catch(withRemedy);
      wal.room.committed();
      return done;
    });
  }

  private async transaction<T>(
    body: (tools: CommitTools) => Promise<T>,
    mark?: LogMark,
  ): Promise<{ result: T; change: StoreChange }> {
    const { database, directories, revisions, events } = this.parts;
    let endCommit = (): void => undefined;
    try {
      const { result, stage, flat, holders } = await database.transaction(async (tx) => {
        const tools = this.toolsOf(tx, null);
        const { stage, flat, holders } = tools;
        const result = await body(tools);
        if (mark !== undefined) await revisions.write(stage, mark);
        await stage.write();
        if (mark !== undefined) await writeMark(tx, mark);
        endCommit = directories.beginCommit((tokenId) => stage.touches(tokenId));
        return { result, stage, flat, holders };
      });
      await stage.publish();
      holders.publish();
      events.emit('segments', stage.removedSegments);
      return {
        result,
        change: { tokenIds: stage.touched, ...flat.change, holderTokens: holders.changedTokens },
      };
    } finally {
      endCommit();
    }
  }

  /** Runs `body` like run(), then rolls it back. */
  rehearse<T>(body: (tools: CommitTools) => Promise<T>): Promise<T> {
    const { archive } = this.parts;
    return this.exclusive(() =>
      this.parts.database.rehearsal((tx) => body(this.toolsOf(tx, archive))).catch(withRemedy),
    );
  }

  private toolsOf(tx: Statements, archive: Archive | null): CommitTools {
    const { database, catalog, directories, holderTokens } = this.parts;
    const stage = new Stage(catalog, directories, tx);
    return {
      stage,
      depth: new DepthCommit(stage, this.options.rewrite, database, archive),
      flat: new FlatCommit(tx),
      holders: new HolderCommit({
        tx,
        tokens: holderTokens,
        rewrite: this.options.rewriteHolders ?? rewriteHere,
        database,
      }),
    };
  }

  /** Runs `body` while nothing is being committed. */
  exclusive<T>(body: () => Promise<T>): Promise<T> {
    return this.mutex.use(body);
  }

  /** Waits for the running transaction, and refuses waiting ones. */
  async close(): Promise<void> {
    await this.mutex.close();
  }
}

/** Splits a change into parts of few tokens. The first part also has the changes that are not about tokens. */
function* changesInTurns(change: StoreChange): Generator<StoreChange> {
  const { tokenIds, dcaTokens, limitTokens, holderTokens } = change;
  const lists = [tokenIds, dcaTokens, limitTokens, holderTokens];
  const longest = Math.max(...lists.map(({ length }) => length));
  for (let from = 0; from === 0 || from < longest; from += TOKENS_AT_ONCE) {
    const part = <T>(list: readonly T[]): T[] => list.slice(from, from + TOKENS_AT_ONCE);
    yield {
      ...(from === 0 ? change : NO_CHANGE),
      tokenIds: part(tokenIds),
      dcaTokens: part(dcaTokens),
      limitTokens: part(limitTokens),
      holderTokens: part(holderTokens),
    };
  }
}
