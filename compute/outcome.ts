/** A task's result or error on its way from a thread to the caller: errors lose their class between threads. */
import { Piscina, transferableSymbol, valueSymbol } from 'piscina';
import { DamageError, isDamage } from './damage.js';

export type Outcome<T> = { value: T } | { error: unknown; isDamage: boolean };

function outcomeOf<T>(work: () => T): Outcome<T> {
  try {
    return { value: work() };
  } catch (error) {
    return { error, isDamage: isDamage(error) };
  }
}

/** @throws what the task threw: a DamageError, or another error without its class */
export function valueOf<T>(outcome: Outcome<T>): T {
  if ('value' in outcome) return outcome.value;
  const { error } = outcome;
  if (outcome.isDamage && error instanceof Error) {
    throw new DamageError(error.message, { cause: error });
  }
  throw error;
}

/** Makes a task of a kernel; its result is copied to the caller. */
export function copying<I, O>(kernel: (input: I) => O): (input: I) => Outcome<O> {
  return (input) => outcomeOf(() => kernel(input));
}

/** Makes a task of a kernel; the columns of its result are moved to the caller, not copied. */
export function moving<I, O>(kernel: (input: I) => O): (input: I) => Outcome<O> {
  return (input) => {
    const outcome = outcomeOf(() => kernel(input));
    const wrapped = { [transferableSymbol]: [...buffersIn(outcome)], [valueSymbol]: outcome };
    return Piscina.move(wrapped) as unknown as Outcome<O>;
  };
}

/** The buffers of all columns in a value, at any depth. */
export function buffersIn(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) found.add(value.buffer as ArrayBuffer);
  else if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) buffersIn(inner, found);
  }
  return found;
}
