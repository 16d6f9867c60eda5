/** Tells the server that has the store open how the sources do; without one, nobody asks. */
import { connectToServer } from '../storage/control.js';
import type { CollectorReport } from '../storage/operations.js';
import type { SourceStatus } from './collector.js';
import type { ResyncCause } from './source.js';

/** What a report counts since the one before. */
export class Reporter {
  private readonly resyncs = new Map<string, CollectorReport['resyncs'][number]>();
  private told = 0;
  private running: Promise<void> | null = null;

  constructor(
    private readonly directory: string,
    private readonly everyS: number,
  ) {}

  resynced(source: string, cause: ResyncCause): void {
    const key = `${cause} ${source}`;
    const count = (this.resyncs.get(key)?.count ?? 0) + 1;
    this.resyncs.set(key, { source, cause, count });
  }

  /** Reports, unless the report before is still under way. Never fails: what was not said comes with the next one. */
  report(statuses: readonly SourceStatus[], stored: number): void {
    this.running ??= this.send(statuses, stored)
      .catch(() => undefined)
      .finally(() => (this.running = null));
  }

  /** Reports what was stored last. */
  async end(statuses: readonly SourceStatus[], stored: number): Promise<void> {
    await this.running;
    this.report(statuses, stored);
    await this.running;
  }

  private async send(statuses: readonly SourceStatus[], stored: number): Promise<void> {
    const server = await connectToServer(this.directory);
    if (server === null) return;
    const resyncs = [...this.resyncs.values()];
    try {
      await server.reportSources({
        everyS: this.everyS,
        snapshots: stored - this.told,
        sources: statuses.map(({ id, missing }) => ({ id, isUp: missing === null })),
        resyncs,
      });
    } finally {
      server.close();
    }
    this.told = stored;
    for (const { source, cause, count } of resyncs) {
      const key = `${cause} ${source}`;
      const left = (this.resyncs.get(key)?.count ?? 0) - count;
      if (left > 0) this.resyncs.set(key, { source, cause, count: left });
      else this.resyncs.delete(key);
    }
  }
}
