/** What came of a task, on its way between threads, where errors lose their class. */
import { DamageError, isDamage } from './damage.js';

export type Outcome<T> = { value: T } | { error: unknown; isDamage: boolean };

export function outcomeOf<T>(work: () => T): Outcome<T> {
  try {
    return { value: work() };
  } catch (error) {
    return { error, isDamage: isDamage(error) };
  }
}

/** @throws what the task threw: a DamageError, or an Error of no class of ours */
export function valueOf<T>(outcome: Outcome<T>): T {
  if ('value' in outcome) return outcome.value;
  const { error } = outcome;
  if (outcome.isDamage && error instanceof Error) {
    throw new DamageError(error.message, { cause: error });
  }
  throw error;
}
