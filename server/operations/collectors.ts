/** What collectors say of their sources, for the metrics. */
import { isFields } from '../../compute/ingest/fields.js';
import { InputError } from '../../storage/errors.js';
import type { CollectorReport } from '../../storage/operations.js';

/** Sources of all collectors, and kinds of starting over, that are counted; further ones are not. */
const MAX_COUNTED = 10_000;
const MAX_NAME_CHARS = 100;
/** A source of which nothing was said for this many intervals is no longer up. */
const SILENT_INTERVALS = 3;
/** One that has not been up for this long without a word is forgotten. */
const FORGET_MS = 3_600_000;

interface SourceState {
  isUp: boolean;
  /** When it is no longer up without a further report. */
  untilMs: number;
}

export class Collectors {
  /** Snapshots stored. */
  snapshots = 0;
  /** By source and cause: how often it started over. */
  readonly resyncs = new Map<string, { source: string; cause: string; count: number }>();
  private readonly sources = new Map<string, SourceState>();

  /** Takes a report. @throws InputError if it is none */
  note(report: CollectorReport): void {
    const { everyS, snapshots, sources, resyncs } = checked(report);
    const untilMs = performance.now() + SILENT_INTERVALS * everyS * 1000;
    this.snapshots += snapshots;
    for (const { id, isUp } of sources) {
      if (this.sources.has(id) || this.sources.size < MAX_COUNTED) {
        this.sources.set(id, { isUp, untilMs });
      }
    }
    for (const { source, cause, count } of resyncs) {
      const key = `${cause} ${source}`;
      const known = this.resyncs.get(key);
      if (known !== undefined) known.count += count;
      else if (this.resyncs.size < MAX_COUNTED) this.resyncs.set(key, { source, cause, count });
    }
  }

  /** Each source, and whether it had a sample at its last interval. */
  *up(): Generator<[source: string, isUp: boolean]> {
    const now = performance.now();
    for (const [id, { isUp, untilMs }] of this.sources) {
      if (now > untilMs + FORGET_MS) this.sources.delete(id);
      else yield [id, isUp && now < untilMs];
    }
  }
}

/** Reports come from other processes. */
function checked(report: CollectorReport): CollectorReport {
  const isName = (value: unknown): boolean =>
    typeof value === 'string' && value.length <= MAX_NAME_CHARS;
  const isCount = (value: unknown): boolean =>
    Number.isSafeInteger(value) && (value as number) >= 0;
  const isWhole =
    isFields(report) &&
    report.everyS > 0 &&
    isCount(report.snapshots) &&
    Array.isArray(report.sources) &&
    report.sources.every((source) => isFields(source) && isName(source.id)) &&
    Array.isArray(report.resyncs) &&
    report.resyncs.every(
      (each) => isFields(each) && isName(each.source) && isName(each.cause) && isCount(each.count),
    );
  if (!isWhole) throw new InputError('the report of a collector: expected its sources and counts');
  return report;
}
