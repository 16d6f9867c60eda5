/** Notices a client that reads its reply too slowly. */
import { runningMs } from '../../compute/running-time.js';

/** The longest interval between two checks of a slow reply. */
const WATCH_MS = 4_000;

export interface StallLimits {
  /** A reply is abandoned if the kernel takes it more slowly than `leastBytesPerS` over this time. */
  stallLimitMs: number;
  leastBytesPerS: number;
}

/** Watches one reply from the moment the kernel takes no more of it. */
export class StallWatch {
  /** When the client last met the minimum rate, on the clock of runningMs(). */
  private progressAtMs = runningMs();
  private countedBytes = 0;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly limits: StallLimits,
    onStall: () => void,
  ) {
    const { stallLimitMs } = limits;
    const check = () => {
      if (this.stalledMs >= stallLimitMs) onStall();
    };
    this.timer = setInterval(check, Math.min(WATCH_MS, stallLimitMs / 4));
  }

  /** How long the client has read below the minimum rate. */
  get stalledMs(): number {
    return runningMs() - this.progressAtMs;
  }

  /** @param bytes of the reply that the kernel has taken so far */
  took(bytes: number): void {
    const { leastBytesPerS, stallLimitMs } = this.limits;
    if (bytes - this.countedBytes < (leastBytesPerS * stallLimitMs) / 1000) return;
    this.countedBytes = bytes;
    this.progressAtMs = runningMs();
  }

  stop(): void {
    clearInterval(this.timer);
  }
}
