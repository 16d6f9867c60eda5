/** Counts calls over all nodes of a cluster: each reports its counts to the others, and adds theirs to its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DAY_MS } from '../../compute/time.js';
import type { KeyUse } from '../keys/key-uses.js';
import type { KeyDayUsage } from '../keys/contract.js';
import type { UsageBook } from '../keys/usage-book.js';
import { wallMs } from '../wall-clock.js';
import type { JetStreamLog } from './jetstream.js';

const TOPIC = 'usage';
const EVERY_MS = 1000;
/** Every 30th report covers the whole month, and in its first days the month before: this makes up for lost messages. */
const ALL_EVERY_TURNS = 30;
const ALL_AFTER_DAYS = 7;
/** A node that asks for all counts gets those of this many days, and of the whole month in which they begin. */
const ASKED_DAYS = 31;
/** Counts in a message, which stays well below the limit of NATS. */
const COUNTS_AT_ONCE = 1000;

interface Report {
  /** The node that counted them: the sender, or the node that asked. */
  node: string;
  usage: KeyDayUsage[];
  /** When keys were last used, on any node. */
  uses?: KeyUse[];
  /** Whether the others should send all of their counts. */
  asks: boolean;
  /** The first UTC day that the counts cover; null if they answer the node that counted them: others ignore them. */
  sinceDay: number | null;
}

export class SharedUsage {
  private readonly ending = new AbortController();
  private readonly working: Promise<void>;
  /** Whether another node has asked for all counts. */
  private wasAskedForAll = false;
  /** Whether to ask the others for all counts: at the start, and after missing a node's reports. */
  private asks = true;
  /** By node, the UTC day of the last report that this node accepted. */
  private readonly heard = new Map<string, number>();

  constructor(
    private readonly usage: UsageBook,
    private readonly log: JetStreamLog,
    private readonly node: string,
    private readonly onError: (error: unknown) => void,
  ) {
    this.working = this.work();
  }

  async close(): Promise<void> {
    this.ending.abort();
    await this.working;
  }

  private async work(): Promise<void> {
    const { signal } = this.ending;
    const ended = new Promise((resolve) => signal.addEventListener('abort', resolve));
    await Promise.race([ended, this.log.listen<Report>(TOPIC, (report) => this.take(report))]);
    for (let turn = 0; !signal.aborted; turn++) {
      if (this.asks) this.send({ node: this.node, usage: [], asks: true, sinceDay: null });
      this.asks = false;
      // The others first answer with what they know of this node's earlier processes.
      if (turn > 0) await this.report(turn % ALL_EVERY_TURNS === 1).catch(this.onError);
      await sleep(EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
    await this.report(false).catch(this.onError);
  }

  /** @param isAll whether to include keys without calls since the last report */
  private async report(isAll: boolean): Promise<void> {
    const { wasAskedForAll } = this;
    this.wasAskedForAll = false;
    // Calls counted around midnight belong to the day before.
    const latest = isAll ? monthStart(ALL_AFTER_DAYS) : dayBefore(1);
    const sinceDay = wasAskedForAll ? monthStart(ASKED_DAYS) : latest;
    const uses = this.usage.usesToReport(isAll || wasAskedForAll);
    for (const some of parts(uses)) {
      this.send({ node: this.node, usage: [], uses: some, asks: false, sinceDay: null });
    }
    this.sendAll(this.node, await this.usage.report(sinceDay, isAll || wasAskedForAll), sinceDay);
  }

  private sendAll(node: string, usage: readonly KeyDayUsage[], sinceDay: number | null): void {
    for (const part of parts(usage)) this.send({ node, usage: part, asks: false, sinceDay });
  }

  private send(report: Report): void {
    this.log.broadcast(TOPIC, report);
  }

  private take({ node, usage, uses = [], asks, sinceDay }: Report): void {
    const isOwn = node === this.node;
    for (const [keyId, usedAtS] of uses) this.usage.use(keyId, usedAtS);
    if (asks && !isOwn) {
      this.wasAskedForAll = true;
      this.usage
        .known(node, monthStart(ASKED_DAYS))
        .then((known) => this.sendAll(node, known, null))
        .catch(this.onError);
    }
    // Reports also reach their sender, and answers nodes that they do not concern.
    if (isOwn !== (sinceDay === null)) return;
    if (sinceDay !== null) {
      const knownUntil = Math.max(this.heard.get(node) ?? 0, monthStart(ASKED_DAYS));
      // Earlier days are missing.
      if (sinceDay > knownUntil) this.asks = true;
      else this.heard.set(node, dayBefore(0));
    }
    this.usage.merge(node, usage).catch(this.onError);
  }
}

function* parts<T>(items: readonly T[]): Generator<T[]> {
  for (let from = 0; from < items.length; from += COUNTS_AT_ONCE) {
    yield items.slice(from, from + COUNTS_AT_ONCE);
  }
}

/** The UTC day this many days ago, as 20261122. */
function dayBefore(days: number): number {
  const at = new Date(wallMs() - days * DAY_MS);
  return Number(at.toISOString().slice(0, 10).replaceAll('-', ''));
}

/** The first day of the month this many days ago. */
function monthStart(days: number): number {
  const day = dayBefore(days);
  return day - (day % 100) + 1;
}
