/** How a pool thread hands its results over. */
import { Piscina, transferableSymbol, valueSymbol } from 'piscina';
import { type Outcome, outcomeOf } from './outcome.js';

/** A kernel as a task: its result is copied to the caller. */
export function copying<I, O>(kernel: (input: I) => O): (input: I) => Outcome<O> {
  return (input) => outcomeOf(() => kernel(input));
}

/** A kernel as a task: the columns of its result are moved to the caller, not copied. */
export function moving<I, O>(kernel: (input: I) => O): (input: I) => Outcome<O> {
  return (input) => {
    const outcome = outcomeOf(() => kernel(input));
    const wrapped = { [transferableSymbol]: [...buffersIn(outcome)], [valueSymbol]: outcome };
    return Piscina.move(wrapped) as unknown as Outcome<O>;
  };
}

/** The buffers of all columns in an outcome, however deep its objects nest. */
function buffersIn(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) found.add(value.buffer as ArrayBuffer);
  else if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) buffersIn(inner, found);
  }
  return found;
}
