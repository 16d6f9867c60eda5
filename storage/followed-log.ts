/** How a store follows a log: its place there, the settings that it shares, and how entries are applied. */
import type { Changes } from './changes.js';
import { InputError } from './errors.js';
import type { Statements } from './duckdb/statements.js';
import { type LogMark, writeMark } from './log/mark.js';
import { type KnownSettings, writeSettings } from './log/settings.js';
import type { LogTarget } from './log/target.js';
import type { StoreParts } from './opening.js';

export class FollowedLog {
  private latestMark: LogMark | null;
  private knownSettings: KnownSettings;

  constructor(
    private readonly parts: StoreParts,
    private readonly changes: Changes,
  ) {
    this.latestMark = parts.mark;
    this.knownSettings = parts.settings;
  }

  /** Where the store stands in a log; null: it follows none. */
  get mark(): LogMark | null {
    return this.latestMark;
  }

  /** What the store knows of the settings that nodes share. */
  get settings(): KnownSettings {
    return this.knownSettings;
  }

  /** What a log's entries do to the store, each with its mark in one transaction. */
  readonly target: LogTarget = {
    isEmpty: () => this.parts.catalog.tokenCount === 0 && this.parts.keys.count === 0,
    bundle: (frames, mark) => this.marked(mark, () => this.changes.commit(frames, mark)),
    retirement: (entry, mark) => this.marked(mark, () => this.changes.retireAll(entry, mark)),
    several: (entries, mark) => this.marked(mark, () => this.changes.applyEntries(entries, mark)),
    key: (stored, isNew, mark) =>
      this.marked(mark, () => this.exclusive(() => this.parts.keys.adopt(stored, isNew, mark))),
    keyUpdate: (update, mark) =>
      this.marked(mark, () => this.exclusive(() => this.parts.keys.adoptUpdate(update, mark))),
    revocation: (revocation, mark) =>
      this.marked(mark, () =>
        this.exclusive(() => this.parts.keys.adoptRevocation(revocation, mark)),
      ),
    settings: (settings, mark) =>
      this.marked(mark, async () => {
        await this.write(async (tx) => {
          await writeSettings(tx, 'log', settings);
          await writeMark(tx, mark);
        });
        this.knownSettings = { ...this.knownSettings, log: settings };
      }),
    pass: (mark) => this.marked(mark, () => this.write((tx) => writeMark(tx, mark))),
  };

  async saveOwnSettings(own: KnownSettings['own']): Promise<void> {
    await this.write((tx) => writeSettings(tx, 'own', own));
    this.knownSettings = { ...this.knownSettings, own };
  }

  /** Makes the store one that follows no log. @returns the position that it had; null: none */
  async leave(): Promise<number | null> {
    const position = this.latestMark?.position ?? null;
    let left: () => void = () => undefined;
    await this.write(async (tx) => {
      left = await this.parts.revisions.leaveLog(tx);
      await writeMark(tx, null);
      await writeSettings(tx, 'log', null);
      await writeSettings(tx, 'own', null);
    });
    left();
    this.latestMark = null;
    this.knownSettings = { log: null, own: null };
    return position;
  }

  /** @throws InputError where the store follows a log: what is not in the log would be on this node alone */
  refuseOtherChanges(): void {
    if (this.latestMark === null) return;
    throw new InputError(
      `${this.parts.directory} belongs to a node of a cluster: start the node (fathom serve --cluster ... --node ...), through which commands reach the log`,
    );
  }

  private async marked<T>(mark: LogMark, apply: () => Promise<T>): Promise<T> {
    const result = await apply();
    this.latestMark = mark;
    this.parts.revisions.passed(mark);
    return result;
  }

  private exclusive<T>(body: () => Promise<T>): Promise<T> {
    return this.parts.commits.exclusive(body);
  }

  private write(body: (tx: Statements) => Promise<void>): Promise<void> {
    return this.exclusive(() => this.parts.database.transaction(body));
  }
}
