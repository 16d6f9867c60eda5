/** Tells the other nodes of a cluster what this one has counted, and counts what they tell. */
import { Packr, Unpackr } from 'msgpackr';
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
}

const packr = new Packr({ useRecords: false });
const unpackr = new Unpackr({ useRecords: false });

export class SharedUsage {
  private readonly ending = new AbortController();
  private readonly working: Promise<void>;
  /** Whether another node has asked for all. */
  private isAsked = false;

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
    await Promise.race([ended, this.log.listen(TOPIC, (data) => this.take(data))]);
    for (let turn = 0; !signal.aborted; turn++) {
      const { isAsked } = this;
      this.isAsked = false;
      const isAll = isAsked || turn % ALL_EVERY_TURNS === 0;
      const allSince = monthStart(isAsked ? ASKED_DAYS : ALL_AFTER_DAYS);
      // What was counted around midnight belongs to the day before.
      const sinceDay = isAll ? allSince : dayBefore(1);
      await this.tell(sinceDay, isAll, turn === 0).catch(this.onError);
      await sleep(EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
    await this.tell(dayBefore(1), false, false).catch(this.onError);
  }

  /** @param asks whether the others are asked for all that they know */
  private async tell(sinceDay: number, isAll: boolean, asks: boolean): Promise<void> {
    const usage = await this.usage.report(sinceDay, isAll);
    if (asks) this.send({ node: this.node, usage: [], asks });
    this.sendAll(this.node, usage);
  }

  private sendAll(node: string, usage: readonly KeyUsage[]): void {
    for (const part of parts(usage)) this.send({ node, usage: part, asks: false });
  }

  private send(report: Report): void {
    this.log.tell(TOPIC, packr.pack(report));
  }

  private take(data: Uint8Array): void {
    const { node, usage, asks } = unpackr.unpack(data) as Report;
    const isOwn = node === this.node;
    if (asks && !isOwn) {
      this.isAsked = true;
      this.usage
        .known(node, monthStart(ASKED_DAYS))
        .then((known) => this.sendAll(node, known))
        .catch(this.onError);
    }
    const taken = isOwn ? this.usage.regain(usage) : this.usage.merge(node, usage);
    taken.catch(this.onError);
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
