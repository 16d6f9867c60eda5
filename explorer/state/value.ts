/** A value that views follow. */
export class Value<T> {
  private readonly listeners = new Set<(value: T) => void>();

  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set(value: T): void {
    if (Object.is(value, this.current)) return;
    this.current = value;
    for (const listener of [...this.listeners]) {
      // A listener has set another value: all know that one already, and an older one must not follow it.
      if (!Object.is(this.current, value)) return;
      listener(value);
    }
  }

  /** @returns a function that stops the listener */
  follow(listener: (value: T) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
