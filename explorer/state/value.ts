/** A value that views follow. */
import { useEffect, useState } from 'preact/hooks';

export class Value<T> {
  private readonly listeners = new Set<(value: T) => void>();

  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set(value: T): void {
    if (Object.is(value, this.current)) return;
    this.current = value;
    for (const listener of [...this.listeners]) listener(value);
  }

  /** @returns a function that stops the listener */
  follow(listener: (value: T) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/** The current value; when it changes, the component renders again. */
export function useValue<T>(value: Value<T>): T {
  const [seen, setSeen] = useState(value.value);
  useEffect(() => {
    setSeen(value.value);
    return value.follow((next) => setSeen(() => next));
  }, [value]);
  return seen;
}
