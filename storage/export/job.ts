/** A run of an export: what is asked for, what has been done, and which files are to go. */
import path from 'node:path';
import type { Tier } from '../../compute/market.js';
import type { TokenName } from '../contract.js';
import { fileBytes } from '../disk.js';
import { Failures, InputError } from '../errors.js';
import type { StoreOperations } from '../operations.js';
import type { ExportFolder } from './folder.js';
import type { ExportDataset, ExportFile, ExportView } from './layout.js';

/** `fromS <= t < toS`, epoch seconds. */
export interface Window {
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

/** Some files could not be written, because objects of the archive are gone or damaged. All others are up to date. */
export class UnwrittenFilesError extends InputError {
  /** @param failed how many */
  constructor(
    { message, faults }: InputError,
    readonly failed: number,
    readonly counts: ExportCounts,
  ) {
    super(message, faults);
  }
}

export class ExportJob {
  readonly counts: ExportCounts = { written: 0, rows: 0, bytes: 0, unchanged: 0, removed: 0 };
  /** Files to remove: a folder that loses one may be about to get another. */
  readonly dropped = new Set<string>();
  /** Files whose archived snapshots cannot be read. */
  readonly failures = new Failures();

  constructor(
    readonly request: ExportRequest,
    readonly store: StoreOperations,
  ) {}

  /** Whether a file is listed with this digest, and is there; if so, it is counted as unchanged. */
  async isAsListed(file: string, digest: string): Promise<boolean> {
    const { folder } = this.request;
    const known = folder.files[file];
    if (known?.digest !== digest) return false;
    if ((await fileBytes(path.join(folder.folder, file))) !== known.bytes) return false;
    this.counts.unchanged++;
    return true;
  }

  /**
   * Writes a file, and counts it.
   * @param window of its data
   * @param write as ExportFolder.put() has it
   */
  async put(
    file: string,
    digest: string,
    { fromS: from, toS: to }: Window,
    write: (to: string) => Promise<number>,
  ): Promise<void> {
    const { folder, onProgress } = this.request;
    const { rows, bytes }: ExportFile = await folder.put(file, { digest, from, to }, write);
    this.counts.written++;
    this.counts.rows += rows;
    this.counts.bytes += bytes;
    onProgress?.(this.counts, file);
  }

  /**
   * The request's part of a day, and what files of that day have already: none gets less.
   * @param reach the times that decide what a day has
   */
  windowOf(reach: Window, files: readonly string[]): Window {
    const { fromS, toS, folder } = this.request;
    const window = { fromS: Math.max(fromS, reach.fromS), toS: Math.min(toS, reach.toS) };
    for (const file of files) {
      const known = folder.files[file];
      if (known === undefined) continue;
      // What a killed run left may have all of the day.
      if (known.from >= known.to) return reach;
      window.fromS = Math.min(window.fromS, known.from);
      window.toS = Math.max(window.toS, known.to);
    }
    return window;
  }

  /** @throws UnwrittenFilesError if a file could not be written */
  checkWritten(): void {
    const { count } = this.failures;
    if (count === 0) return;
    const what = `${count} ${count === 1 ? 'file was' : 'files were'} not written; all others are up to date`;
    throw new UnwrittenFilesError(this.failures.error(what), count, this.counts);
  }

  /** Removes what is gone; all writers must have ended. */
  async removeDropped(): Promise<void> {
    for (const file of this.dropped) {
      await this.request.folder.remove(file);
      this.counts.removed++;
    }
  }
}
