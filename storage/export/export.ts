/** Exports a store as Parquet files, a day of a token in each; only what is new or has changed is written. */
import path from 'node:path';
import { binsOfBand } from '../../compute/ladder.js';
import type { Tier } from '../../compute/market.js';
import { DAY_S } from '../../compute/time.js';
import { readStored, type TokenName } from '../contract.js';
import { fileBytes } from '../disk.js';
import { InputError } from '../errors.js';
import type { StoreOperations } from '../operations.js';
import { ParquetWriter } from '../parquet-file.js';
import { type DayPlan, digestOf, reachOfDay, TokenPlans } from './depth-plan.js';
import { depthSource, depthTable, segmentsOf, shownMarkets, StagedBlocks } from './depth-rows.js';
import type { ExportFolder } from './folder.js';
import {
  dayOf,
  DEPTH_DATASETS,
  type DepthDataset,
  depthFile,
  type ExportDataset,
  type ExportView,
  type NamedFile,
  nameOf,
  TABLE_DATASETS,
  tableFile,
  tableOfFile,
  TOKENS,
} from './layout.js';
import type { ExportTableName, TablePart } from './table-columns.js';
import { digestOfPart, readPart } from './tables.js';
import type { ExportDirectory, ExportPosition, ExportToken } from './source.js';

/** Files that are written at the same time. */
const WRITERS = 2;

/** `fromS <= t < toS`, epoch seconds. */
interface Window {
  fromS: number;
  toS: number;
}

export interface ExportRequest extends Window {
  folder: ExportFolder;
  view: ExportView;
  datasets: readonly ExportDataset[];
  /** null: all tiers. */
  tier: Tier | null;
  /** null: all tokens. */
  tokens: readonly TokenName[] | null;
  /** Later snapshots are not shown. */
  nowS: number;
  onProgress?: ((counts: ExportCounts, done: string) => void) | undefined;
}

/** What a run has done. */
export interface ExportCounts {
  /** Files that were written, and their rows and bytes. */
  written: number;
  rows: number;
  bytes: number;
  unchanged: number;
  removed: number;
}

/** A file to write. */
interface Task {
  file: string;
  token: ExportToken;
  dataset: DepthDataset;
  plan: DayPlan;
  /** Of the file's day. */
  window: Window;
  plans: TokenPlans;
}

/** A listed file, and what its name says. */
interface ListedFile extends NamedFile {
  file: string;
}

const tokenKey = ({ chain, address }: TokenName): string => `${chain}:${address}`;

/** What is known of a store after a run that a later run with the same request need not look at again. */
export class Seen {
  at: ExportPosition | null = null;
  nowS = 0;
  /** By token: its stamp, and the time of its last snapshot. */
  readonly tokens = new Map<string, { stamp: string | null; lastT: number }>();

  /** Whether nothing can differ. */
  isAll({ history, position }: ExportPosition): boolean {
    if (this.at?.history !== history || this.at.position !== position) return false;
    return [...this.tokens.values()].every(({ lastT }) => lastT <= this.nowS);
  }
}

/**
 * Brings an export up to date with a store.
 * @param seen by an earlier run; it learns from this one
 * @throws InputError if the folder is of another store, or the store does not know a token; DiskFullError; DamageError
 */
export async function exportStore(
  request: ExportRequest,
  store: StoreOperations,
  seen = new Seen(),
): Promise<ExportCounts> {
  // Commits during the run are looked at again.
  const at = await store.exportPosition();
  await request.folder.belongTo(at.store);
  if (seen.at?.history !== at.history) seen.tokens.clear();
  const run = new Run(request, store, seen);
  if (seen.isAll(at)) return run.counts;
  const writers: ParquetWriter[] = [];
  try {
    for (let i = 0; i < WRITERS; i++) writers.push(await ParquetWriter.open());
    await run.tables(writers[0]);
    await run.all(writers);
    await run.removeDropped();
    seen.at = at;
    seen.nowS = request.nowS;
  } catch (error) {
    // What it has planned may not be written.
    seen.at = null;
    seen.tokens.clear();
    throw error;
  } finally {
    for (const writer of writers) writer.close();
    await request.folder.flush();
  }
  return run.counts;
}

