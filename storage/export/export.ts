/** Exports a store as Parquet files, a day of a token in each; only what is new or has changed is written. */
import { binsOfBand } from '../../compute/ladder.js';
import { DAY_S } from '../../compute/time.js';
import { readStored, type TokenName } from '../contract.js';
import { InputError } from '../errors.js';
import type { StoreOperations } from '../operations.js';
import { ParquetWriter } from '../parquet-file.js';
import {
  type DayPlan,
  digestOf,
  HIDING_S,
  reachOfDay,
  segmentsOf,
  TokenPlans,
} from './depth-plan.js';
import { depthSource, depthTable, shownMarkets } from './depth-rows.js';
import { exportHolders, type SeenHolders } from './holders.js';
import { type ExportCounts, ExportJob, type ExportRequest, type Window } from './job.js';
import {
  dayOf,
  DEPTH_DATASETS,
  type DepthDataset,
  depthFile,
  type NamedFile,
  nameOf,
} from './layout.js';
import {
  type Assets,
  assetsOf,
  isScoredToken,
  otherLeg,
  planScores,
  repricedDays,
  scoreFacts,
} from './score-legs.js';
import {
  BLOCKS_AT_ONCE,
  type ExportDirectory,
  type ExportPosition,
  type ExportToken,
} from './source.js';
import { StagedBlocks } from './staged-blocks.js';
import { exportTables } from './tables.js';

/** Files that are written at the same time. */
const WRITERS = 2;

/** A token whose files are to be brought up to date. */
interface Exported {
  token: ExportToken;
  plans: TokenPlans;
  /** The other leg of its asset, which counts for its scores. */
  other: { leg: ExportToken; plans: TokenPlans } | null;
}

/** Snapshots of a file are in an object that is gone or damaged. */
class LostObjectError extends Error {
  constructor(message: string) {
    super(
      `${message}: put the object back from a copy of the archive; docs/recovering.md#an-archive-that-fails says what to do without one`,
    );
  }
}

/** A file to write. */
interface Task extends Exported {
  file: string;
  dataset: DepthDataset;
  plan: DayPlan;
  /** Of the file's day. */
  window: Window;
}

/** A listed file, and what its name says. */
interface ListedFile extends NamedFile {
  file: string;
}

/** What is known of a token's depth. */
interface SeenDepth {
  stamp: string | null;
  /** Of its first snapshot. */
  firstT: number;
  /** Of its last one. */
  lastT: number;
}

interface SeenToken extends SeenDepth {
  /** The other leg of its asset, if scores are exported. */
  leg: SeenDepth | null;
  /** scoreFacts(); null without scores. */
  facts: string | null;
}

const tokenKey = ({ chain, address }: TokenName): string => `${chain}:${address}`;

/** What is known of a store after a run that a later run with the same request need not look at again. */
export class Seen {
  at: ExportPosition | null = null;
  nowS = 0;
  readonly tokens = new Map<string, SeenToken>();
  readonly holders = new Map<string, SeenHolders>();

  /** Whether nothing can differ. */
  isAll({ history, position }: ExportPosition): boolean {
    if (this.at?.history !== history || this.at.position !== position) return false;
    const seen = [...this.tokens.values(), ...this.holders.values()];
    return seen.every(({ lastT }) => lastT <= this.nowS);
  }

  forget(): void {
    this.at = null;
    this.tokens.clear();
    this.holders.clear();
  }
}

/**
 * Brings an export up to date with a store.
 * @param seen by an earlier run; it learns from this one
 * @throws InputError if the folder is of another store, or the store does not know a token; DiskFullError; DamageError;
 * UnwrittenFilesError once all other files are up to date
 */
