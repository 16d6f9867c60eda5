/** `fathom collect CONFIG` */
import { setTimeout as sleep } from 'node:timers/promises';
import { type CollectConfig, EXAMPLE, readConfig } from '../../../collect/config.js';
import { type CheckedSource, checkSources } from '../../../collect/check.js';
import { type CollectClock, Collector, type SourceStatus } from '../../../collect/collector.js';
import { RestClient } from '../../../collect/rest.js';
import { Reporter } from '../../../collect/reporter.js';
import type { ResyncCause, SourceContext } from '../../../collect/source.js';
import { checkDirectory } from '../../../storage/access.js';
import { holdsStore } from '../../../storage/data-directory.js';
import {
  DiskFullError,
  InputError,
  StoreBusyError,
  StoreUnavailableError,
  UsageError,
} from '../../../storage/errors.js';
import { excerpt } from '../../../storage/import/refusals.js';
import type { UseStore } from '../../../storage/operations.js';
import { storeSnapshots } from '../../../storage/import/import.js';
import { wallMs } from '../../../storage/wall-clock.js';
import { defineCommand } from '../command.js';
import { duration, type Flags, type FlagValues, STORE_FLAGS } from '../flags.js';
import { count, printLine, printNote, printTable } from '../output.js';
import { dataDirectory, storeThrough, withPool } from '../runtime.js';
import { stopSignal } from '../signals.js';

const MAX_DURATION = '366d';
/** How long --once and --check wait for sources. */
const PATIENCE_MS = 20_000;
const REDRAW_MS = 1_000;

const FLAGS = {
  ...STORE_FLAGS,
  once: { meaning: 'stores one snapshot of each token as it is now, and ends' },
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
  words: { config: { names: 'file', optional: true } },
  flags: FLAGS,
  examples: [
    'fathom collect --example > ~/sol.json',
    'fathom collect ~/sol.json --check',
    'fathom collect ~/sol.json --data data',
  ],
  run: (flags, { config }) => collect(config, flags),
});

async function collect(file: string | undefined, flags: FlagValues<typeof FLAGS>): Promise<void> {
  if (flags.example) {
    if (file !== undefined) throw new UsageError('CONFIG: --example takes none');
    printLine(EXAMPLE.trimEnd());
    return;
  }
  if (file === undefined) {
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
      await refuseUnusable(directory, useStore);
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

/** Refuses at once what no commit could ever store into. */
async function refuseUnusable(directory: string, useStore: UseStore): Promise<void> {
  await checkDirectory(directory);
  if (!(await holdsStore(directory))) return;
  try {
    await useStore(() => Promise.resolve());
  } catch (error) {
    const mayPass = [StoreBusyError, StoreUnavailableError, DiskFullError];
    if (!mayPass.some((kind) => error instanceof kind)) throw error;
  }
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
  printChecked(checked);
  const broken = checked.filter(({ missing }) => missing !== null).length;
  if (broken > 0) throw new InputError(`${broken} of ${checked.length} sources do not work`);
}

function printChecked(checked: readonly CheckedSource[]): void {
  const heads = ['source', 'venue', 'price', 'spread', 'bids in 2%', 'asks in 2%', 'age'];
  printTable([[...heads, 'verified'], ...checked.map(rowOf)]);
  const wrong = checked.filter(({ missing }) => missing !== null);
  for (const { id, missing } of wrong) printLine(`${id} does not work: ${missing}`);
  const unseen = new Set(
    checked.filter(({ compared }) => compared === null).map(({ venue }) => venue),
  );
  if (unseen.size > 0) {
    printLine(`known from documents alone, compared with nothing real: ${[...unseen].join(', ')}`);
  }
}

/** Characters of an id in the table. */
const MAX_SHOWN_ID = 20;

function rowOf(source: CheckedSource): string[] {
  const { id, venue, losses, missing, price, spreadPct, depth2Pct, ageMs } = source;
  const number = (value: number | null, unit: string, options: object): string =>
    value === null ? '-' : `${value.toLocaleString('en-US', options)}${unit}`;
  const digits = (most: number) => ({ maximumSignificantDigits: most });
  const usd = (value: number | undefined) =>
    number(value ?? null, '', { maximumFractionDigits: 0 });
  return [
    excerpt(id, MAX_SHOWN_ID),
    venue,
    number(price, '', digits(6)),
    number(spreadPct, '%', digits(2)),
    usd(depth2Pct?.[0]),
    usd(depth2Pct?.[1]),
    number(ageMs === null ? null : ageMs / 1000, ' s', { maximumFractionDigits: 1 }),
    missing === null ? verifiedText(losses) : '-',
  ];
}

/** How a lost message would show. */
function verifiedText(losses: string): string {
  if (losses === 'nothing') return 'no';
  return losses.startsWith('not needed')
    ? 'yes: whole'
    : `yes: ${losses.replace(' of the connection', '')}`;
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