class Run {
  readonly counts: ExportCounts = { written: 0, rows: 0, bytes: 0, unchanged: 0, removed: 0 };
  /** The listed files of depth in the request's window, by token. */
  private readonly listed: Map<string, ListedFile[]>;
  private readonly depth: readonly DepthDataset[];
  /** Files to remove: a folder that loses one may be about to get another. */
  private readonly dropped = new Set<string>();

  constructor(
    private readonly request: ExportRequest,
    private readonly store: StoreOperations,
    private readonly seen: Seen,
  ) {
    this.depth = DEPTH_DATASETS.filter((dataset) => request.datasets.includes(dataset));
    this.listed = this.listedFiles();
  }

  /** Brings the datasets up to date that are tables: whole ones, and the days of the window. */
  async tables(writer: ParquetWriter): Promise<void> {
    const { datasets, folder, fromS, toS } = this.request;
    for (const table of [TOKENS, ...TABLE_DATASETS] as const) {
      if (table !== TOKENS && !datasets.includes(table)) continue;
      const days = { fromS: dayOf(fromS), toS: dayOf(toS - 1) + DAY_S };
      const parts = await this.store.exportTableParts(table, days.fromS, days.toS);
      const kept = new Set(parts.map(({ dayS }) => tableFile(table, dayS)));
      for (const part of parts) await this.writeTable(table, part, days, writer);
      for (const file of Object.keys(folder.files)) {
        const named = tableOfFile(file);
        if (named?.table !== table || kept.has(file)) continue;
        const { dayS } = named;
        if (dayS === null || (dayS >= days.fromS && dayS < days.toS)) this.dropped.add(file);
      }
    }
  }

  private async writeTable(
    table: ExportTableName,
    wanted: TablePart,
    days: Window,
    writer: ParquetWriter,
  ): Promise<void> {
    const { folder } = this.request;
    const { dayS } = wanted;
    const file = tableFile(table, dayS);
    if (await this.isAsListed(file, digestOfPart(table, wanted))) {
      this.counts.unchanged++;
      return;
    }
    const read = await readPart(this.store, table, wanted);
    if (read === null) {
      if (folder.files[file] !== undefined) this.dropped.add(file);
      return;
    }
    const { part, rowCount, source } = read;
    const window = dayS === null ? days : { fromS: dayS, toS: dayS + DAY_S };
    const known = { digest: digestOfPart(table, part), from: window.fromS, to: window.toS };
    const { rows, bytes } = await folder.put(file, known, async (to) => {
      await writer.write(source, to);
      return rowCount;
    });
    this.count(file, rows, bytes);
  }

  private count(file: string, rows: number, bytes: number): void {
    this.counts.written++;
    this.counts.rows += rows;
    this.counts.bytes += bytes;
    this.request.onProgress?.(this.counts, file);
  }

