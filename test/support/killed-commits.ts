/** Commits in separate processes that are killed on the way. */
import { cpSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { Script } from './processes.js';
import { DataDirectory } from './stores.js';

/** When a process is killed, as a share of an undisturbed commit's time. */
const KILLED_AT = [0, 0.1, 0.4, 0.7, 0.9, 1];

/** A closed data directory with a bundle to be committed, and copies of it. */
export class StagedCommit {
  readonly template = new DataDirectory();
  private readonly copies: DataDirectory[] = [];

  /** @param contents everything that a closed directory's store holds, after reopening */
  constructor(private readonly contents: (directory: string) => Promise<unknown>) {}

  /**
   * Commits once undisturbed, then kills processes on the way: each must leave all or nothing of the
   * bundle, all of it if the process said so, and a store that opens.
   * @param bundle its name in the staging folder
   */
  async expectAllOrNothing(bundle: string): Promise<void> {
    const before = await this.contents(this.copy());
    const undisturbed = this.copy();
    const whole = Script.start('commit-bundle.mjs', [undisturbed, bundle]);
    const durationMs = Number((await whole.line(/^committed ([\d.]+)/))[1]);
    await whole.exited;
    const after = await this.contents(undisturbed);
    expect(after).not.toEqual(before);
    const outcomes = { nothing: 0, all: 0 };
    for (const share of KILLED_AT) {
      const directory = this.copy();
      const script = Script.start('commit-bundle.mjs', [directory, bundle]);
      await script.line(/^ready$/);
      await sleep(share * durationMs);
      await script.kill();
      const wasCommitted = script.printed.some((line) => line.startsWith('committed'));
      const found = await this.contents(directory);
      const isAll = JSON.stringify(found) === JSON.stringify(after);
      if (!isAll) expect(found).toEqual(before);
      if (wasCommitted) expect(isAll).toBe(true);
      outcomes[isAll ? 'all' : 'nothing']++;
    }
    expect(outcomes.nothing).toBeGreaterThan(0);
  }

  remove(): void {
    for (const directory of [this.template, ...this.copies]) directory.remove();
  }

  private copy(): string {
    const directory = new DataDirectory();
    this.copies.push(directory);
    cpSync(this.template.path, directory.path, { recursive: true });
    return directory.path;
  }
}