export async function exportStore(
  request: ExportRequest,
  store: StoreOperations,
  seen = new Seen(),
): Promise<ExportCounts> {
  // Commits during the run are looked at again.
  const at = await store.exportPosition();
  await request.folder.belongTo(at.store);
  if (seen.at?.history !== at.history) seen.forget();
  const job = new ExportJob(request, store);
  if (seen.isAll(at)) return job.counts;
  const run = new DepthRun(job, seen);
  const writers: ParquetWriter[] = [];
  let holders = new Map<string, SeenHolders>();
  try {
    for (let i = 0; i < WRITERS; i++) writers.push(await ParquetWriter.open());
    await exportTables(job, writers[0]);
    holders = await exportHolders(job, writers[0], seen);
    await run.all(writers);
    await job.removeDropped();
    job.checkWritten();
    seen.at = at;
    seen.nowS = request.nowS;
    for (const [key, token] of run.learned) seen.tokens.set(key, token);
    for (const [mint, known] of holders) seen.holders.set(mint, known);
  } catch (error) {
    // What it has planned may not be written.
    seen.forget();
    throw error;
  } finally {
    for (const writer of writers) writer.close();
    await request.folder.flush();
  }
  return job.counts;
}

/** Brings the files of depth up to date. */
class DepthRun {
  /** What is known of tokens once the run has ended. */
  readonly learned = new Map<string, SeenToken>();
  /** The listed files in the request's window, by token. */
  private readonly listed: Map<string, ListedFile[]>;
  private readonly depth: readonly DepthDataset[];
  private readonly request: ExportRequest;
  private readonly store: StoreOperations;
  private assets: Assets = new Map();

  constructor(
    private readonly job: ExportJob,
    private readonly seen: Seen,
  ) {
    const { request, store } = job;
    this.request = request;
    this.store = store;
    this.depth = DEPTH_DATASETS.filter((dataset) => request.datasets.includes(dataset));
    this.listed = this.listedFiles();
  }

