/** The loop of `fathom collect`: samples every source on time, and stores what they have, one snapshot a token. */
import { type Market, marketKey } from '../compute/market.js';
import type { TokenName } from '../storage/contract.js';
import { messageOf } from '../storage/errors.js';
import type { CollectConfig, SourceConfig, TokenConfig } from './config.js';
import { CommitQueue } from './commit-queue.js';
import {
  isMissing,
  type Missing,
  type Sample,
  sampleTimeoutMs,
  type Source,
  type SourceContext,
} from './source.js';

/** A wait is cut into these, so that a step of the clock is noticed. */
const LOOK_EVERY_MS = 1_000;
/** A difference of the clock from the time that passed is a step from here on. */
const STEP_MS = 2_000;
/** Between two words on why a source is left out. */
const TELL_EVERY_MS = 60_000;
const NOT_YET = 'not sampled yet';
/** How long a market is left out that the store refuses. */
const REFUSED_MS = 600_000;

/** Time as the loop sees it. */
export interface CollectClock {
  /** The time of day in epoch milliseconds. */
  wallMs(): number;
  /** Time that passes evenly. */
  steadyMs(): number;
  /** Waits; `stop` ends it early. */
  sleep(ms: number, stop?: AbortSignal): Promise<void>;
}

export interface CollectorOptions {
  config: CollectConfig;
  clock: CollectClock;
  context: SourceContext;
  commit: (lines: readonly string[]) => Promise<void>;
  /** Called after each interval is sampled. */
  onSampled?: (statuses: readonly SourceStatus[]) => void;
}

/** How a source does. */
export interface SourceStatus {
  id: string;
  venue: string;
  /** null: it had a sample at the last interval. Otherwise why not. */
  missing: string | null;
  /** Price in its quote currency, and age in ms, of the last sample. */
  price: number | null;
  ageMs: number | null;
  samples: number;
}

interface Followed {
  config: SourceConfig;
  source: Source;
  status: SourceStatus;
  /** What was said last: null if it was whole, otherwise the reason without its figures; undefined: nothing. */
  told: string | null | undefined;
  toldMs: number;
  /** Its token and market, as they were last given to the store. */
  given: string;
  /** Why the store refuses the market, and until when it is left out for that. */
  refusal: string;
  refusedUntilMs: number;
}

export class Collector {
  readonly queue: CommitQueue;
  /** Intervals that were sampled or missed, and snapshots that were made. */
  readonly counts = { sampled: 0, missed: 0, snapshots: 0 };
  private readonly followed = new Map<string, Followed>();
  private readonly stopping = new AbortController();
  private lastT = 0;

  constructor(private readonly options: CollectorOptions) {
    const { config, clock, commit, context } = options;
    for (const source of config.tokens.flatMap((token) => token.sources)) {
      const opened = source.open(context);
      const status = {
        id: source.id,
        venue: opened.venue,
        missing: NOT_YET,
        price: null,
        ageMs: null,
        samples: 0,
      };
      this.followed.set(source.id, {
        config: source,
        source: opened,
        status,
        told: undefined,
        toldMs: 0,
        given: '',
        refusal: '',
        refusedUntilMs: -Infinity,
      });
    }
    this.queue = new CommitQueue({
      commit,
      log: (text) => context.log(text),
      onRefused: (line, why) => this.leaveOut(line, why),
      sleep: (ms) => clock.sleep(ms, this.stopping.signal),
    });
  }

  get statuses(): SourceStatus[] {
    return [...this.followed.values()].map(({ status }) => status);
  }

  start(): void {
    for (const { source } of this.followed.values()) source.start();
  }

  /** Samples at every multiple of the interval until `stop` aborts or `durationMs` have passed, then stores what waits. */
  async run(stop: AbortSignal, durationMs = Infinity): Promise<void> {
    const endMs = this.options.clock.steadyMs() + durationMs;
    try {
      for (;;) {
        const t = await this.nextMoment(stop, endMs);
        if (t === null) return;
        this.queueRows(t, await this.samplesAt(t, stop));
      }
    } finally {
      await this.end();
    }
  }

  /** Ends all sources, and stores what waits. */
  async end(): Promise<void> {
    for (const { source } of this.followed.values()) source.stop();
    this.stopping.abort();
    await this.queue.end();
  }

