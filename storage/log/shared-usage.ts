/** Tells the other nodes of a cluster what this one has counted, and counts what they tell. */
import { Packr, Unpackr } from 'msgpackr';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KeyUsage, UsageBook } from '../keys/usage.js';
import { wallMs } from '../wall-clock.js';
import type { JetStreamLog } from './jetstream.js';

const TOPIC = 'usage';
const EVERY_MS = 1000;
/** Every so many turns all of the month is told: what was lost is made up for. */
const ALL_EVERY_TURNS = 30;
/** Counts of one message, about: it stays well below what NATS takes. */
const COUNTS_AT_ONCE = 1000;
const DAY_MS = 86_400_000;

interface Report {
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
      const all = turn % ALL_EVERY_TURNS === 0 || this.isAsked;
      this.isAsked = false;
      await this.tell(all, turn === 0).catch(this.onError);
      await sleep(EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
    await this.tell(false, false).catch(this.onError);
  }

  private async tell(all: boolean, asks: boolean): Promise<void> {
    const day = dayOf(wallMs());
    // What was counted around midnight belongs to the day before.
    const since = all ? day - (day % 100) : dayOf(wallMs() - DAY_MS);
    const usage = await this.usage.report(all ? Math.floor(day / 100) : null, since);
    const send = (part: KeyUsage[], asking: boolean): void => {
      const report: Report = { node: this.node, usage: part, asks: asking };
      this.log.tell(TOPIC, packr.pack(report));
    };
    if (asks) send([], true);
    for (const part of parts(usage)) send(part, false);
  }

  private take(data: Uint8Array): void {
    const { node, usage, asks } = unpackr.unpack(data) as Report;
    if (node === this.node) return;
    this.isAsked ||= asks;
    this.usage.merge(node, usage).catch(this.onError);
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

/** The UTC day, as 20261122. */
function dayOf(ms: number): number {
  return Number(new Date(ms).toISOString().slice(0, 10).replaceAll('-', ''));
}
