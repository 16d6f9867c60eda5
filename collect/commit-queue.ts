/** Rows that wait to be stored: one commit in flight, and a bound on what waits. */
import { FaultyFileError, messageOf, RefusalError } from '../storage/errors.js';

/** Intervals and bytes that may wait; beyond that, the oldest are dropped. */
const MAX_WAITING_INTERVALS = 10;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;

/** The rows of one interval, as lines of NDJSON. */
interface Batch {
  lines: string[];
  bytes: number;
}

interface CommitQueueOptions {
  /** Stores lines of the dataset `snapshots` in one transaction. */
  commit: (lines: readonly string[]) => Promise<void>;
  log: (text: string) => void;
  /** Told of a market that the store refuses: the only one of the line. */
  onRefused?: (line: string, why: string) => void;
  /** Waits; an abort ends it early. */
  sleep: (ms: number) => Promise<void>;
}

export class CommitQueue {
  /** Snapshots that were stored, refused, or dropped because too many waited. */
  readonly counts = { stored: 0, refused: 0, dropped: 0 };
  private waiting: Batch[] = [];
  private bytes = 0;
  private running: Promise<void> | null = null;
  private failures = 0;
  private isEnding = false;

  constructor(private readonly options: CommitQueueOptions) {}

  /** Adds the rows of an interval; never waits. */
  push(rows: readonly object[]): void {
    const lines = rows.map((row) => JSON.stringify(row));
    const bytes = lines.reduce((sum, line) => sum + line.length, 0);
    this.waiting.push({ lines, bytes });
    this.bytes += bytes;
    while (
      this.waiting.length > MAX_WAITING_INTERVALS ||
      (this.bytes > MAX_WAITING_BYTES && this.waiting.length > 1)
    ) {
      const dropped = this.waiting.shift()!;
      this.bytes -= dropped.bytes;
      this.counts.dropped += dropped.lines.length;
      this.options.log(
        `${dropped.lines.length} snapshots dropped: the store takes them too slowly, and ${MAX_WAITING_INTERVALS} intervals or 64 MiB wait`,
      );
    }
    this.running ??= this.run();
  }

  /** Tries to store what waits, once more. */
  async end(): Promise<void> {
    this.isEnding = true;
    await this.running;
    const left = this.waiting.reduce((sum, { lines }) => sum + lines.length, 0);
    if (left > 0) this.options.log(`${left} snapshots could not be stored before the end`);
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0) {
      const batches = this.waiting;
      [this.waiting, this.bytes] = [[], 0];
      const lines = batches.flatMap((batch) => batch.lines);
      try {
        const stored = await this.store(lines);
        this.counts.stored += stored;
        this.counts.refused += lines.length - stored;
        if (this.failures > 0) this.options.log('the store takes snapshots again');
        this.failures = 0;
      } catch (error) {
        // They come again, merged with what is stored: nothing changes if the commit was made.
        this.waiting = [...batches, ...this.waiting];
        this.bytes = this.waiting.reduce((sum, batch) => sum + batch.bytes, 0);
        if (this.failures++ === 0) this.options.log(`not stored, retrying: ${messageOf(error)}`);
        if (this.isEnding) break;
        await this.options.sleep(
          Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.failures - 1)),
        );
      }
    }
    this.running = null;
  }

  /**
   * Stores lines together; those, and then those markets, that are refused for themselves are left out.
   * @returns how many lines were stored @throws what may pass
   */
  private async store(lines: readonly string[]): Promise<number> {
    try {
      await this.options.commit(lines);
      return lines.length;
    } catch (error) {
      if (!isOfRows(error)) throw error;
      if (lines.length > 1) {
        let stored = 0;
        for (const line of lines) stored += await this.store([line]);
        return stored;
      }
      const [line] = lines;
      const row = JSON.parse(line) as { markets?: object[] };
      const { markets = [] } = row;
      if (markets.length > 1) {
        let stored = 0;
        for (const market of markets) {
          const alone = JSON.stringify({ ...row, markets: [market] });
          stored = Math.max(stored, await this.store([alone]));
        }
        return stored;
      }
      this.options.log(`a snapshot was refused: ${messageOf(error)}`);
      this.options.onRefused?.(line, messageOf(error));
      return 0;
    }
  }
}

/** Whether an error is about the rows themselves: other faults of the store cost no market its place. */
function isOfRows(error: unknown): boolean {
  return error instanceof FaultyFileError || error instanceof RefusalError;
}