  async all(writers: readonly ParquetWriter[]): Promise<void> {
    const tasks = this.tasks();
    // Each writer takes the next task once it has written one; the first failure ends the tasks.
    const written = writers.map(async (writer) => {
      for await (const task of { [Symbol.asyncIterator]: () => tasks }) {
        await this.write(task, writer);
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
      for (const { file } of this.listed.get(key) ?? []) this.dropped.add(file);
  }

  private async *tasksOf(token: ExportToken): AsyncGenerator<Task> {
    const { request, store } = this;
    const plans = new TokenPlans(store, token, request.view, request.nowS);
    const key = tokenKey(token);
    const listed = this.listed.get(key) ?? [];
    const span = await plans.span();
    const isChanged = await this.changedDays(token);
    for (const dayS of this.daysOf(span, listed)) {
      if (!isChanged(dayS)) continue;
      const ofDay = listed.filter((one) => one.dayS === dayS);
      for (const dataset of this.depth) {
        const own = ofDay.filter((one) => one.dataset === dataset);
        const window = this.windowOf(dayS, own);
        const planned = await this.plansOf(plans, dayS, window);
        for (const plan of planned) {
          const file = depthFile(dataset, token, dayS, plan.tier);
          const task = { file, token, dataset, plan, window, plans };
          if (await this.isUpToDate(task)) this.counts.unchanged++;
          else yield task;
        }
        const kept = new Set(planned.map(({ tier }) => tier));
        for (const { file, tier } of own) if (!kept.has(tier)) this.dropped.add(file);
      }
    }
    this.seen.tokens.set(key, { stamp: token.stamp, lastT: span?.lastT ?? -1 });
  }

  private isDue(token: ExportToken): boolean {
    const known = this.seen.tokens.get(tokenKey(token));
    // Snapshots of the future are shown later.
    return known?.stamp !== token.stamp || known.lastT > this.seen.nowS;
  }

  /** Which days of a token can differ from what an earlier run has seen. */
  private async changedDays(token: ExportToken): Promise<(dayS: number) => boolean> {
    const known = this.seen.tokens.get(tokenKey(token));
    const { at, nowS } = this.seen;
    if (known === undefined || at === null) return () => true;
    const revised = await this.store.exportRevised(token, at.position);
    if (revised === null) return () => true;
    const days = new Set(revised);
    // Near a day's end, a step has snapshots of two days.
    const aroundS = this.request.view.step_s === null ? 0 : DAY_S;
    const newS = dayOf(Math.max(0, Math.min(known.lastT, nowS))) - aroundS;
    return (dayS) =>
      dayS >= newS || [-aroundS, 0, aroundS].some((shiftS) => days.has(dayS + shiftS));
  }

  private async plansOf(plans: TokenPlans, dayS: number, window: Window): Promise<DayPlan[]> {
    const { tier } = this.request;
    const planned = await plans.plan(dayS, window.fromS, window.toS);
    return tier === null ? planned : planned.filter((plan) => plan.tier === tier);
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

  /** The request's part of a day, and what files of that day have already: none gets less. */
  private windowOf(dayS: number, listed: readonly ListedFile[]): Window {
    const { fromS, toS, folder, view } = this.request;
    const reach = reachOfDay(dayS, view.step_s);
    const window = { fromS: Math.max(fromS, reach.fromS), toS: Math.min(toS, reach.toS) };
    for (const { file } of listed) {
      const known = folder.files[file];
      if (known === undefined) continue;
      // What a killed run left may have all of the day.
      if (known.from >= known.to) return reach;
      window.fromS = Math.min(window.fromS, known.from);
      window.toS = Math.max(window.toS, known.to);
    }
    return window;
  }

  private isUpToDate({ file, dataset, plan }: Task): Promise<boolean> {
    return this.isAsListed(file, digestOf(plan, dataset));
  }

  /** Whether a file is listed with this digest, and is there. */
  private async isAsListed(file: string, digest: string): Promise<boolean> {
    const { folder } = this.request;
    const known = folder.files[file];
    if (known?.digest !== digest) return false;
    return (await fileBytes(path.join(folder.folder, file))) === known.bytes;
  }

  private async write(task: Task, writer: ParquetWriter): Promise<void> {
    const { folder } = this.request;
    let isReplaced = false;
    await readStored(async () => {
      const current = isReplaced ? await this.plannedAgain(task) : task;
      isReplaced = true;
      if (current === null) {
        this.dropped.add(task.file);
        return;
      }
      const { file, plan, dataset, window } = current;
      const { rows, bytes } = await folder.put(
        file,
        { digest: digestOf(plan, dataset), from: window.fromS, to: window.toS },
        (to) => this.writeFile(current, writer, to),
      );
      this.count(file, rows, bytes);
    });
  }

  /** The task with the segments that replaced its own; null if its snapshots are gone. */
  private async plannedAgain(task: Task): Promise<Task | null> {
    const { token, window, plan } = task;
    const plans = new TokenPlans(this.store, token, this.request.view, this.request.nowS);
    const planned = await plans.plan(plan.dayS, window.fromS, window.toS);
    const own = planned.find(({ tier }) => tier === plan.tier);
    return own === undefined ? null : { ...task, plans, plan: own };
  }

  /** @returns the rows of the file */
  private async writeFile(
    { token, dataset, plan, plans }: Task,
    writer: ParquetWriter,
    to: string,
  ): Promise<number> {
    const { group, min_pct: minPct, max_pct: maxPct } = this.request.view;
    const blocks = await StagedBlocks.read(this.store, segmentsOf(plan), `${to}.blocks`);
    try {
      const shown = shownMarkets(plans.markets, group, binsOfBand(minPct, maxPct));
      const table = depthTable(dataset, plan, shown, blocks);
      await writer.write(depthSource(token, plan, table), to);
      return table.rowCount;
    } finally {
      blocks.close();
    }
  }

  /** Removes what is gone; all writers must have ended. */
  async removeDropped(): Promise<void> {
    for (const file of this.dropped) {
      await this.request.folder.remove(file);
      this.counts.removed++;
    }
  }
}

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
