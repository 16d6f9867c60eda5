/** The loop of `fathom collect`: samples every source on time, and stores what they have, one snapshot a token. */
import { marketKey } from '../compute/market.js';
import { messageOf } from '../storage/errors.js';
import type { CollectConfig, SourceConfig, TokenConfig } from './config.js';
import { CommitQueue } from './commit-queue.js';
import { isMissing, type Missing, type Sample, type Source, type SourceContext } from './source.js';

/** What comes later than this share of the interval is left out; at most MAX_SAMPLE_MS. */
const SAMPLE_SHARE = 0.5;
const MAX_SAMPLE_MS = 10_000;
/** A wait is cut into these, so that a step of the clock is noticed. */
const LOOK_EVERY_MS = 1_000;
/** A difference of the clock from the time that passed is a step from here on. */
const STEP_MS = 2_000;
const NOT_YET = 'not sampled yet';

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
  /** The state that was said last; null: none. */
  told: boolean | null;
}

export class Collector {
  readonly queue: CommitQueue;
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
      this.followed.set(source.id, { config: source, source: opened, status, told: null });
    }
    this.queue = new CommitQueue({
      commit,
      log: (text) => context.log(text),
      sleep: (ms) => clock.sleep(ms, this.stopping.signal),
    });
  }

  get statuses(): SourceStatus[] {
    return [...this.followed.values()].map(({ status }) => status);
  }

  start(): void {
    for (const { source } of this.followed.values()) source.start();
  }

  /** Samples at every multiple of the interval until `stop` aborts, then stores what waits. */
  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const t = await this.nextMoment(stop);
      if (t !== null) await this.sample(t);
    }
    await this.end();
  }

  /** Ends all sources, and stores what waits. */
  async end(): Promise<void> {
    for (const { source } of this.followed.values()) source.stop();
    this.stopping.abort();
    await this.queue.end();
  }

  /** Waits for the next multiple of the interval. @returns it in epoch seconds; null if `stop` aborts */
  private async nextMoment(stop: AbortSignal): Promise<number | null> {
    const { clock, config, context } = this.options;
    const everyMs = config.everyS * 1000;
    let [wall, steady] = [clock.wallMs(), clock.steadyMs()];
    let next = Math.floor(wall / everyMs) * everyMs + everyMs;
    while (!stop.aborted) {
      const leftMs = next - clock.wallMs();
      if (leftMs <= 0) {
        const t = Math.floor(clock.wallMs() / everyMs) * config.everyS;
        // After a small step back the same moment would come again.
        if (t !== this.lastT) return (this.lastT = t);
        next += everyMs;
        continue;
      }
      await clock.sleep(Math.min(leftMs, LOOK_EVERY_MS), stop);
      const stepMs = clock.wallMs() - wall - (clock.steadyMs() - steady);
      [wall, steady] = [clock.wallMs(), clock.steadyMs()];
      if (Math.abs(stepMs) < STEP_MS) continue;
      const way = stepMs > 0 ? 'forward' : 'back';
      context.log(`the clock stepped ${way} by ${Math.round(Math.abs(stepMs) / 1000)} s`);
      next = Math.floor(wall / everyMs) * everyMs + everyMs;
    }
    return null;
  }

  /** Waits until every source has a sample, at most `patienceMs`, and stores one snapshot of each token. */
  async once(patienceMs: number, stop: AbortSignal): Promise<void> {
    const { clock, config } = this.options;
    const untilMs = clock.steadyMs() + patienceMs;
    while (!stop.aborted) {
      const t = Math.floor(clock.wallMs() / 1000 / config.everyS) * config.everyS;
      const samples = await this.samplesAt(t);
      if (samples.size === this.followed.size || clock.steadyMs() >= untilMs) {
        this.queueRows(t, samples);
        break;
      }
      await clock.sleep(LOOK_EVERY_MS, stop);
    }
    await this.end();
  }

  /** Samples all sources now, and queues a snapshot of each token that has one. */
  private async sample(t: number): Promise<void> {
    this.queueRows(t, await this.samplesAt(t));
  }

  private queueRows(t: number, samples: ReadonlyMap<string, Sample>): void {
    const { tokens } = this.options.config;
    const rows = tokens.flatMap((token) => rowOf(token, t, samples, this.followed));
    this.tell();
    if (rows.length > 0) this.queue.push(rows);
    this.options.onSampled?.(this.statuses);
  }

  /** The samples that come in time, by source. */
  private async samplesAt(t: number): Promise<Map<string, Sample>> {
    const { clock, config } = this.options;
    const mostMs = Math.min(MAX_SAMPLE_MS, config.everyS * 1000 * SAMPLE_SHARE);
    const over = new AbortController();
    const late = clock
      .sleep(mostMs, over.signal)
      .then((): Missing => ({ missing: `no answer within ${mostMs / 1000} s` }));
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
    over.abort();
    return samples;
  }

  /** Says what has changed since the last interval. */
  private tell(): void {
    for (const followed of this.followed.values()) {
      const { status } = followed;
      const isWell = status.missing === null;
      if (followed.told !== isWell)
        this.options.context.log(
          isWell ? `${status.id}: whole` : `${status.id}: left out: ${status.missing}`,
        );
      followed.told = isWell;
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

/** The snapshot of a token, or none if no source has a sample. */
function rowOf(
  { token, price, sources }: TokenConfig,
  t: number,
  samples: ReadonlyMap<string, Sample>,
  followed: ReadonlyMap<string, Followed>,
): object[] {
  const markets: object[] = [];
  const keys = new Set<string>();
  const prices = new Map<string, number>();
  for (const { id } of sources) {
    const sample = samples.get(id);
    if (sample === undefined) continue;
    const { source, status } = followed.get(id)!;
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
