/** Typed arrays: longer copies, and stored columns. */

/** A copy with room for `length` numbers. */
export function widened<A extends Uint32Array | Float64Array>(array: A, length: number): A {
  const wider = array instanceof Uint32Array ? new Uint32Array(length) : new Float64Array(length);
  wider.set(array);
  return wider as A;
}

/** A column as it is stored. */
export function bytesOf(column: Uint32Array | Uint16Array): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
}

/** A copy of a stored column, whose first number may be at any offset in a result's memory. */
export const uint32Of = (bytes: Uint8Array): Uint32Array =>
  new Uint32Array(new Uint8Array(bytes).buffer);
export const uint16Of = (bytes: Uint8Array): Uint16Array =>
  new Uint16Array(new Uint8Array(bytes).buffer);
