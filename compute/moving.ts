/** How a pool thread hands its results over. */
import { Piscina, transferableSymbol, valueSymbol } from 'piscina';

/** A kernel as a task: the columns of its result are moved to the caller, not copied. */
export function moving<I, O>(kernel: (input: I) => O): (input: I) => O {
  return (input) => {
    const result = kernel(input);
    const wrapped = { [transferableSymbol]: [...buffersIn(result)], [valueSymbol]: result };
    return Piscina.move(wrapped as never) as O;
  };
}

/** The buffers of all columns in a result, however deep its objects nest. */
function buffersIn(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) found.add(value.buffer as ArrayBuffer);
  else if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) buffersIn(inner, found);
  }
  return found;
}
