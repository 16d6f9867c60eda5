/** Commits: transactions that readers see all at once, and how a bundle is applied in one. */
import type { EventEmitter } from 'node:events';
import { DamageError, isDamage } from '../compute/damage.js';
import { rewriteHolderBlocks } from '../compute/holders/rewrite.js';
import type { Removed } from '../compute/segment/remove.js';
import type { Frame, HeaderFrame, MarketsFrame } from './bundle.js';
import type { StoreChange, TokenRow } from './contract.js';
import type { CommitReport } from './operations.js';
import { DamagedSpanError } from './damaged-span.js';
import { type Catalog, tokenKey } from './depth/catalog.js';
import { addRemoved, DepthCommit, nothingRemoved, type Rewrite } from './depth/depth-commit.js';
import type { Directories } from './depth/directories.js';
import { Replacements } from './depth/replacements.js';
import { nextRetentionStep, NO_LIMITS } from './depth/retention-steps.js';
import { checkSpelling, Stage } from './depth/stage.js';
import type { Database } from './duckdb/database.js';
import { Mutex } from './lender.js';
import type { Statements } from './duckdb/statements.js';
import { RefusalError } from './errors.js';
import { FlatCommit } from './flat-tables.js';
import { HolderCommit, type RewriteHolders } from './holders/holder-commit.js';
import type { HolderTokens } from './holders/holder-tokens.js';
import type { Entry } from './log/entry.js';
import { type LogMark, writeMark } from './log/mark.js';
import { LargeMap } from '../compute/large-map.js';
import { Turns } from './turns.js';

export interface CommitOptions {
  /** Runs compute's rewriteSegments. */
  rewrite: Rewrite;
  /** Runs compute's rewriteHolderBlocks; on this thread by default. */
  rewriteHolders?: RewriteHolders;
}

type Retirement = Extract<Entry, { kind: 'retirement' }>;

/** What listeners of an open store get. */
export interface StoreEvents {
  /** What a commit changed, once readers see the change. */
  change: [change: StoreChange];
  /** Ids of the segments that a commit or a background join removed. */
  segments: [removed: readonly number[]];
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

const rewriteHere: RewriteHolders = (input) => Promise.resolve(rewriteHolderBlocks(input));

/** Runs one transaction at a time. Readers see all of its changes at once. */
export class Commits {
  private readonly mutex = new Mutex();

  constructor(
    private readonly database: Database,
    private readonly catalog: Catalog,
    private readonly directories: Directories,
    private readonly holderTokens: HolderTokens,
    private readonly events: EventEmitter<StoreEvents>,
    private readonly options: CommitOptions,
  ) {}

  /**
   * Runs `body` in one transaction; readers see its changes as soon as this resolves. If it throws, the store is
   * unchanged.
   * @param mark written with the changes
   * @throws DamagedSpanError if it needs damaged snapshots
   */
  run<T>(
    body: (tools: CommitTools) => Promise<T>,
    mark?: LogMark,
  ): Promise<{ result: T; change: StoreChange }> {
    return this.exclusive(async () => {
      await this.database.wal.shorten();
      const done = await this.transaction(body, mark).catch(withRemedy);
      this.database.wal.room.committed();
      return done;
    });
  }

