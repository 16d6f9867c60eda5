/** Random changes of data and keys through the nodes of a cluster, some concurrent, and their outcomes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../bench/random.js';
import type { ComputePool } from '../../compute/pool.js';
import { InputError, StoreChangedError, StoreUnavailableError } from '../../storage/errors.js';
import type { UseStore } from '../../storage/operations.js';
import type { NodeProcess } from '../support/cluster.js';
import { temporaryDirectory } from '../support/folders.js';
import { PATIENCE_MS } from '../support/waiting.js';
import { after, type Operation, type Rows } from '../walk/model.js';
import { type Habits, Operations } from '../walk/operations.js';
import { perform } from '../walk/perform.js';

const HABITS: Habits = {
  shares: {
    ingest: 42,
    replace: 10,
    merge: 20,
    delete: 10,
    prune: 3,
    create: 4,
    revoke: 3,
    rotate: 3,
    backup: 2,
  },
  prices: [2, 4],
  mayBeRefused: true,
};

/**
 * `refused`: JetStream or the node was away, and the change must not be stored anywhere; `decided`: all nodes refused the
 * entry; `unknown`: the change may or may not be stored.
 */
export type Outcome = 'done' | 'refused' | 'decided' | 'unknown';

interface Backup {
  directory: string;
  position: number;
}

/** A key, and whether servers must accept it; null if its command did not learn the outcome. */
interface KeyText {
  text: string;
  isLive: boolean | null;
}

export class RandomChanges {
  readonly files = new Map<number, Operation>();
  readonly outcomes = new Map<number, Outcome>();
  /** Prunes by token and time, and their outcomes. */
  readonly prunes: { name: string; outcome: Outcome }[] = [];
  readonly keys = new Map<string, KeyText[]>();
  readonly backups: Backup[] = [];
  readonly unexpected: unknown[] = [];
  /** Number of changes started by a node. */
  made = 0;
  private readonly folder = temporaryDirectory();
  private readonly random: () => number;
  private readonly operations: Operations;
  /** Approximately what was acknowledged: it only decides what to try next. */
  private rows: Rows = new Map();

  constructor(
    seed: number,
    private readonly pool: ComputePool,
  ) {
    this.random = seededRandom(seed);
    this.operations = new Operations(this.folder, this.random, HABITS);
  }

  below(end: number): number {
    return Math.floor(this.random() * end);
  }

  /** Makes changes in sequence. */
  async act(nodes: readonly NodeProcess[], goesOn: () => boolean): Promise<void> {
    const own: string[] = [];
    while (goesOn()) {
      await this.change(nodes[this.below(nodes.length)], own);
    }
  }

  /** The number of changes by outcome. */
  tally(): Record<string, number> {
    const tally: Record<string, number> = { backups: this.backups.length };
    for (const outcome of [...this.outcomes.values(), ...this.prunes.map((one) => one.outcome)]) {
      tally[outcome] = (tally[outcome] ?? 0) + 1;
    }
    return tally;
  }

  /** @param own keys that nobody else changes */
  private async change(node: NodeProcess, own: string[]): Promise<void> {
    const operation = this.operations.next({ rows: this.rows, keys: own });
    const { number, kind } = operation;
    if (kind === 'ingest') this.files.set(number, operation);
    const texts = kind === 'revoke' || kind === 'rotate' ? this.keys.get(operation.id)! : [];
    const before = texts.map(({ isLive }) => isLive);
    // Until the command ends.
    texts.forEach((one, i) => (one.isLive = before[i] === false ? false : null));
    const outcome = await this.outcome(async () => {
      const useStore: UseStore = (body) => node.command(body);
      const report = await perform(operation, node.directory.path, this.pool, useStore);
      for (const one of texts) one.isLive = false;
      if (report.rotate !== undefined) texts.push({ text: report.rotate.key, isLive: true });
      if (report.create !== undefined) {
        const { id, key } = report.create;
        this.keys.set(id, [{ text: key, isLive: true }]);
        own.push(id);
      }
      if (kind === 'backup') {
        this.backups.push({ directory: operation.out, position: report.backup?.position ?? NaN });
      }
    });
    if (kind === 'ingest') this.outcomes.set(number, outcome);
    if (kind === 'prune') {
      this.prunes.push({ name: `${operation.token} ${operation.beforeS}`, outcome });
    }
    if (kind === 'revoke' || kind === 'rotate') {
      if (outcome === 'refused') texts.forEach((one, i) => (one.isLive = before[i]));
      // The change may still be applied after the next change to this key.
      if (outcome === 'unknown' || kind === 'revoke') own.splice(own.indexOf(operation.id), 1);
    }
    if (outcome === 'done') this.rows = after(this.rows, operation);
  }

  private async outcome(work: () => Promise<unknown>): Promise<Outcome> {
    const late = new AbortController();
    try {
      await Promise.race([work(), tooLate(late.signal)]);
      this.made++;
      return 'done';
    } catch (error) {
      const { message } = error as Error;
      if (message.includes('takes no commands')) {
        await sleep(100);
        return 'refused';
      }
      this.made++;
      if (error instanceof InputError || error instanceof StoreChangedError) {
        return 'decided';
      }
      if (error instanceof StoreUnavailableError) {
        return message.includes('nothing was stored') ? 'refused' : 'unknown';
      }
      if (!message.includes('went away before it answered')) this.unexpected.push(error);
      return 'unknown';
    } finally {
      late.abort();
    }
  }
}

/** Rejects for a command that never ends. */
async function tooLate(signal: AbortSignal): Promise<never> {
  await sleep(PATIENCE_MS, undefined, { signal }).catch(() => undefined);
  throw new Error('a command did not end');
}
