/**
 * What a store has applied of its log, and how it applies the next entry, with the mark in the same transaction. Both
 * kinds of log call it: `log/file-log-writer.ts` on a single server, `log/applier.ts` on a node.
 */
import type { EventEmitter } from 'node:events';
import { applyBundle, retireAll } from './apply-bundle.js';
import { bundleFile, framesOf, readBundleFile } from './bundle.js';
import type { Commits, CommitTools, StoreEvents, Added } from './commit.js';
import type { Catalog } from './depth/catalog.js';
import type { Revisions } from './depth/revisions.js';
import type { Database } from './duckdb/database.js';
import { InputError } from './errors.js';
import type { KeyRing } from './keys/key-ring.js';
import type { Statements } from './duckdb/statements.js';
import type { Entry, SharedEntry } from './log/entry.js';
import { type LogMark, markOf, writeMark } from './log/mark.js';
import { type Settings, type SettingsChange, settingsOf, writeSettings } from './log/settings.js';
import type { Meta } from './meta.js';
import type { CommitReport, Departure } from './operations.js';

/** What entries change. */
interface LogParts {
  directory: string;
  database: Database;
  catalog: Catalog;
  keys: KeyRing;
  revisions: Revisions;
  commits: Commits;
  events: EventEmitter<StoreEvents>;
}

export class AppliedLog {
  /** The last entry that the store has applied; null if there is none. */
  private last: LogMark | null;
  /** The mark in the database: an entry that changes nothing leaves none. */
  private stored: LogMark | null;
  /** The settings in the log, as of the store's position; none if it follows no cluster's. */
  settings: Settings;
  /** The log to which a single server appends; null before it is open. A copy of a store begins another one. */
  ownLogId: string | null = null;

  constructor(
    private readonly parts: LogParts,
    meta: Meta,
  ) {
    this.stored = this.last = markOf(meta);
    this.settings = settingsOf(meta);
  }

  /** The last applied entry of a cluster's log; null if the store follows none. */
  get mark(): LogMark | null {
    return this.last?.isOwn === false ? this.last : null;
  }

  /** The last applied entry of a single server's log; null if there is none. */
  get ownMark(): LogMark | null {
    return this.last?.isOwn === true ? this.last : null;
  }

  /** The log from which the store gets its next entry; null before its first one. */
  get logId(): string | null {
    if (this.last === null) return null;
    return this.last.isOwn ? (this.ownLogId ?? this.last.logId) : this.last.logId;
  }

  /** Position of the last applied entry; 0 if there is none. */
  get position(): number {
    return this.last?.position ?? 0;
  }

  /** Position of the last applied entry that has left a mark in the database; 0 if there is none. */
  get storedPosition(): number {
    return this.stored?.position ?? 0;
  }

  /** Whether the store has neither tokens nor keys. */
  get isEmpty(): boolean {
    return this.parts.catalog.tokenCount === 0 && this.parts.keys.count === 0;
  }

  /**
   * Applies an entry, and writes its mark in the same transaction. The bundle of a large entry is in the staging folder.
   * @returns the result for the command that published the entry
   */
  apply(entry: Entry, mark: LogMark): Promise<unknown> {
    return this.marked(mark, () => this.applied(entry, mark));
  }

  /** Applies a bundle like an entry: its bytes, or its file. */
  applyBundle(bundle: Uint8Array | string, mark: LogMark): Promise<unknown> {
    return this.marked(mark, () => this.committed(bundle, mark));
  }

  /**
   * Applies several entries in one transaction, with the same result as applying them one by one. If one fails, none is
   * applied.
   */
  applyTogether(entries: readonly SharedEntry[], mark: LogMark): Promise<void> {
    return this.marked(mark, () => this.committedTogether(entries, mark));
  }

  /** Skips an entry that changes nothing, without writing that. */
  skip(mark: LogMark): void {
    this.last = mark;
    this.parts.revisions.entryApplied(mark);
  }

  /** Skips an entry: writes only its mark. */
  pass(mark: LogMark): Promise<void> {
    return this.marked(mark, () => this.write((tx) => writeMark(tx, mark)));
  }