  async all(writers: readonly ParquetWriter[]): Promise<void> {
    if (this.depth.includes('scores')) this.assets = await assetsOf(allTokens(this.store));
    const tasks = this.tasks();
    // Each writer takes the next task once it has written one; the first failure ends the tasks, but for lost objects.
    const written = writers.map(async (writer) => {
      for await (const task of { [Symbol.asyncIterator]: () => tasks }) {
        await this.write(task, writer).catch((error: unknown) => {
          if (!(error instanceof LostObjectError)) throw error;
          this.job.failures.add(`${task.file}: ${error.message}`);
        });
      }
    });
    const failed = (await Promise.allSettled(written)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  private listedFiles(): Map<string, ListedFile[]> {
    const { folder, tier, fromS, toS } = this.request;
    const listed = new Map<string, ListedFile[]>();
    for (const file of Object.keys(folder.files)) {
      const named = nameOf(file);
      if (named === null || !this.depth.includes(named.dataset)) continue;
      if (tier !== null && named.tier !== tier) continue;
      if (named.dayS + DAY_S <= fromS || named.dayS >= toS) continue;
      const own = listed.get(tokenKey(named)) ?? [];
      own.push({ file, ...named });
      listed.set(tokenKey(named), own);
    }
    return listed;
  }

  private async *tasks(): AsyncGenerator<Task> {
    const { tokens } = this.request;
    const wanted = tokens && new Set(tokens.map(tokenKey));
    const gone = new Set(this.listed.keys());
    for await (const token of allTokens(this.store)) {
      const key = tokenKey(token);
      gone.delete(key);
      if (wanted?.has(key) === false) continue;
      wanted?.delete(key);
      const hasAny = token.stamp !== null || this.listed.has(key);
      if (hasAny && this.isDue(token)) yield* this.tasksOf(token);
    }
    const [unknown] = wanted ?? [];
    if (unknown !== undefined) throw new InputError(`the store does not know the token ${unknown}`);
    if (tokens !== null) return;
    for (const key of gone)
      for (const { file } of this.listed.get(key) ?? []) this.job.dropped.add(file);
  }

  private async *tasksOf(token: ExportToken): AsyncGenerator<Task> {
    const exported = this.exported(token);
    const listed = this.listed.get(tokenKey(token)) ?? [];
    const { other } = exported;
    // Read before the snapshots: commits during the run are looked at again.
    const span = await exported.plans.span();
    const leg = other && seenDepth(other.leg, await other.plans.span());
    const isChanged = await this.changedDays(token, leg);
    for (const dayS of this.daysOf(span, listed)) {
      if (!isChanged(dayS)) continue;
      const ofDay = listed.filter((one) => one.dayS === dayS);
      for (const dataset of this.depth) {
        const own = ofDay.filter((one) => one.dataset === dataset);
        const reach = reachOfDay(dayS, this.request.view.step_s);
        const files = own.map(({ file }) => file);
        const window = this.job.windowOf(reach, files);
        const planned = await this.plansOf(exported, dataset, dayS, window);
        for (const plan of planned) {
          const file = depthFile(dataset, token, dayS, plan.tier);
          const isUpToDate = await this.job.isAsListed(file, digestOf(plan, dataset));
          if (!isUpToDate) yield { ...exported, file, dataset, plan, window };
        }
        const kept = new Set(planned.map(({ tier }) => tier));
        for (const { file, tier } of own) if (!kept.has(tier)) this.job.dropped.add(file);
      }
    }
    const facts = this.factsOf(token);
    this.learned.set(tokenKey(token), { ...seenDepth(token, span), leg, facts });
  }

  private exported(token: ExportToken): Exported {
    const { view, nowS } = this.request;
    const plansOf = (of: ExportToken) => new TokenPlans(this.store, of, view, nowS);
    const leg = otherLeg(token, this.assets);
    return { token, plans: plansOf(token), other: leg && { leg, plans: plansOf(leg) } };
  }

  /** Beside its snapshots, what decides a token's scores. */
  private factsOf(token: ExportToken): string | null {
    return this.depth.includes('scores') ? scoreFacts(token, otherLeg(token, this.assets)) : null;
  }

  private isDue(token: ExportToken): boolean {
    const known = this.seen.tokens.get(tokenKey(token));
    if (known?.facts !== this.factsOf(token)) return true;
    const other = otherLeg(token, this.assets);
    return this.hasChanged(token, known) || (other !== null && this.hasChanged(other, known.leg));
  }

  private hasChanged(token: ExportToken, known: SeenDepth | null): boolean {
    // Snapshots of the future are shown later.
    return known?.stamp !== token.stamp || known.lastT > this.seen.nowS;
  }

  /** Which days of a token can differ from what an earlier run has seen. @param leg what is known of the other leg now */
  private async changedDays(
    token: ExportToken,
    leg: SeenDepth | null,
  ): Promise<(dayS: number) => boolean> {
    const known = this.seen.tokens.get(tokenKey(token));
    if (known?.facts !== this.factsOf(token)) return () => true;
    const own = await this.changedSnapshots(token, known);
    const other = otherLeg(token, this.assets);
    if (other === null) return own;
    // The other leg's snapshots count for a day.
    const ofLeg = await this.changedSnapshots(other, known.leg);
    const isRepriced = repricedDays(other, known.leg?.firstT ?? Infinity, leg?.firstT ?? Infinity);
    return (dayS) => own(dayS) || ofLeg(dayS) || ofLeg(dayS - DAY_S) || isRepriced(dayS);
  }

  private async changedSnapshots(
    token: ExportToken,
    known: SeenDepth | null,
  ): Promise<(dayS: number) => boolean> {
    const { at, nowS } = this.seen;
    if (known === null || at === null) return () => true;
    const revised = await this.store.exportRevised(token, at.position);
    if (revised === null) return () => true;
    const days = new Set(revised);
    // Near a day's end, a step has snapshots of two days.
    const aroundS = this.request.view.step_s === null ? 0 : DAY_S;
    // What is shown since may hide snapshots before it.
    const newS = dayOf(Math.max(0, Math.min(known.lastT, nowS) - HIDING_S)) - aroundS;
    return (dayS) =>
      dayS >= newS || [-aroundS, 0, aroundS].some((shiftS) => days.has(dayS + shiftS));
  }

  private async plansOf(
    { token, plans, other }: Exported,
    dataset: DepthDataset,
    dayS: number,
    window: Window,
  ): Promise<DayPlan[]> {
    if (dataset === 'scores' && !isScoredToken(token, other?.leg ?? null)) return [];
    const { tier } = this.request;
    const all = await plans.plan(dayS, window.fromS, window.toS);
    const planned = tier === null ? all : all.filter((plan) => plan.tier === tier);
    return dataset === 'scores' ? planScores(planned, other) : planned;
  }

  /** Days that have snapshots, or files, ascending. */
  private daysOf(span: ExportDirectory['span'], listed: readonly ListedFile[]): number[] {
    const { fromS, toS } = this.request;
    const days = new Set(listed.map(({ dayS }) => dayS));
    if (span !== null) {
      const end = Math.min(toS, span.lastT + 1);
      for (let dayS = dayOf(Math.max(fromS, span.firstT)); dayS < end; dayS += DAY_S)
        days.add(dayS);
    }
    return [...days].sort((a, b) => a - b);
  }

  private async write(task: Task, writer: ParquetWriter): Promise<void> {
    let isReplaced = false;
    await readStored(async () => {
      const current = isReplaced ? await this.plannedAgain(task) : task;
      isReplaced = true;
      if (current === null) {
        this.job.dropped.add(task.file);
        return;
      }
      const { file, plan, dataset, window } = current;
      await this.job.put(file, digestOf(plan, dataset), window, (to) =>
        this.writeFile(current, writer, to),
      );
    });
  }

  /** The task with the segments that replaced its own; null if its snapshots are gone. */
  private async plannedAgain(task: Task): Promise<Task | null> {
    const { token, dataset, window, plan } = task;
    const exported = this.exported(token);
    const planned = await this.plansOf(exported, dataset, plan.dayS, window);
    const own = planned.find(({ tier }) => tier === plan.tier);
    return own === undefined ? null : { ...task, ...exported, plan: own };
  }

  /** @returns the rows of the file */
  private async writeFile(
    { token, dataset, plan, plans, other }: Task,
    writer: ParquetWriter,
    to: string,
  ): Promise<number> {
    const { group, min_pct: minPct, max_pct: maxPct } = this.request.view;
    const read = (ids: readonly number[]) =>
      this.store.exportBlocks(ids).catch((error: unknown) => {
        throw error instanceof InputError ? new LostObjectError(error.message) : error;
      });
    const blocks = await StagedBlocks.read(segmentsOf(plan), BLOCKS_AT_ONCE, read, `${to}.blocks`);
    try {
      const markets = shownMarkets(plans.markets, group, binsOfBand(minPct, maxPct));
      const shown = { markets, own: plans.markets, ofLeg: other?.plans.markets ?? [] };
      const table = depthTable(dataset, plan, shown, blocks);
      await writer.write(depthSource(token, plan, table), to);
      return table.rowCount;
    } finally {
      blocks.close();
    }
  }
}

const seenDepth = ({ stamp }: ExportToken, span: ExportDirectory['span']): SeenDepth => {
  return { stamp, firstT: span?.firstT ?? Infinity, lastT: span?.lastT ?? -1 };
};

/** All tokens, a few thousand at a time. */
export async function* allTokens(store: StoreOperations): AsyncGenerator<ExportToken> {
  for (let afterId = -1; ;) {
    const tokens = await store.exportTokens(afterId);
    yield* tokens;
    const last = tokens.at(-1);
    if (last === undefined) return;
    afterId = last.tokenId;
  }
}