  /** Waits for the next multiple of the interval. @returns it in epoch seconds; null at the end */
  private async nextMoment(stop: AbortSignal, endMs: number): Promise<number | null> {
    const { clock, config, context } = this.options;
    const everyMs = config.everyS * 1000;
    let [wall, steady] = [clock.wallMs(), clock.steadyMs()];
    let next = Math.floor(wall / everyMs) * everyMs + everyMs;
    let hasStepped = false;
    while (!stop.aborted && clock.steadyMs() < endMs) {
      const leftMs = next - clock.wallMs();
      if (leftMs <= 0) {
        const t = Math.floor(clock.wallMs() / everyMs) * config.everyS;
        // After a small step back the same moment would come again.
        if (t !== this.lastT) {
          // A step of the clock leaves out times, not moments that passed.
          if (!hasStepped && this.lastT > 0) this.noteMissed((t - this.lastT) / config.everyS - 1);
          return (this.lastT = t);
        }
        next += everyMs;
        continue;
      }
      await clock.sleep(Math.min(leftMs, LOOK_EVERY_MS, endMs - clock.steadyMs()), stop);
      const stepMs = clock.wallMs() - wall - (clock.steadyMs() - steady);
      [wall, steady] = [clock.wallMs(), clock.steadyMs()];
      if (Math.abs(stepMs) < STEP_MS) continue;
      hasStepped = true;
      const way = stepMs > 0 ? 'forward' : 'back';
      context.log(`the clock stepped ${way} by ${Math.round(Math.abs(stepMs) / 1000)} s`);
      next = Math.floor(wall / everyMs) * everyMs + everyMs;
    }
    return null;
  }

  private noteMissed(intervals: number): void {
    if (intervals < 1) return;
    this.counts.missed += intervals;
    const missed = intervals === 1 ? '1 interval was' : `${intervals} intervals were`;
    this.options.context.log(`${missed} missed: the collector was held up`);
  }

  /**
   * Waits until every source has a sample, at most `patienceMs`, and stores one snapshot of each token, stamped with the
   * second of the sample: it is what the markets have now.
   */
  async once(patienceMs: number, stop: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const untilMs = clock.steadyMs() + patienceMs;
    try {
      while (!stop.aborted) {
        const t = Math.floor(clock.wallMs() / 1000);
        const samples = await this.samplesAt(t, stop);
        if (samples.size === this.followed.size || clock.steadyMs() >= untilMs) {
          this.queueRows(t, samples);
          return;
        }
        await clock.sleep(LOOK_EVERY_MS, stop);
      }
    } finally {
      await this.end();
    }
  }

  /** Queues a snapshot of each token that has samples. */
  private queueRows(t: number, samples: ReadonlyMap<string, Sample>): void {
    const { config, clock } = this.options;
    const nowMs = clock.steadyMs();
    const rows = config.tokens.flatMap((token) => rowOf(token, t, samples, this.followed, nowMs));
    this.tell();
    this.counts.sampled++;
    this.counts.snapshots += rows.length;
    if (rows.length > 0) this.queue.push(rows);
    this.options.onSampled?.(this.statuses);
  }

  /** The samples that come in time, and before `stop` aborts, by source. */
  private async samplesAt(t: number, stop: AbortSignal): Promise<Map<string, Sample>> {
    const { clock, config } = this.options;
    const mostMs = sampleTimeoutMs(config.everyS);
    const over = new AbortController();
    const end = (): void => over.abort();
    stop.addEventListener('abort', end, { once: true });
    if (stop.aborted) end();
    const late = clock.sleep(mostMs, over.signal).then((): Missing => ({
      missing: stop.aborted ? 'no answer before the end' : `no answer within ${mostMs / 1000} s`,
    }));
    const samples = new Map<string, Sample>();
    await Promise.all(
      [...this.followed].map(async ([id, { source, status }]) => {
        const sample = await Promise.race([sampleOf(source, t), late]);
        status.missing = isMissing(sample) ? sample.missing : null;
        if (isMissing(sample)) return;
        [status.price, status.ageMs] = [sample.price, sample.ageMs];
        status.samples++;
        samples.set(id, sample);
      }),
    );
    stop.removeEventListener('abort', end);
    over.abort();
    return samples;
  }