  private applied(entry: Entry, mark: LogMark): Promise<unknown> {
    const { directory, keys } = this.parts;
    switch (entry.kind) {
      case 'bundle':
        return this.committed(entry.bundle, mark);
      case 'large-bundle':
        return this.committed(bundleFile(directory, entry.name), mark);
      case 'retirement':
        return this.changed((tools) => retireAll(entry, tools), mark);
      case 'archived':
        return this.changed(({ depth }) => depth.archiveWindow(entry), mark);
      case 'key':
      case 'key-update':
      case 'revocation':
        return this.exclusive(() => keys.adopt(entry, mark));
      case 'origin':
      case 'settings':
        return this.changeSettings(entry.settings, mark);
    }
  }

  private async committed(bundle: Uint8Array | string, mark: LogMark): Promise<CommitReport> {
    const beganMs = performance.now();
    const frames = typeof bundle === 'string' ? readBundleFile(bundle) : framesOf(bundle);
    const { commits, events } = this.parts;
    const { result, tokens } = await commits.change((tools) => applyBundle(frames, tools), mark);
    const { added, ...applied } = result;
    events.emit('commit', added, performance.now() - beganMs);
    return { tokens, ...applied };
  }

  private async changed<T>(body: (tools: CommitTools) => Promise<T>, mark: LogMark): Promise<T> {
    return (await this.parts.commits.change(body, mark)).result;
  }

  private async committedTogether(entries: readonly SharedEntry[], mark: LogMark): Promise<void> {
    const beganMs = performance.now();
    const { commits, events, revisions } = this.parts;
    const first = mark.position - entries.length + 1;
    const { result } = await commits.change(async (tools) => {
      const added: Added[] = [];
      for (const [i, entry] of entries.entries()) {
        // Revisions get the position of the entry that made them.
        if (i > 0) await revisions.write(tools.stage, { ...mark, position: first + i - 1 });
        if (entry.kind === 'retirement') await retireAll(entry, tools);
        else added.push((await applyBundle(framesOf(entry.bundle), tools)).added);
      }
      return added;
    }, mark);
    const tookMs = (performance.now() - beganMs) / entries.length;
    for (const added of result) events.emit('commit', added, tookMs);
  }

  private async changeSettings(changed: Settings, mark: LogMark): Promise<SettingsChange> {
    const before = this.settings;
    const settings = { ...before, ...changed };
    await this.write(async (tx) => {
      await writeSettings(tx, settings);
      await writeMark(tx, mark);
    });
    this.settings = settings;
    return { position: mark.position, before };
  }

  /** Detaches the store from its log, which has other settings than the node's configuration may have. */
  async leave(mark: LogMark): Promise<Departure> {
    const departure = { position: mark.position, settings: this.settings };
    const { revisions } = this.parts;
    await this.write(async (tx) => {
      await revisions.forgetAll(tx, null);
      await writeMark(tx, null);
      await writeSettings(tx, null);
    });
    revisions.forgotAll(null);
    this.last = null;
    this.stored = null;
    this.settings = {};
    return departure;
  }

  /** @throws InputError if the store follows a log: other nodes would not receive a change that bypasses it */
  refuseOtherChanges(): void {
    if (this.mark === null) return;
    throw new InputError(
      `${this.parts.directory} belongs to a node of a cluster: start the node (fathom serve --cluster ... --node ...), through which commands reach the log`,
    );
  }

  private async marked<T>(mark: LogMark, apply: () => Promise<T>): Promise<T> {
    if (this.stored !== null && mark.logId !== this.stored.logId) await this.forgetRevisions();
    const result = await apply();
    this.skip(mark);
    this.stored = mark;
    return result;
  }

  /** Forgets the revisions of the log before: positions of another one count anew. */
  private async forgetRevisions(): Promise<void> {
    const { stored } = this;
    await this.write((tx) => this.parts.revisions.forgetAll(tx, stored));
    this.parts.revisions.forgotAll(stored);
  }

  private exclusive<T>(body: () => Promise<T>): Promise<T> {
    return this.parts.commits.exclusive(body);
  }

  private write(body: (tx: Statements) => Promise<void>): Promise<void> {
    return this.exclusive(() => this.parts.database.transaction(body));
  }
}
