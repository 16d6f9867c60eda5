/** `fathom collect CONFIG` */
import { setTimeout as sleep } from 'node:timers/promises';
import { type CollectConfig, EXAMPLE, readConfig } from '../../../collect/config.js';
import { type CheckedSource, checkSources } from '../../../collect/check.js';
import { type CollectClock, Collector, type SourceStatus } from '../../../collect/collector.js';
import { RestClient } from '../../../collect/rest.js';
import { Reporter } from '../../../collect/reporter.js';
import type { ResyncCause, SourceContext } from '../../../collect/source.js';
import { InputError, UsageError } from '../../../storage/errors.js';
import { storeSnapshots } from '../../../storage/import/import.js';
import { wallMs } from '../../../storage/wall-clock.js';
import { defineCommand } from '../command.js';
import { dataDirectory, duration, type Flags, type FlagValues, STORE_FLAGS } from '../flags.js';
import { count, printLine, printNote, printTable } from '../output.js';
import { storeThrough, withPool } from '../runtime.js';
import { stopSignal } from '../signals.js';

const MAX_DURATION = '366d';
/** How long --once and --check wait for sources. */
const PATIENCE_MS = 20_000;
const REDRAW_MS = 1_000;

const FLAGS = {
  ...STORE_FLAGS,
  once: { meaning: 'stores one snapshot of each token, and ends' },
  duration: {
    placeholder: 'DURATION',
    meaning: 'ends after this time',
    default: 'runs until stopped',
    read: (text: string, from: string) => duration(text, from, MAX_DURATION),
  },
  check: { meaning: 'tries every source once, prints a table, and stores nothing' },
  example: { meaning: 'prints a configuration to begin with' },
} as const satisfies Flags;

export const command = defineCommand({
  about:
    'Collects order books from exchanges and pools from chains, as a configuration file lists them, and stores a snapshot of each token at every interval. A source that is lost, stale, crossed or unverified is left out until it is whole again. docs/collect.md describes the configuration.',
  words: { config: { names: 'file', repeated: true, optional: true } },
  flags: FLAGS,
  examples: [
    'fathom collect --example > ~/sol.json',
    'fathom collect ~/sol.json --check',
    'fathom collect ~/sol.json --data data',
  ],
  run: (flags, { config }) => collect(config, flags),
});

async function collect(files: readonly string[], flags: FlagValues<typeof FLAGS>): Promise<void> {
  if (flags.example) {
    if (files.length > 0) throw new UsageError('CONFIG: --example takes none');
    printLine(EXAMPLE.trimEnd());
    return;
  }
  const [file, ...more] = files;
  if (file === undefined || more.length > 0) {
    throw new UsageError('CONFIG: expected one file; fathom collect --example prints one');
  }
  if (flags.once && flags.duration !== undefined) {
    throw new UsageError('--duration: --once takes none');
  }
  const config = await readConfig(file);
  if (flags.check) return check(config);
  await run(config, flags);
}

const clock: CollectClock = {
  wallMs,
  steadyMs: () => performance.now(),
  sleep: (ms, stop) =>
    sleep(ms, undefined, stop === undefined ? {} : { signal: stop }).catch(() => undefined),
};

async function run(config: CollectConfig, flags: FlagValues<typeof FLAGS>): Promise<void> {
  const directory = dataDirectory(flags.data);
  const stopping = new AbortController();
  void stopSignal().then(() => stopping.abort());
  const lines = new StatusLines();
  const reporter = new Reporter(directory, config.everyS);
  const context = {
    ...contextOf(config, (text) => lines.note(text)),
    onResync: (source: string, cause: ResyncCause) => reporter.resynced(source, cause),
  };
  await withPool(
    async (pool) => {
      const useStore = storeThrough(directory, pool);
      const commit = async (rows: readonly string[]): Promise<void> => {
        await storeSnapshots({ directory, pool, useStore, lines: rows, name: 'collect' });
      };
      const onSampled = (statuses: readonly SourceStatus[]): void =>
        reporter.report(statuses, collector.queue.counts.stored);
      const collector = new Collector({ config, clock, context, commit, onSampled });
      collector.start();
      const timer = setInterval(() => lines.show(collector.statuses), REDRAW_MS);
      try {
        if (flags.once) await collector.once(PATIENCE_MS, stopping.signal);
        else await collector.run(stopping.signal, (flags.duration ?? Infinity) * 1000);
      } finally {
        clearInterval(timer);
        lines.end();
      }
      const { stored, refused, dropped } = collector.queue.counts;
      await reporter.end(collector.statuses, stored);
      const { sampled, missed, snapshots } = collector.counts;
      printNote(
        `stored ${count(stored)} snapshots, refused ${count(refused)}, dropped ${count(dropped)}; missed ${count(missed)} intervals`,
      );
      if (stored > 0) return;
      const made = `of ${count(snapshots)} snapshots`;
      let why = `${made} the store took none`;
      if (sampled === 0) why = 'it ended before the first interval';
      else if (snapshots === 0) why = 'no source had a sample';
      else if (refused > 0) why = `${made} ${count(refused)} were refused`;
      throw new InputError(`nothing was stored: ${why}`);
    },
    { threads: 1 },
  );
}

function contextOf(config: CollectConfig, log: (text: string) => void): SourceContext {
  return { everyS: config.everyS, rest: new RestClient(), log, onResync: () => undefined };
}

async function check(config: CollectConfig): Promise<void> {
  const stopping = new AbortController();
  void stopSignal().then(() => stopping.abort());
  const checked = await checkSources(
    config,
    contextOf(config, () => undefined),
    {
      patienceMs: PATIENCE_MS,
      stop: stopping.signal,
    },
  );
  printTable([
    [
      'source',
      'venue',
      'price',
      'spread',
      'within 2%: bids',
      'asks',
      'age',
      'a loss shows by',
      'compared with',
      'problem',
    ],
    ...checked.map(rowOf),
  ]);
  const broken = checked.filter(({ missing }) => missing !== null).length;
  if (broken > 0) throw new InputError(`${broken} of ${checked.length} sources do not work`);
}

function rowOf(source: CheckedSource): string[] {
  const { id, venue, losses, compared, missing, price, spreadPct, depth2Pct, ageMs } = source;
  const number = (value: number | null, unit = ''): string =>
    value === null
      ? '-'
      : `${value.toLocaleString('en-US', { maximumSignificantDigits: 6 })}${unit}`;
  return [
    id,
    venue,
    number(price),
    number(spreadPct, '%'),
    number(depth2Pct?.[0] ?? null),
    number(depth2Pct?.[1] ?? null),
    number(ageMs === null ? null : ageMs / 1000, ' s'),
    losses,
    compared ?? 'documents only',
    missing ?? '',
  ];
}

/** A line a source on a terminal; elsewhere, only what changes. */
class StatusLines {
  private drawn = 0;

  note(text: string): void {
    this.end();
    printNote(`${new Date(wallMs()).toISOString()} ${text}`);
  }

  show(statuses: readonly SourceStatus[]): void {
    if (!process.stderr.isTTY) return;
    this.end();
    for (const { id, venue, missing, price, samples } of statuses) {
      printNote(`${id}  ${venue}  ${missing ?? `${price}`}  ${count(samples)} samples`);
    }
    this.drawn = statuses.length;
  }

  end(): void {
    if (this.drawn > 0) process.stderr.write(`\u001b[${this.drawn}A\u001b[J`);
    this.drawn = 0;
  }
}
