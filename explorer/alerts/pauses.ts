/** Lets each thing happen once in a while, and remembers no thing for longer than that. */
export class Pauses {
  /** When each thing that has to pause happened. */
  readonly atMs = new Map<string, number>();

  constructor(private readonly leastMs: number) {}

  /** Whether a thing may happen now; if so, its pause begins. */
  begin(thing: string, nowMs: number): boolean {
    for (const [one, atMs] of this.atMs) {
      if (nowMs - atMs >= this.leastMs) this.atMs.delete(one);
    }
    if (this.atMs.has(thing)) return false;
    this.atMs.set(thing, nowMs);
    return true;
  }
}
