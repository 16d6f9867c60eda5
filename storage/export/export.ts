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
import { type DayPlan, digestOf, TokenPlans } from './depth-plan.js';
import { depthSource, depthTable, segmentsOf, shownMarkets, StagedBlocks } from './depth-rows.js';
import type { ExportFolder } from './folder.js';
import {
  dayOf,
  depthFile,
  type ExportDataset,
  type ExportView,
  type NamedFile,
  nameOf,
} from './layout.js';
import type { ExportToken } from './source.js';

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
  dataset: ExportDataset;
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

/**
 * Brings an export up to date with a store.
 * @param isDue whether a token has to be looked at; default: all are
 * @throws InputError if the store does not know a token; DiskFullError; DamageError
 */
export async function exportStore(
  request: ExportRequest,
  store: StoreOperations,
  isDue: (token: ExportToken) => boolean = () => true,
): Promise<ExportCounts> {
  const run = new Run(request, store);
  const writers: ParquetWriter[] = [];
  try {
    for (let i = 0; i < WRITERS; i++) writers.push(await ParquetWriter.open());
    await run.all(writers, isDue);
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

  constructor(
    private readonly request: ExportRequest,
    private readonly store: StoreOperations,
  ) {
    this.listed = this.listedFiles();
  }

  async all(writers: readonly ParquetWriter[], isDue: (token: ExportToken) => boolean) {
    const tasks = this.tasks(isDue);
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
    const { folder, datasets, tier, fromS, toS } = this.request;
    const listed = new Map<string, ListedFile[]>();
    for (const file of Object.keys(folder.files)) {
      const named = nameOf(file);
      if (named === null || !datasets.includes(named.dataset)) continue;
      if (tier !== null && named.tier !== tier) continue;
      if (named.dayS + DAY_S <= fromS || named.dayS >= toS) continue;
      const own = listed.get(tokenKey(named)) ?? [];
      own.push({ file, ...named });
      listed.set(tokenKey(named), own);
    }
    return listed;
  }

  private async *tasks(isDue: (token: ExportToken) => boolean): AsyncGenerator<Task> {
    const { tokens } = this.request;
    const wanted = tokens && new Set(tokens.map(tokenKey));
    const gone = new Set(this.listed.keys());
    for await (const token of allTokens(this.store)) {
      const key = tokenKey(token);
      gone.delete(key);
      if (wanted?.has(key) === false) continue;
      wanted?.delete(key);
      const hasAny = token.stamp !== null || this.listed.has(key);
      if (hasAny && isDue(token)) yield* this.tasksOf(token);
    }
    const [unknown] = wanted ?? [];
    if (unknown !== undefined) throw new InputError(`the store does not know the token ${unknown}`);
    if (tokens !== null) return;
    for (const key of gone)
      for (const { file } of this.listed.get(key) ?? []) await this.drop(file);
  }

  private async *tasksOf(token: ExportToken): AsyncGenerator<Task> {
    const { request, store } = this;
    const plans = new TokenPlans(store, token, request.view, request.nowS);
    const listed = this.listed.get(tokenKey(token)) ?? [];
    for (const dayS of await this.daysOf(plans, listed)) {
      const ofDay = listed.filter((one) => one.dayS === dayS);
      for (const dataset of request.datasets) {
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
        for (const { file, tier } of own) if (!kept.has(tier)) await this.drop(file);
      }
    }
  }

  private async plansOf(plans: TokenPlans, dayS: number, window: Window): Promise<DayPlan[]> {
    const { tier } = this.request;
    const planned = await plans.plan(dayS, window.fromS, window.toS);
    return tier === null ? planned : planned.filter((plan) => plan.tier === tier);
  }

  /** Days that have snapshots, or files, ascending. */
  private async daysOf(plans: TokenPlans, listed: readonly ListedFile[]): Promise<number[]> {
    const { fromS, toS } = this.request;
    const span = await plans.span();
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
    const { fromS, toS, folder } = this.request;
    const window = { fromS: Math.max(fromS, dayS), toS: Math.min(toS, dayS + DAY_S) };
    for (const { file } of listed) {
      const known = folder.files[file];
      if (known === undefined || known.from >= known.to) continue;
      window.fromS = Math.min(window.fromS, known.from);
      window.toS = Math.max(window.toS, known.to);
    }
    return window;
  }

  private async isUpToDate({ file, dataset, plan }: Task): Promise<boolean> {
    const { folder } = this.request;
    const known = folder.files[file];
    if (known?.digest !== digestOf(plan, dataset)) return false;
    return (await fileBytes(path.join(folder.folder, file))) === known.bytes;
  }

  private async write(task: Task, writer: ParquetWriter): Promise<void> {
    const { folder, onProgress } = this.request;
    let isReplaced = false;
    await readStored(async () => {
      const current = isReplaced ? await this.plannedAgain(task) : task;
      isReplaced = true;
      if (current === null) return this.drop(task.file);
      const { file, plan, dataset, window } = current;
      const { rows, bytes } = await folder.put(
        file,
        { digest: digestOf(plan, dataset), from: window.fromS, to: window.toS },
        (to) => this.writeFile(current, writer, to),
      );
      this.counts.written++;
      this.counts.rows += rows;
      this.counts.bytes += bytes;
      onProgress?.(this.counts, file);
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

  private async drop(file: string): Promise<void> {
    await this.request.folder.remove(file);
    this.counts.removed++;
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
