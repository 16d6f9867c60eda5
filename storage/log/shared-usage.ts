/** Tells the other nodes of a cluster what this one has counted, and counts what they tell. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KeyUsage, UsageBook } from '../keys/usage.js';
import { wallMs } from '../wall-clock.js';
import type { JetStreamLog } from './jetstream.js';

const TOPIC = 'usage';
const EVERY_MS = 1000;
/** Every so many turns all of the month is told, and of the month before for its first days: what was lost is made up for. */
const ALL_EVERY_TURNS = 30;
const ALL_AFTER_DAYS = 7;
/** Who begins is told of the month before, too, however long it was away. */
const ASKED_DAYS = 31;
/** Counts of one message, about: it stays well below what NATS takes. */
const COUNTS_AT_ONCE = 1000;
const DAY_MS = 86_400_000;

interface Report {
  /** Whose counts they are: the sender's, or what it knows of a node that asks. */
  node: string;
  usage: KeyUsage[];
  /** Asks for all that the others have counted. */
  asks: boolean;
  /** The first UTC day of those counts; null: they are for the node itself, which has asked. */
  sinceDay: number | null;
}

export class SharedUsage {
  private readonly ending = new AbortController();
  private readonly working: Promise<void>;
  /** Whether another node has asked for all. */
  private isAsked = false;
  /** Whether to ask the others for all: at the beginning, and where reports of a node were missed. */
  private asks = true;
  /** The UTC day on which each node was last heard. */
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
      // The others' answers come first: they tell what this node had counted before its process began.
      if (turn > 0) await this.tell(turn % ALL_EVERY_TURNS === 1).catch(this.onError);
      await sleep(EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
    await this.tell(false).catch(this.onError);
  }

  /** @param isAll whether keys are told that were not counted since the last report, too */
  private async tell(isAll: boolean): Promise<void> {
    const { isAsked } = this;
    this.isAsked = false;
    // What was counted around midnight belongs to the day before.
    const latest = isAll ? monthStart(ALL_AFTER_DAYS) : dayBefore(1);
    const sinceDay = isAsked ? monthStart(ASKED_DAYS) : latest;
    this.sendAll(this.node, await this.usage.report(sinceDay, isAll || isAsked), sinceDay);
  }

  private sendAll(node: string, usage: readonly KeyUsage[], sinceDay: number | null): void {
    for (const part of parts(usage)) this.send({ node, usage: part, asks: false, sinceDay });
  }

  private send(report: Report): void {
    this.log.tell(TOPIC, report);
  }

  private take({ node, usage, asks, sinceDay }: Report): void {
    const isOwn = node === this.node;
    if (asks && !isOwn) {
      this.isAsked = true;
      this.usage
        .known(node, monthStart(ASKED_DAYS))
        .then((known) => this.sendAll(node, known, null))
        .catch(this.onError);
    }
    if (sinceDay === null) {
      if (isOwn) this.usage.regain(usage).catch(this.onError);
    } else if (!isOwn) {
      const knownUntil = Math.max(this.heard.get(node) ?? 0, monthStart(ASKED_DAYS));
      // With the month's total, days before the report would never be asked for.
      if (sinceDay > knownUntil) {
        this.asks = true;
        return;
      }
      this.heard.set(node, dayBefore(0));
      this.usage.merge(node, usage).catch(this.onError);
    }
  }
}

function* parts(usage: readonly KeyUsage[]): Generator<KeyUsage[]> {
  let part: KeyUsage[] = [];
  let counts = 0;
  for (const one of usage) {
    part.push(one);
    counts += 1 + one.days.length;
    if (counts < COUNTS_AT_ONCE) continue;
    yield part;
    [part, counts] = [[], 0];
  }
  if (part.length > 0) yield part;
}

/** A UTC day so many days ago, as 20261122. */
function dayBefore(days: number): number {
  const at = new Date(wallMs() - days * DAY_MS);
  return Number(at.toISOString().slice(0, 10).replaceAll('-', ''));
}

/** The first day of the month that it was then. */
function monthStart(days: number): number {
  const day = dayBefore(days);
  return day - (day % 100) + 1;
}
