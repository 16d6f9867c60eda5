/** How far a node is behind its log, and what it waits for. */
import { wallMs } from '../wall-clock.js';

export class Lag {
  /** The last position that the log is known to have. */
  private end = 0;
  private polledAtMs: number | null = null;
  /** Since when the node has known of entries that it lacks; 0: since before it began. */
  private behindSinceMs = 0;
  /** When the log took the entry that is being applied. */
  private inHandMs: number | null = null;
  /** Where the node stands without an entry in hand, and since when. */
  private stood = { position: -1, sinceMs: 0 };

  /** @param position the last entry that is applied */
  constructor(private readonly position: () => number) {}

  /** In milliseconds; Infinity where it is not known. */
  get ms(): number {
    if (this.polledAtMs === null) return Infinity;
    if (this.position() >= this.end) return 0;
    return Math.max(0, wallMs() - (this.inHandMs ?? this.behindSinceMs));
  }

  /** Since when the log has not said where it ends, in milliseconds. */
  get sincePollMs(): number {
    return performance.now() - (this.polledAtMs ?? -Infinity);
  }

  /** What the node waits for. */
  get text(): string {
    if (this.polledAtMs === null) return 'where the log ends is not known yet';
    const happens = this.inHandMs === null ? 'has not come from JetStream' : 'is being applied';
    return `entry ${this.position() + 1} of ${this.end} ${happens}`;
  }

  /** For how long the log has owed the node its next entry, in milliseconds, as of the last poll. */
  get owedMs(): number {
    return (this.polledAtMs ?? 0) - this.stood.sinceMs;
  }

  /** The node asks with a new consumer. */
  asksAnew(): void {
    this.stood.position = -1;
  }

  /** The log was asked where it ends; 0: it is empty, or gone. */
  polled(last: number): void {
    this.polledAtMs = performance.now();
    this.end = last;
    this.sawEnd(last);
    const position = this.position();
    const isOwed = position < last && this.inHandMs === null && position === this.stood.position;
    if (!isOwed) this.stood = { position, sinceMs: this.polledAtMs };
  }

  /** The log has an entry at a position. */
  sawEnd(position: number): void {
    const wasBehind = this.behindSinceMs > 0 && this.position() < this.end;
    this.end = Math.max(this.end, position);
    if (this.position() >= this.end || !wasBehind) this.behindSinceMs = wallMs();
  }

  /** The node applies an entry, which the log took at a time; null: no longer. */
  inHand(takenMs: number | null): void {
    this.inHandMs = takenMs;
  }
}