  private async transaction<T>(
    body: (tools: CommitTools) => Promise<T>,
    mark?: LogMark,
  ): Promise<{ result: T; change: StoreChange }> {
    let endCommit = (): void => undefined;
    try {
      const { result, stage, flat, holders } = await this.database.transaction(async (tx) => {
        const tools = this.toolsOf(tx);
        const { stage, flat, holders } = tools;
        const result = await body(tools);
        await stage.write();
        if (mark !== undefined) await writeMark(tx, mark);
        endCommit = this.directories.beginCommit((tokenId) => stage.touches(tokenId));
        return { result, stage, flat, holders };
      });
      await stage.publish();
      holders.publish();
      this.events.emit('segments', stage.removedSegments);
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
    return this.exclusive(() =>
      this.database.rehearsal((tx) => body(this.toolsOf(tx))).catch(withRemedy),
    );
  }

  private toolsOf(tx: Statements): CommitTools {
    const { database } = this;
    const stage = new Stage(this.catalog, this.directories, tx);
    return {
      stage,
      depth: new DepthCommit(stage, this.options.rewrite, database),
      flat: new FlatCommit(tx),
      holders: new HolderCommit({
        tx,
        tokens: this.holderTokens,
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

/** @throws the error; damage that no command can remove names its remedy, as a DamagedSpanError does */
function withRemedy(error: unknown): never {
  if (!isDamage(error) || error instanceof DamagedSpanError) throw error;
  throw new DamageError(`${error.message}; nothing was stored: restore a backup`, { cause: error });
}

/** Takes every step of retention that a token's cut-offs ask for. */
export async function retireAll(
  { token, cutoffs, made }: Retirement,
  { stage, depth }: CommitTools,
): Promise<Removed> {
  const removed = nothingRemoved();
  const known = stage.knownToken(token.chain, token.address);
  for (let step; known !== null; addRemoved(removed, await depth.retire(known, step))) {
    step = nextRetentionStep(await stage.directory(known), cutoffs, made, NO_LIMITS);
    if (step === null) break;
  }
  return removed;
}

/** What a bundle changed in the depth. */
type Applied = Omit<CommitReport, 'tokens'>;

/** Rows and cells that a bundle added. */
export interface Added {
  /** By dataset; `snapshots` counts those of `cells` too. */
  rows: Record<string, number>;
  cells: number;
}

/**
 * Applies every frame of a bundle.
 * @throws RefusalError naming the file if its rows contradict the store
 */
export async function applyBundle(
  frames: AsyncIterable<Frame>,
  tools: CommitTools,
): Promise<Applied & { added: Added }> {
  let application: Application | null = null;
  for await (const frame of frames) {
    if (frame.kind === 'header') application = new Application(frame, tools);
    else if (application === null) throw new Error('a bundle whose first frame is not a header');
    else await application.apply(frame);
  }
  if (application === null) throw new Error('a bundle without a header');
  return application.finish();
}

class Application {
  private segments = 0;
  private readonly deleted = nothingRemoved();
  /** Lines of the rows that give a token an asset, by token. */
  private readonly lines = new LargeMap<string, number>();
  private readonly added: Added = { rows: {}, cells: 0 };
  private readonly replacements = new Replacements();
  private readonly turns = new Turns();

  constructor(
    private readonly header: HeaderFrame,
    private readonly tools: CommitTools,
  ) {}

  async apply(frame: Exclude<Frame, HeaderFrame>): Promise<void> {
    const { file, mode } = this.header;
    const { stage, depth, flat, holders } = this.tools;
    await this.turns.take();
    switch (frame.kind) {
      case 'markets':
        return this.applyMarkets(frame);
      case 'segment':
        this.segments++;
        this.count('snapshots', frame.segment.times.length);
        this.added.cells += frame.segment.cells;
        return located(file, () => depth.add(frame, mode, this.replacements));
      case 'tokens':
        this.count('tokens', frame.rows.length);
        for (const { line, row } of frame.rows) {
          await this.turns.take();
          await located(`${file}:${line}`, () => stage.putRow(row));
          if (row.asset !== null) this.lines.set(tokenKey(row.chain, row.address), line);
        }
        return;
      case 'rows':
        this.count(frame.dataset, frame.rows.length);
        return located(file, () => flat.add(frame.dataset, frame.rows));
      case 'holders':
        this.count('holders', frame.times.length);
        return located(file, () => holders.add(frame));
      case 'delete':
        addRemoved(this.deleted, await depth.delete(frame));
        return;
      case 'delete-holders':
        this.deleted.snapshots += await holders.delete(frame);
        return;
      case 'end':
        return;
    }
  }

  private count(dataset: string, rows: number): void {
    this.added.rows[dataset] = (this.added.rows[dataset] ?? 0) + rows;
  }

  private async applyMarkets({ chain, address, markets, origins }: MarketsFrame): Promise<void> {
    const { file, mode } = this.header;
    const { stage } = this.tools;
    const token = await located(file, () => stage.token(chain, address));
    for (const [i, market] of markets.entries()) {
      const origin = origins?.[i];
      const where = origin === undefined ? file : `${file}:${origin.line}`;
      await located(
        where,
        () => {
          if (mode === 'merge') checkSpelling(token, market);
          return stage.marketIndexes(token, [market]);
        },
        origin?.prefix,
      );
    }
  }

  /**
   * @throws RefusalError if the rows of the whole bundle contradict one another or the store
   * @throws LossError if the bundle refuses losses and would cause one
   */
  async finish(): Promise<Applied & { added: Added }> {
    const { flat, holders } = this.tools;
    await this.checkLegs();
    await located(this.header.file, () => flat.finish());
    await located(this.header.file, () => holders.finish());
    if (this.header.refusesLoss === true) this.replacements.checkLoss();
    const { replaced } = this.replacements;
    const { segments, deleted, added } = this;
    return { segments, replaced, deleted, added };
  }

  private async checkLegs(): Promise<void> {
    const conflict = await this.tools.stage.legConflict();
    if (conflict === null) return;
    const { asset, rows } = conflict;
    const lineOf = ({ chain, address }: TokenRow) => this.lines.get(tokenKey(chain, address));
    const line = lineOf(rows[1]) ?? lineOf(rows[0]);
    throw new RefusalError(
      `${this.header.file}${line === undefined ? '' : `:${line}`}: asset: ${asset} would have two ${rows[0].chain} legs, ${rows[0].address} and ${rows[1].address}`,
    );
  }
}

/**
 * Prefixes the message of a refusal with the location of the row that causes it.
 * @param prefix what the file has before the names of a market's fields
 */
async function located<T>(
  where: string,
  work: () => T | Promise<T>,
  prefix = 'markets.',
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    throw new RefusalError(`${where}: ${error.message.replace(/^markets\./, prefix)}`);
  }
}
