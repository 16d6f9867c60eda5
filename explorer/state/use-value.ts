/** Follows a value in a component. */
import { useEffect, useState } from 'preact/hooks';
import type { Value } from './value.js';

/** The current value; when it changes, the component renders again. */
export function useValue<T>(value: Value<T>): T {
  const [seen, setSeen] = useState(value.value);
  useEffect(() => {
    setSeen(value.value);
    return value.follow((next) => setSeen(() => next));
  }, [value]);
  return seen;
}
