/** How far a node lags behind its log, and what it waits for. */
import { wallMs } from '../wall-clock.js';
import type { LogMessage } from './log-reader.js';

export class Lag {
  /** Position of the last entry that the log is known to have. */
  private end = 0;
  private polledAtMs: number | null = null;
  /** When the node learned that it lacks entries; 0 if it lacked them when it started. */
  private behindSinceMs = 0;

  /**
   * @param position of the last entry that the node has applied
   * @param applying the entry that the node is applying; null if it applies none
   */
  constructor(
    private readonly position: () => number,
    private readonly applying: () => LogMessage | null,
  ) {}

  /** In milliseconds; Infinity if unknown. */
  get ms(): number {
    if (this.polledAtMs === null) return Infinity;
    if (this.position() >= this.end) return 0;
    return Math.max(0, wallMs() - (this.applying()?.timeMs ?? this.behindSinceMs));
  }

  /** Milliseconds since the log last reported its end. */
  get sincePollMs(): number {
    return performance.now() - (this.polledAtMs ?? -Infinity);
  }

  /** What the node waits for. */
  get text(): string {
    if (this.polledAtMs === null) return 'where the log ends is not known yet';
    const applying = this.applying();
    return applying === null
      ? `the log has entry ${this.end}, and none after ${this.position()} has come from JetStream`
      : `entry ${applying.position} of ${this.end} is being applied`;
  }

  /** Call it whenever the log reports its end; 0: it is empty or gone. */
  polled(last: number): void {
    this.polledAtMs = performance.now();
    this.end = last;
    this.reaches(last);
  }

  /** Records that the log has an entry at a position. */
  reaches(position: number): void {
    const wasBehind = this.behindSinceMs > 0 && this.position() < this.end;
    if (!wasBehind) this.behindSinceMs = wallMs();
    this.end = Math.max(this.end, position);
  }
}