  /** A market that the store refuses would be refused again: its source is left out for a while. */
  private leaveOut(line: string, why: string): void {
    const row = JSON.parse(line) as GivenRow;
    const given = row.markets.length === 1 ? givenKey(row, row.markets[0]) : '';
    for (const followed of this.followed.values()) {
      if (followed.given !== given) continue;
      followed.refusal = `the store refuses it: ${why}`;
      followed.status.missing = followed.refusal;
      followed.refusedUntilMs = this.options.clock.steadyMs() + REFUSED_MS;
    }
  }

  /** Says which sources have become whole or are left out, and at most once a minute that the reason is another. */
  private tell(): void {
    const { context, clock } = this.options;
    const nowMs = clock.steadyMs();
    for (const followed of this.followed.values()) {
      const { id, missing } = followed.status;
      const kind = missing?.replace(/\d+/g, '') ?? null;
      const { told, toldMs } = followed;
      if (kind === told) continue;
      const isNextReason = kind !== null && typeof told === 'string';
      if (isNextReason && nowMs - toldMs < TELL_EVERY_MS) continue;
      context.log(missing === null ? `${id}: whole` : `${id}: left out: ${missing}`);
      [followed.told, followed.toldMs] = [kind, nowMs];
    }
  }
}

/** A source that throws has no sample. */
async function sampleOf(source: Source, t: number): Promise<Sample | Missing> {
  try {
    return await source.sample(t);
  } catch (error) {
    return { missing: messageOf(error) };
  }
}

/** USD price of a source's quote currency; null if it rests on a source without a sample. */
function quoteUsdOf(
  id: string,
  samples: ReadonlyMap<string, Sample>,
  followed: ReadonlyMap<string, Followed>,
): number | null {
  const sample = samples.get(id);
  if (sample === undefined) return null;
  const { quoteUsd } = followed.get(id)!.config;
  if (typeof quoteUsd === 'number') return quoteUsd;
  if (quoteUsd === null) return sample.quoteUsd ?? (sample.address === null ? 1 : null);
  const other = samples.get(quoteUsd);
  const unit = quoteUsdOf(quoteUsd, samples, followed);
  return other === undefined || unit === null ? null : other.price * unit;
}

type MarketName = Pick<Market, 'source' | 'address' | 'pair'>;

/** A row that was given to the store, as far as it names its markets. */
interface GivenRow extends TokenName {
  markets: MarketName[];
}

const givenKey = ({ chain, address }: TokenName, market: MarketName): string =>
  `${chain}:${address}\u0000${marketKey(market)}`;

/** The snapshot of a token, or none if no source has a sample. */
function rowOf(
  { token, price, sources }: TokenConfig,
  t: number,
  samples: ReadonlyMap<string, Sample>,
  followed: ReadonlyMap<string, Followed>,
  nowMs: number,
): object[] {
  const markets: object[] = [];
  const keys = new Set<string>();
  const prices = new Map<string, number>();
  for (const { id } of sources) {
    const sample = samples.get(id);
    if (sample === undefined) continue;
    const own = followed.get(id)!;
    const { source, status } = own;
    if (nowMs < own.refusedUntilMs) {
      status.missing = own.refusal;
      continue;
    }
    const quoteUsd = quoteUsdOf(id, samples, followed);
    if (quoteUsd === null) {
      status.missing = 'no USD price of its quote currency';
      continue;
    }
    const market = { source: source.venue, address: sample.address, pair: sample.pair };
    if (keys.has(marketKey(market))) {
      status.missing = 'another source has the same market';
      continue;
    }
    keys.add(marketKey(market));
    own.given = givenKey(token, market);
    prices.set(id, sample.price * quoteUsd);
    markets.push({
      ...market,
      exchange_type: source.exchangeType,
      type: source.type,
      ...sample.body(quoteUsd),
    });
  }
  const priceUsd = (price === null ? undefined : prices.get(price)) ?? [...prices.values()][0];
  if (priceUsd === undefined) return [];
  return [{ ...token, t, tier: 'raw', price_usd: priceUsd, markets }];
}
