/** Random changes of data and keys through the nodes of a cluster, some concurrent, and their outcomes. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../bench/random.js';
import { type Operation, Operations, type Rows } from '../crash/operations.js';
import { perform } from '../crash/perform.js';
import { after } from '../crash/contents.js';
import type { ComputePool } from '../../compute/pool.js';
import { backupStore } from '../../storage/backup.js';
import { deleteSnapshots } from '../../storage/delete.js';
import { InputError, StoreChangedError, StoreUnavailableError } from '../../storage/errors.js';
import { ingestFiles } from '../../storage/ingest/ingest.js';
import type { UseStore } from '../../storage/operations.js';
import type { NodeProcess } from '../support/cluster.js';
import { LADDER_T, LADDER_TOKEN, type LadderChange, type Ladders } from './reference.js';
import { temporaryDirectory } from '../support/folders.js';
import { PATIENCE_MS } from '../support/waiting.js';

const KEY = { tier: 'premium' } as const;
/** Snapshots of the token whose markets are merged. */
const LADDERS = 30;
const MARKETS = 4;
/** Ingest omits amounts below one dollar. */
const LEAST_CENTS = 100;

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
  readonly files = new Map<number, Operation | LadderChange>();
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
  private lastLadder = 0;

  constructor(
    seed: number,
    private readonly pool: ComputePool,
  ) {
    this.random = seededRandom(seed);
    this.operations = new Operations(this.folder, this.random);
  }

  below(end: number): number {
    return Math.floor(this.random() * end);
  }

  /** Makes changes in sequence. */
  async act(nodes: readonly NodeProcess[], goesOn: () => boolean): Promise<void> {
    const own: string[] = [];
    while (goesOn()) {
      const node = nodes[this.below(nodes.length)];
      const kind = this.below(20);
      if (kind < 6) await this.changeLadder(node);
      else if (kind < 8) await this.deleteLadder(node);
      else if (kind < 10) await this.changeKey(node, own);
      else await this.operate(node);
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

  private async operate(node: NodeProcess): Promise<void> {
    const operation = this.operations.next(this.rows, []);
    const { number } = operation;
    if (operation.kind === 'ingest') this.files.set(number, operation);
    if (operation.kind === 'backup') return this.backUp(node, operation.out);
    const { path: directory } = node.directory;
    const outcome = await this.outcome(() =>
      perform(operation, directory, this.pool, throughNode(node)),
    );
    if (operation.kind === 'prune') {
      this.prunes.push({ name: `${operation.token} ${operation.beforeS}`, outcome });
    } else this.outcomes.set(number, outcome);
    if (outcome === 'done') this.rows = after(this.rows, operation);
  }

  private async backUp(node: NodeProcess, directory: string): Promise<void> {
    const request = { directory: node.directory.path, out: directory, useStore: throughNode(node) };
    await this.outcome(async () => {
      const { position } = await backupStore(request);
      this.backups.push({ directory, position: position ?? NaN });
    });
  }

  private async changeLadder(node: NodeProcess): Promise<void> {
    const name = `ladder-${++this.lastLadder}`;
    const number = -this.lastLadder;
    const isMerge = this.below(3) > 0;
    const ladders: Ladders = new Map();
    for (let i = this.below(3); i >= 0; i--) {
      const amounts = new Map<string, number>();
      for (let m = this.below(3); m >= 0; m--) {
        amounts.set(`m${this.below(MARKETS)}`, LEAST_CENTS + this.lastLadder);
      }
      ladders.set(LADDER_T - 60 * this.below(LADDERS), { price: 2 + 2 * this.below(2), amounts });
    }
    const file = path.join(this.folder, `${name}.ndjson`);
    const lines = Array.from(ladders, ([t, { price, amounts }]) => {
      const markets = Array.from(amounts, ([address, amount]) => ({
        source: 'Orca',
        exchange_type: 'DEX',
        type: 'onchain_pool',
        address,
        pair: null,
        cells: [[5, amount / 100, 0]],
      }));
      const of = { chain: 'mainchain', address: LADDER_TOKEN, tier: 'raw' };
      return JSON.stringify({ ...of, t, price_usd: price, markets });
    });
    writeFileSync(file, `${lines.join('\n')}\n`);
    this.files.set(number, { kind: 'ladder', isMerge, ladders });
    const request = {
      directory: node.directory.path,
      dataset: 'snapshots' as const,
      files: [file],
    };
    const useStore = throughNode(node);
    const outcome = await this.outcome(async () => {
      const ingested = ingestFiles({ ...request, merge: isMerge, pool: this.pool, useStore });
      for await (const report of ingested) void report;
    });
    this.outcomes.set(number, outcome);
  }

  private async deleteLadder(node: NodeProcess): Promise<void> {
    const fromS = LADDER_T - 60 * this.below(LADDERS);
    const markets = this.below(2) === 0 ? null : [`Orca/m${this.below(MARKETS)}`];
    const of = { kind: 'delete', chain: 'mainchain', address: LADDER_TOKEN, tier: null } as const;
    const what = { ...of, fromS, toS: fromS + 180, markets, needsAny: true };
    const request = { directory: node.directory.path, dryRun: false };
    const useStore = throughNode(node);
    await this.outcome(() => deleteSnapshots({ ...request, useStore }, what));
  }

  /** @param own keys that nobody else changes */
  private async changeKey(node: NodeProcess, own: string[]): Promise<void> {
    const id = own[this.below(own.length)] as string | undefined;
    const kind = this.below(3);
    if (id === undefined || kind === 0) {
      await this.outcome(async () => {
        const issued = await node.command((store) => store.createKey(KEY));
        this.keys.set(issued.id, [{ text: issued.key, isLive: true }]);
        own.push(issued.id);
      });
      return;
    }
    const texts = this.keys.get(id) ?? [];
    const before = texts.map(({ isLive }) => isLive);
    // Until the command ends.
    const doubt = (): void => {
      texts.forEach((one, i) => (one.isLive = before[i] === false ? false : null));
    };
    doubt();
    const outcome = await this.outcome(async () => {
      if (kind === 1) {
        await node.command((store) => store.revokeKey(id));
        for (const one of texts) one.isLive = false;
      } else {
        const { key } = await node.command((store) => store.rotateKey(id));
        for (const one of texts) one.isLive = false;
        texts.push({ text: key, isLive: true });
      }
    });
    if (outcome === 'refused') texts.forEach((one, i) => (one.isLive = before[i]));
    // The change may still be applied after the next change to this key.
    if (outcome === 'unknown' || kind === 1) own.splice(own.indexOf(id), 1);
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

/** The store as commands reach it through a node, with one connection per request. */
function throughNode(node: NodeProcess): UseStore {
  return (body) => node.command(body);
}
