/** The state that kills share: the store under test, what it should hold, and counts. */
import { cpSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { CheckCursor } from '../../storage/operations.js';
import { openStore } from '../../bench/store.js';
import { contentsOf } from '../walk/contents.js';
import type { Rows } from '../walk/model.js';
import type { Operations } from '../walk/operations.js';

/** Kinds of violations, as named in the summary. */
export type Violation = 'lost' | 'partial' | 'refused' | 'unlocked';

/** An outcome that must not happen. */
export class ViolationError extends Error {
  constructor(
    readonly kind: Violation,
    message: string,
  ) {
    super(message);
  }
}

export class State {
  rows: Rows = new Map();
  /** Ids of keys that work. */
  keys: string[] = [];
  kills = 0;
  acknowledged = 0;
  /** The usual time of each kind of step. */
  private readonly usualMs = new Map<string, number>();
  private readonly counted = new Map<string, number>();

  constructor(
    /** Holds all files of the run. */
    readonly folder: string,
    readonly operations: Operations,
    readonly random: () => number,
  ) {}

  /** The store that all kills share. */
  get directory(): string {
    return path.join(this.folder, 'data');
  }

  /** A process was killed. */
  killed(kind: string): void {
    this.kills++;
    this.count(kind);
  }

  count(what: string): void {
    this.counted.set(what, (this.counted.get(what) ?? 0) + 1);
  }

  get counts(): ReadonlyMap<string, number> {
    return this.counted;
  }

  usual(step: string, guessMs: number): number {
    return this.usualMs.get(step) ?? guessMs;
  }

  /** A step has taken so long. */
  took(step: string, ms: number): void {
    this.usualMs.set(step, (this.usual(step, ms) + ms) / 2);
  }

  /** A kill interrupted a step: it may take longer than assumed. */
  tookLonger(step: string, guessMs: number): void {
    this.usualMs.set(step, this.usual(step, guessMs) * 1.1);
  }
}

interface Contents {
  rows: Map<string, string>;
  keys: string[];
}

/**
 * The contents of a closed store, read from a copy: the next process must mend the log too.
 * @throws ViolationError if it cannot be read, or `fathom check` would find something
 */
export async function contentsOfCopy(directory: string): Promise<Contents> {
  const copy = `${directory}-copy`;
  rmSync(copy, { recursive: true, force: true });
  // Without the socket, and without the database's second name, which in a copy would not be the same file.
  const isFile = (name: string): boolean => !/\.(sock|lock)$/.test(name);
  cpSync(directory, copy, { recursive: true, filter: isFile });
  const contents = await contentsAt(copy);
  rmSync(copy, { recursive: true });
  return contents;
}

/** @throws ViolationError if it cannot be read, or `fathom check` would find something */
export async function contentsAt(directory: string): Promise<Contents> {
  try {
    const store = await openStore(directory);
    try {
      const rows = await contentsOf(store);
      const keys = (await store.listKeys()).flatMap(({ id, revokedAtS }) =>
        revokedAtS === null ? id : [],
      );
      for (let cursor: CheckCursor | null = null; ;) {
        const { damages, next } = await store.checkStep(cursor);
        if (damages.length > 0) throw new Error(`damaged: ${JSON.stringify(damages.slice(0, 5))}`);
        if (next === null) return { rows, keys };
        cursor = next;
      }
    } finally {
      await store.close();
    }
  } catch (error) {
    throw new ViolationError('lost', `the store cannot be read: ${String(error)}`);
  }
}
