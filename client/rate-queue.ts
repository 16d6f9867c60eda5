/** The order of requests while the key's rate limit is reached: one at a time, the one made first goes first. */

interface Waiting {
  place: number;
  go: () => void;
}

export class RateQueue {
  private places = 0;
  private isLimited = false;
  /** No request starts earlier, on the clock of performance.now(). */
  private untilMs = 0;
  private waiting: Waiting[] = [];
  /** The place of the request whose turn it is. */
  private current: number | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** The place of a new request. */
  place(): number {
    return this.places++;
  }

  /** Waits until a request may be sent. @throws the signal's reason once it is aborted */
  async begin(place: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (!this.isLimited) return;
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => {
        this.waiting = this.waiting.filter((other) => other !== one);
        reject(signal?.reason as Error);
      };
      const one: Waiting = {
        place,
        go: () => {
          signal?.removeEventListener('abort', abort);
          resolve();
        },
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.waiting.push(one);
      this.waiting.sort((a, b) => a.place - b.place);
      this.next();
    });
  }

  /** The limit is reached, and applies to all requests of the key. */
  limit(waitMs: number): void {
    this.isLimited = true;
    this.untilMs = Math.max(this.untilMs, performance.now() + waitMs);
  }

  /** A request has ended. @param left how many more the limit leaves room for */
  end(place: number, left: number): void {
    // One that was sent before the limit holds no turn to release.
    if (this.current !== place) return;
    this.current = null;
    if (left <= this.waiting.length) return this.next();
    this.isLimited = false;
    for (const { go } of this.waiting.splice(0)) go();
  }

  private next(): void {
    clearTimeout(this.timer);
    if (this.current !== null || this.waiting.length === 0) return;
    const waitMs = this.untilMs - performance.now();
    if (waitMs > 0) {
      this.timer = setTimeout(() => this.next(), waitMs);
      return;
    }
    const [first] = this.waiting.splice(0, 1);
    this.current = first.place;
    first.go();
  }
}
